from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from tests.observers.conftest import NOON
from ua_tui.core.errors import ObserverError, WorkspaceError
from ua_tui.core.events.codec import encode_event
from ua_tui.core.events.types import PermissionAnswered, QueryReceived, ToolCallFinished, ToolCallStarted
from ua_tui.core.observation import McpObservation, TextContent, ToolCall, ToolResult
from ua_tui.core.records.journal import Journal
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.large_results import store_large_result
from ua_tui.core.storage.workspace import Workspace
from ua_tui.observers.base import ObserverContext, texts_of
from ua_tui.observers.catalogue import default_observers
from ua_tui.observers.execution.replay import observe_result, results_of
from ua_tui.observers.search_results import SearchResults
from ua_tui.tui.cli import main

Make = Callable[..., ToolResult]
SEARCH = "mcp__any__web_search"
SECRET = "hunter2hunter2-and-more"
ROWS = {
    "results": [{"title": f"T{n}", "url": f"https://a.example/{n}", "date": "2 hours ago"} for n in range(3)]
}


def observe(*arguments: str) -> int:
    return main(["observe", *arguments])


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".lock"
    }


def test_a_stored_result_is_read_whole(context: ObserverContext, result: Make) -> None:
    row = {"title": "T" * 100, "snippet": "x" * 100}
    live = result(SEARCH, {"results": [row | {"url": f"https://a.example/{n}"} for n in range(1_000)]})
    whole, shown = store_large_result(live.observation, context.workspace, context.workspace.redactor)
    assert shown.stored_at is not None
    assert "left out" in shown.output
    journaled = msgspec.structs.replace(live, observation=shown)
    assert SearchResults().observe(journaled, context).items == 1_000
    again = SearchResults().observe(msgspec.structs.replace(live, observation=whole), context)
    assert again.artifacts == ()
    assert "already saved" in (again.note or "")


def test_a_call_is_observed_with_the_arguments_that_ran(result: Make) -> None:
    live = result(SEARCH, ROWS)
    began = ToolCallStarted(query_id="q", tool_use_id="t", name=SEARCH, input={"query": "a"})
    answer = PermissionAnswered(
        request_id="p", tool_name=SEARCH, tool_use_id="t", decision="allow", input={"query": "b"}
    )
    ended = ToolCallFinished(tool_use_id="t", status="success", observation=live.observation)
    assert [each.call.input for each in results_of([began, answer, ended])] == [{"query": "b"}]


@pytest.mark.parametrize("status", ["waiting", "blocked"])
def test_a_call_that_its_service_holds_is_not_observed(
    result: Make, status: Literal["waiting", "blocked"]
) -> None:
    tool = "mcp__composio__COMPOSIO_SEARCH_NEWS"
    held = msgspec.structs.replace(result(tool, {"data": {"results": []}}).observation, held=status)
    events = [
        ToolCallStarted(query_id="q", tool_use_id="toolu_1", name=tool, input={}),
        ToolCallFinished(tool_use_id="toolu_1", status=status, observation=held),
    ]
    assert list(results_of(events)) == []


def test_a_result_just_in_is_read_from_its_content(context: ObserverContext, result: Make) -> None:
    text = "x" * 60_000 + "\n[… 5 characters left out …]\n"
    large = result(SEARCH, [text, "second"]).observation
    whole, shown = store_large_result(large, context.workspace, context.workspace.redactor)
    assert shown.stored_at is not None
    live = msgspec.structs.replace(result(SEARCH, ""), observation=whole)
    journaled = msgspec.structs.replace(live, observation=shown)
    assert texts_of(journaled, context.workspace) == texts_of(live, context.workspace) == [text, "second"]
    (context.workspace.path / shown.stored_at).unlink()
    assert texts_of(live, context.workspace) == [text, "second"]
    with pytest.raises(WorkspaceError):
        texts_of(journaled, context.workspace)


