from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from core.events.types import ArtifactSaved, ObserverFinished, ToolCallFinished
from core.storage.workspace import Workspace
from tests.e2e.added_server import add_server, events_of, own_home
from tests.e2e.scripted_model import Block, Text, Use

SEARCH = "mcp__archive__web_search"
ROWS = 8_000


async def test_every_row_of_a_result_of_megabytes_is_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_home(tmp_path / "home", monkeypatch)
    add_server(monkeypatch, "archive", "archive_server.py")

    def model(_body: object, results: int) -> tuple[Block, ...]:
        return (Text("Done."),) if results else (Use(SEARCH, {"query": "chips", "rows": ROWS}),)

    events = await events_of(
        tmp_path, model, "Search the archive for chips and write a report", allow=(SEARCH,)
    )
    (call,) = [event for event in events if isinstance(event, ToolCallFinished)]
    assert call.status == "success"
    assert call.observation is not None
    assert call.observation.truncated
    assert call.observation.recovered
    (saved,) = [event for event in events if isinstance(event, ArtifactSaved)]
    (run,) = [event for event in events if isinstance(event, ObserverFinished)]
    assert (run.status, run.items, run.rejected, run.duplicates) == ("saved", ROWS, 0, 0)
    assert saved.path.endswith(".json.zst")
    (folder,) = (tmp_path / "AGENT_RUN_WORKSPACES").glob("session_*")
    workspace = Workspace.open(folder)
    artifact = msgspec.json.decode(workspace.read_artifact(saved.path))
    assert [row["position"] for row in artifact["results"]] == list(range(1, ROWS + 1))
    assert artifact["results"][0]["url"] == "https://site-1.example/1?signature=0123456789abcdef"
    assert len(workspace.read("search_results/urls.txt").splitlines()) == ROWS
    assert call.observation.stored_at is not None
    assert b"Finding 8000 about chips" in workspace.read_artifact(call.observation.stored_at)
    workspace.close()
