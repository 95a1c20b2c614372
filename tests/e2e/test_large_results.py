from __future__ import annotations

import json
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.e2e.added_server import add_server, events_of
from tests.e2e.archive_server import KEY, picture, sound
from tests.e2e.scripted_model import Block, Text, Use
from ua_tui.core.events.types import ArtifactSaved, ObserverFinished, ToolCallFinished
from ua_tui.core.observation import McpObservation, ReturnedFile
from ua_tui.core.storage.workspace import Workspace

SEARCH, RECORD = "mcp__archive__web_search", "mcp__archive__record"
READ = "mcp__local_toolkit__read_local_file"
ROWS, LINES = 8_000, 6_000
LARGE, RECORDED = "tool_results/toolu_1_0.txt", "tool_results/toolu_5_0.txt"
CALLS = (
    Use(SEARCH, {"query": "chips", "rows": ROWS}),
    Use("Read", {"file_path": LARGE, "offset": ROWS * 7 - 10, "limit": 1}),
    Use("Grep", {"pattern": "Finding 7999 ", "path": LARGE, "output_mode": "content"}),
    Use(READ, {"path": LARGE, "offset": 1_000_000, "limit": 100}),
    Use(RECORD, {"lines": LINES}),
    Use("Read", {"file_path": RECORDED, "offset": LINES, "limit": 1}),
    Use(RECORD, {"lines": 1}),
)


async def test_all_of_a_result_is_kept_and_the_model_can_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    add_server(monkeypatch, "archive", "archive_server.py")
    read: dict[str, str] = {}

    def model(body: Mapping[str, Any], results: int) -> tuple[Block, ...]:
        for message in body["messages"]:
            for block in message["content"] if isinstance(message["content"], list) else ():
                if block.get("type") == "tool_result":
                    read[block["tool_use_id"]] = json.dumps(block["content"], ensure_ascii=False)
        return (CALLS[results],) if results < len(CALLS) else (Text("Done."),)

    query = "Search the archive for chips and write a report"
    events = await events_of(tmp_path, model, query, allow=(SEARCH, RECORD))
    calls = {event.tool_use_id: event for event in events if isinstance(event, ToolCallFinished)}
    assert [call.status for call in calls.values()] == ["success"] * len(CALLS)
    call = calls["toolu_1_0"]
    assert call.observation is not None
    assert call.observation.truncated
    assert call.observation.recovered
    (run,) = [
        e for e in events if isinstance(e, ObserverFinished) and e.observer == "search_results" and e.items
    ]
    assert (run.status, run.items, run.rejected, run.duplicates) == ("saved", ROWS, 0, 0)
    (folder,) = (tmp_path / "AGENT_RUN_WORKSPACES").glob("session_*")
    workspace = Workspace.open(folder)
    (rows,) = run.artifacts
    assert rows.endswith(".json.zst")
    artifact = msgspec.json.decode(workspace.read_artifact(rows))
    assert [row["position"] for row in artifact["results"]] == list(range(1, ROWS + 1))
    assert artifact["results"][0]["url"] == "https://site-1.example/1?signature=0123456789abcdef"
    assert len(workspace.read("search_results/urls.txt").splitlines()) == ROWS
    assert call.observation.stored_at is not None
    assert b"Finding 8000 about chips" in workspace.read_artifact(call.observation.stored_at)

    # The one path that the model is told is open to every reader, at any offset.
    assert f"saved to: {LARGE}" in read["toolu_1_0"]
    assert '\\"position\\": 7999' in read["toolu_2_0"]
    assert "Finding 7999 about chips" in read["toolu_3_0"]
    assert "read on with offset=1000100." in read["toolu_4_0"]
    assert f"saved to: {RECORDED}" in read["toolu_5_0"]
    assert f"measurement {LINES - 2}: " in read["toolu_6_0"]
    assert str(home) not in "".join(read.values())
    assert KEY not in workspace.read(RECORDED).decode()

    # What came as a file is one, once, named by its address and typed by its bytes.
    files = ("work_products/media/archive_record.png", "work_products/media/archive_record.wav",
             "downloads/bashrc_b7cf3e96.html")  # fmt: skip
    assert all(path in read["toolu_5_0"] for path in files)
    assert (folder / files[0]).read_bytes() == picture()
    assert (folder / files[1]).read_bytes() == sound()
    assert KEY not in (folder / files[2]).read_text()
    assert {stat.S_IMODE((folder / path).stat().st_mode) for path in files} == {0o600}
    reported = [event for event in events if isinstance(event, ArtifactSaved) and event.observer == "media"]
    assert [(event.path, event.kind) for event in reported] == [
        *zip(files, ("image", "audio", "file"), strict=True)
    ]
    again = calls["toolu_7_0"].observation
    assert isinstance(again, McpObservation)
    assert again.files == tuple(ReturnedFile(path, is_new=False) for path in (*files, files[0]))
    # Nothing of it is left where secrets are not masked.
    assert not list(home.rglob("tool-results/*"))
    workspace.close()