@pytest.mark.parametrize("stored", [b'{"results": []}', b'["text"]', b"[", b'[{"type": "text"}]', b"\xff"])
def test_a_damaged_stored_result_is_not_taken_for_a_result(
    context: ObserverContext, result: Make, stored: bytes
) -> None:
    large = result(SEARCH, "x" * 60_000).observation
    _, shown = store_large_result(large, context.workspace, context.workspace.redactor)
    assert shown.stored_at is not None
    context.workspace.write(shown.stored_at, stored)
    with pytest.raises(ObserverError, match="damaged"):
        texts_of(msgspec.structs.replace(result(SEARCH, ""), observation=shown), context.workspace)


def large_results() -> list[ToolResult]:
    """Results that are too large for an event, of every kind that is kept, with secrets in them."""

    def rows(host: str) -> list[dict[str, str]]:
        return [
            {
                "title": f"T{n} {SECRET if n % 50 == 0 else ''}",
                "url": f"https://{host}.example/{n}?page={n}" + (f"&token={SECRET}" if n % 9 == 7 else ""),
                "snippet": 'Größe 会議 "quoted" ' * 6,
                "date": "2 hours ago",
            }
            for n in range(400)
        ]

    words = "word " * 1_998 + f"{SECRET} " * 3_000
    page = {"url": "https://web.example/3?page=3", "title": "T", "content": words}
    news = {"tool_slug": "COMPOSIO_SEARCH_NEWS"}
    asked: dict[str, object] = {"tools": [news | {"arguments": {"query": "q"}}] * 2}
    found = ({"successful": True, "data": {"news_results": rows(f"news{n}")}} for n in range(2))
    answers = [{**news, "index": n, "response": response} for n, response in enumerate(found)]
    code: dict[str, object] = {"code_to_execute": "#" * 980 + SECRET * 3}
    printed = {"stdout": f"{SECRET} out " * 10_000, "results": f"{SECRET}-" * 9_999}
    output = {"successful": True, "data": printed}
    halves = json.dumps({"results": rows("halves")})
    half = len(halves) // 2
    calls: list[tuple[str, dict[str, object], list[str], str | None]] = [
        (SEARCH, {"query": "find"}, [json.dumps({"results": rows("web")}, ensure_ascii=False)], None),
        ("mcp__other__search_web", {}, ["Here they are:", json.dumps({"entries": rows("a") + rows("b")})], None),
        ("mcp__any__news_search", {"q": "in two"}, [halves[:half], halves[half:]], None),
        ("mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL", asked, [json.dumps({"data": {"results": answers}})], None),
        ("mcp__web_reader__webReader", {"url": page["url"]}, [json.dumps(page)], None),
        ("mcp__composio__COMPOSIO_REMOTE_WORKBENCH", code, [json.dumps(output)], None),
        ("mcp__brave__image_search", {"q": "x"}, ["no " * 30_000], f"it failed with {SECRET} " * 4_000),
        ("mcp__any__paper_search", {"q": "x"}, ["[" * 100_000], None),
    ]  # fmt: skip
    ended = datetime(2026, 3, 10, 11, 0, tzinfo=UTC)
    results = []
    for number, (name, arguments, texts, error) in enumerate(calls):
        call = ToolCall(tool_use_id=f"t{number}", name=name, input=arguments)
        observation = McpObservation(
            tool_name=name,
            tool_use_id=call.tool_use_id,
            server=name.split("__")[1],
            content=tuple(TextContent(text) for text in texts),
            error=error,
            ended_at=ended,
        )
        results.append(ToolResult(call=call, observation=observation))
    return results


def played(base: Path, *, observed: bool) -> Path:
    """A session with large results as the agent leaves it, with or without what its observers saved."""
    redactor = Redactor([SECRET])
    workspace = Workspace.create(base, NOON, redactor)
    context = ObserverContext(workspace)
    journal = Journal(workspace.path / "journal.jsonl", redactor)
    journal.append(QueryReceived(seq=1, at=NOON, query_id="q", text="find"))
    for result in large_results():
        call = result.call
        whole, shown = store_large_result(result.observation, workspace, redactor)
        assert shown.stored_at is not None
        for event in (
            ToolCallStarted(at=NOON, query_id="q", tool_use_id=call.tool_use_id, name=call.name, input=call.input),
            ToolCallFinished(at=NOON, tool_use_id=call.tool_use_id, status="success", observation=shown),
        ):  # fmt: skip
            journal.append(event)
        if observed:
            live = msgspec.structs.replace(result, observation=whole)
            runs = observe_result(live, default_observers(), context, lambda event: None)
            assert [(run.tool_name, run.outcome.note) for run in runs if run.status != "saved"] == []
    journal.close()
    workspace.close()
    return workspace.path


