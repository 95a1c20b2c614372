from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from core.events import QueryReceived, ToolCallFinished, ToolCallStarted, encode_event
from core.observation import McpObservation, TextContent, ToolResult
from core.spill import spill
from core.workspace import Workspace
from observers.base import ObserverContext
from observers.catalogue import default_observers
from observers.replay import observe_result
from observers.search.observer import SearchResults
from tests.observers.conftest import NOON
from tui.observe import add_arguments, run

Make = Callable[..., ToolResult]
SEARCH = "mcp__any__web_search"
ROWS = {
    "results": [{"title": f"T{n}", "url": f"https://a.example/{n}", "date": "2 hours ago"} for n in range(3)]
}


def observe(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return run(parser.parse_args(arguments))


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".lock"
    }


def test_a_stored_result_is_read_whole(context: ObserverContext, result: Make) -> None:
    rows = {
        "results": [
            {"title": "T" * 100, "url": f"https://a.example/{n}", "snippet": "x" * 100} for n in range(1_000)
        ]
    }
    live = result(SEARCH, rows)
    whole, shown = spill(live.observation, context.workspace, context.workspace.redactor)
    assert shown.stored_at is not None
    assert "left out" in shown.output
    journaled = msgspec.structs.replace(live, observation=shown)
    assert SearchResults().observe(journaled, context).items == 1_000
    again = SearchResults().observe(msgspec.structs.replace(live, observation=whole), context)
    assert again.artifacts == ()
    assert "saved before" in (again.note or "")


def journal_of(workspace: Workspace) -> None:
    at = datetime(2026, 3, 10, 11, 0, tzinfo=UTC)
    observation = McpObservation(
        tool_name=SEARCH, tool_use_id="t1", server="any", content=(TextContent(json.dumps(ROWS)),)
    )
    written = McpObservation(tool_name="Write", tool_use_id="t2", server="s")
    target = {"file_path": "work_products/r.md"}
    events = [
        QueryReceived(seq=1, at=at, query_id="q", text="find"),
        ToolCallStarted(seq=2, at=at, query_id="q", tool_use_id="t1", name=SEARCH, input={"query": "find"}),
        ToolCallFinished(seq=3, at=at, tool_use_id="t1", status="success", observation=observation),
        ToolCallStarted(seq=4, at=at, query_id="q", tool_use_id="t2", name="Write", input=target),
        ToolCallFinished(seq=5, at=at, tool_use_id="t2", status="success", observation=written),
    ]  # fmt: skip
    workspace.write("work_products/r.md", b"report")
    workspace.write("journal.jsonl", b"".join(encode_event(event) + b"\n" for event in events) + b"torn{\n")


def test_a_past_session_is_observed_and_twice_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = Workspace.create(tmp_path, NOON)
    journal_of(workspace)
    workspace.close()
    assert observe("--session", str(workspace.path)) == 0
    told = capsys.readouterr()
    assert "search_results/web_search_" in told.out
    assert "SAVED_REPORTS" in told.out
    assert "1 lines of the journal" in told.err
    (artifact,) = (workspace.path / "search_results").glob("*.json")
    found = json.loads(artifact.read_bytes())
    assert found["query"] == "find"
    assert datetime.fromisoformat(found["results"][0]["date"]) == datetime(2026, 3, 10, 9, 0, tzinfo=UTC)
    before = files(tmp_path)
    assert observe("--session", str(workspace.path)) == 0
    assert files(tmp_path) == before
    assert "saved before" in capsys.readouterr().out


def test_a_saved_result_is_observed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved, asked, folder = tmp_path / "r.json", tmp_path / "i.json", tmp_path / "new" / "ws"
    saved.write_text(json.dumps([{"type": "text", "text": json.dumps(ROWS)}]))
    asked.write_text('{"query": "what I asked"}')
    arguments = ["--tool", SEARCH, "--input", str(asked), "--result", str(saved), "--workspace", str(folder)]
    assert observe(*arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1
    assert json.loads((folder / lines[0].split()[0]).read_text())["query"] == "what I asked"
    assert observe(*arguments, "--json") == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [event["event"] for event in events] == ["observer_started", "observer_finished"]
    assert [event["seq"] for event in events] == [1, 2]


def test_it_says_why_nothing_was_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "r.txt"
    saved.write_text("just words \x1b[2J")
    for tool, reason in ((SEARCH, "no search results in it"), ("Bash", "no observer looks at this tool")):
        assert observe("--tool", tool, "--result", str(saved), "--workspace", str(tmp_path / "ws")) == 0
        told = capsys.readouterr()
        assert reason in told.out
        assert "\x1b" not in told.out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], 2),
        (["--tool", "x"], 2),
        (["--session", "/nonexistent"], 2),
        (["--session", "x", "--tool", "y"], 2),
        (["--tool", "x", "--result", "/nonexistent", "--workspace", "ws"], 2),
        (["--tool", "x", "--result", "/dev/null", "--workspace", "ws"], 2),
        (["--tool", "x", "--result", "FILE", "--input", "FILE", "--workspace", "ws"], 2),
        (["--tool", "x", "--result", "FILE", "--workspace", "FILE"], 1),
        (["--tool", "x", "--result", "FILE", "--workspace", "/proc/nowhere"], 1),
    ],
)
def test_bad_input_is_one_clear_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FILE").write_text("[no json")
    assert observe(*arguments) == code
    told = capsys.readouterr()
    assert told.out == ""
    assert len(told.err.splitlines()) == 1
    assert not (tmp_path / "ws").exists()


def test_observing_by_hand_gives_the_runs(context: ObserverContext, result: Make) -> None:
    events: list[object] = []
    runs = observe_result(result(SEARCH, ROWS), default_observers(), context, events.append)
    assert [(one.observer, one.status) for one in runs] == [("search_results", "saved")]
    assert len(events) == 3