@pytest.mark.slow
def test_a_session_of_large_results_gives_the_same_artifacts_whenever_it_is_observed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SOME_API_KEY", SECRET)
    monkeypatch.chdir(tmp_path)
    live, late = played(tmp_path / "a", observed=True), played(tmp_path / "b", observed=False)
    kept = files(live)
    assert not any(SECRET.encode() in data for data in kept.values())
    assert observe("--session", str(live)) == 0
    assert capsys.readouterr().out.count("already saved") >= 4
    # Its observers never ran.
    assert observe("--session", str(late)) == 0
    for root in (live, late):
        found = {path.replace(str(root), str(live)): data for path, data in files(root).items()}
        assert sorted(found) == sorted(kept)
        assert {path for path in found if found[path] != kept[path]} == set()


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
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = Workspace.create(tmp_path, NOON)
    journal_of(workspace)
    workspace.close()
    monkeypatch.chdir(tmp_path)
    assert observe("--session", "latest") == 0
    printed = capsys.readouterr()
    assert "search_results/web_search_" in printed.out
    assert "SAVED_REPORTS" in printed.out
    assert "lines of the journal that cannot be read: 1" in printed.err
    (artifact,) = (workspace.path / "search_results").glob("*.json")
    found = json.loads(artifact.read_bytes())
    assert found["query"] == "find"
    assert datetime.fromisoformat(found["results"][0]["date"]) == datetime(2026, 3, 10, 9, 0, tzinfo=UTC)
    before = files(tmp_path)
    assert observe("--session", str(workspace.path)) == 0
    assert files(tmp_path) == before
    assert "already saved" in capsys.readouterr().out


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
    saved.write_bytes(b"PK\0\1")
    assert observe(*arguments) == 1
    assert "the result is not text" in capsys.readouterr().err


def test_saved_results_are_calls_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved, asked = tmp_path / "r.txt", tmp_path / "i.json"
    saved.write_text('MCP error -500: "{"error":{"code":"1214","message":"no"}}"')
    arguments = ["--tool", "mcp__web_reader__webReader", "--input", str(asked), "--result", str(saved)]
    listed = "papers.example is on the blacklist until"
    for page, printed in (("a", listed), ("b", listed), ("b", "not counted: ")):
        asked.write_text(json.dumps({"url": f"https://papers.example/{page}"}))
        assert observe(*arguments, "--workspace", str(tmp_path / "ws")) == 0
        assert printed in capsys.readouterr().out


def test_it_reports_why_nothing_was_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "r.txt"
    saved.write_text("just words \x1b[2J")
    for tool, reason in (
        ("mcp__x__thing", "no search results"),
        ("Bash", "no observer handles this tool"),
        # Only the observers concerned give a reason.
        ("mcp__x__trim_video", "nothing saved from mcp__x__trim_video: media: no output file is named\n"),
    ):
        assert observe("--tool", tool, "--result", str(saved), "--workspace", str(tmp_path / "ws")) == 0
        printed = capsys.readouterr()
        assert reason in printed.out
        assert "\x1b" not in printed.out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--tool", "x"], 2), (["--session", "/nonexistent"], 2), (["--session", "x", "--tool", "y"], 2),
        (["--tool", "x", "--result", "/dev/null", "--workspace", "ws"], 2),
        (["--tool", "x", "--result", "FILE", "--input", "FILE", "--workspace", "ws"], 2),
        (["--tool", "x", "--result", "FILE", "--workspace", "FILE"], 1),
        (["--tool", "x", "--result", "FILE", "--workspace", "/proc/nowhere"], 1),
    ],
)  # fmt: skip
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
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert not (tmp_path / "ws").exists()


def test_observing_by_hand_gives_the_runs(context: ObserverContext, result: Make) -> None:
    events: list[object] = []
    runs = observe_result(result(SEARCH, ROWS), default_observers(), context, events.append)
    assert [(one.observer, one.status) for one in runs] == [("search_results", "saved")]
    assert len(events) == 3
