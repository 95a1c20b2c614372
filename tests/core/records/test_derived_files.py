from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.core.cases import cases_of
from tests.journals import read_journal
from tests.waiting import until
from ua_tui.core.bus import Bus
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.events import types as ev
from ua_tui.core.events.continuation import AUTH_COMPLETE
from ua_tui.core.observation import McpObservation, TextContent
from ua_tui.core.records.formats import (
    DerivedFiles,
    TraceInfo,
    build_summary,
    build_trace,
    build_transcript,
    write_derived,
)
from ua_tui.core.records.journal import DeltaJoiner, Journal
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.view.session import SessionView

CASES = cases_of(__file__)

START = datetime(2026, 11, 21, 5, 10, tzinfo=UTC)


def record_of(events: Iterable[ev.Event]) -> SessionView:
    return SessionView(Redactor(["hunter2hunter2"])).then(events)


class Script:
    """Builds a list of events as a session stamps them, with a wall clock under the test's hand."""

    def __init__(self) -> None:
        self.events: list[ev.Event] = []
        self.now = START
        self.bus = Bus(now=lambda: self.now)
        self.bus.subscribe(self.events.append)

    def at(self, seconds: float, event: ev.Event) -> None:
        self.now = START + timedelta(seconds=seconds)
        self.bus.publish(event)

    @property
    def record(self) -> SessionView:
        return record_of(self.events)


def trace_of(record: SessionView, info: TraceInfo = TraceInfo()) -> dict[str, Any]:  # noqa: B008 - it is frozen
    trace = build_trace(record, info).items()
    return {name: list(value) if isinstance(value, Iterator) else value for name, value in trace}


def transcript_of(record: SessionView) -> str:
    return "".join(build_transcript(record))


def started() -> ev.SessionStarted:
    return ev.SessionStarted(
        session_id="session_x", workspace="/w", cwd="/", version="0", model="opus", demo=True, folder_trust="trusted",
        folder_files=[".env"],
    )  # fmt: skip


def call(number: int, name: str = "mcp__s__search", query_id: str = "q1", **more: Any) -> ev.ToolCallStarted:
    return ev.ToolCallStarted(query_id=query_id, tool_use_id=f"t{number}", name=name, **more)


def result(number: int, text: str, status: Any = "success", **more: Any) -> ev.ToolCallFinished:
    use = f"t{number}"
    seen = McpObservation(tool_name="n", tool_use_id=use, server="s", content=(TextContent(text),), **more)
    return ev.ToolCallFinished(tool_use_id=use, status=status, observation=seen, duration_ms=1500)


@pytest.fixture
def script() -> Script:
    script = Script()
    saved = ev.ArtifactSaved(
        path="work_products/a b.html", kind="report", size=9, sha256="0", observer="reports"
    )
    done = ev.QueryFinished(
        query_id="q1", status="success", duration_ms=7000, turns=3, cost_usd=0.25, text="All **done**.",
        usage=ev.Usage(input_tokens=100, output_tokens=20),
    )  # fmt: skip
    script.at(0, started())
    script.at(10, ev.QueryReceived(query_id="q1", text="Research the news"))
    script.at(10.5, ev.QueryClassified(query_id="q1", decision="COMPLEX", source="rule"))
    script.at(11, call(1, "Agent", input={"prompt": "write"}))
    script.at(12, call(2, input={"query": "n\u00e9ws"}, parent_tool_use_id="t1"))
    script.at(13.5, result(2, "h\u00e9llo"))
    script.at(14, saved)
    script.at(15, result(1, "", "error", error="it broke"))
    script.at(16, ev.MessageFinished(query_id="q1", message_id="m1", text="All **done**."))
    script.at(17, done)
    return script


def test_the_trace_has_exactly_the_promised_keys(script: Script) -> None:
    info = TraceInfo(url="https://c.example/mcp", user_id="me", logfire_enabled=True, trace_id="ab" * 16)
    assert trace_of(script.record, info) == json.loads(Path(__file__).with_name("trace.json").read_text())


def test_iterations_and_offsets_continue_over_the_queries_of_a_session(script: Script) -> None:
    script.at(30, ev.QueryReceived(query_id="q2", text="Mail it"))
    script.at(31, call(3, query_id="q2"))
    script.at(32, ev.AuthRequired(toolkit="gmail", url="https://login.example/abcdefgh"))
    script.at(33, result(3, "x"))
    script.at(34, ev.QueryFinished(query_id="q2", status="success", duration_ms=4000))
    trace = trace_of(script.record)
    offsets = [(each["iteration"], each["time_offset_seconds"]) for each in trace["tool_calls"]]
    assert offsets == [(1, 1), (1, 2), (2, 21)]
    assert [(i["iteration"], i["tool_calls"]) for i in trace["iterations"]] == [(1, 2), (2, 1)]
    second = trace["iterations"][1]
    assert (second["needs_user_input"], second["auth_link"]) == (True, "https://login.example/[redacted]")
    assert (trace["query"], trace["total_duration_seconds"]) == ("Research the news", 24.0)
    # The clock of a journal may go back: no offset is negative.
    script.at(-500, call(4))
    assert trace_of(script.record)["tool_calls"][-1]["time_offset_seconds"] >= 0


def test_previews_are_cut_clean_and_without_secrets_and_sizes_are_whole(script: Script) -> None:
    text = "\x1b[2J\u202e" + "x" * 400 + " hunter2hunter2 " + "y" * 50_000
    script.at(18, call(3, input={"text": text}))
    script.at(19, result(3, text))
    trace = trace_of(script.record)
    sent, got = trace["tool_calls"][-1], trace["tool_results"][-1]
    assert got["content_size_bytes"] == len(text.encode())
    assert sent["input_size_bytes"] > 50_000
    for shown in (sent["input_preview"], got["content_preview"]):
        assert len(shown) <= 1_000
        assert "hunter2" not in shown
        assert "[redacted]" in shown
        assert not set(shown) & set("\x1b\u202e")


def test_the_arguments_are_those_that_ran(script: Script) -> None:
    script.at(18, call(3, input={"path": "a.md"}))
    changed: dict[str, Any] = {"decision": "allow", "input": {"path": "b.md"}, "tool_use_id": "t3"}
    script.at(18.5, ev.PermissionAnswered(request_id="p", tool_name="write", **changed))
    script.at(19, result(3, "x"))
    assert trace_of(script.record)["tool_calls"][-1]["input_preview"] == '{"path":"b.md"}'
    assert "a.md" not in transcript_of(script.record)


def test_the_size_of_a_stored_result_is_that_of_its_file(tmp_path: Path) -> None:
    script = Script()
    script.at(0, ev.QueryReceived(query_id="q1", text="x"))
    script.at(1, call(1))
    script.at(2, result(1, "only the beginning", stored_at="tool_results/t1.json", truncated=True))
    (tmp_path / "tool_results").mkdir()
    (tmp_path / "tool_results" / "t1.json").write_bytes(bytes(1234567))
    assert (
        trace_of(SessionView(Redactor(), Root(tmp_path)).then(script.events))["tool_results"][0][
            "content_size_bytes"
        ]
        == 1234567
    )


def test_live_offsets_come_from_the_monotonic_clock() -> None:
    ticks = iter([99.0, 100.0, 100.5, 103.0, 103.25])
    record = SessionView(Redactor())
    record.follow_clock(lambda: next(ticks), START.timestamp())
    back = START - timedelta(days=1)
    for event in [
        ev.QueryReceived(seq=1, at=START, query_id="q1", text="x"),
        ev.ToolCallStarted(seq=2, at=back, query_id="q1", tool_use_id="t1", name="n"),
        ev.ToolCallFinished(seq=3, at=back, tool_use_id="t1", status="success"),
        ev.QueryFinished(seq=4, at=back, query_id="q1", status="success"),
    ]:
        record.add(event)
    trace = trace_of(record)
    assert trace["tool_calls"][0]["time_offset_seconds"] == 0.5
    assert trace["tool_results"][0]["time_offset_seconds"] == 3.0
    assert trace["total_duration_seconds"] == 3.25


def test_a_session_that_crashed_has_a_trace_too() -> None:
    script = Script()
    assert trace_of(script.record)["iterations"] == []
    script.at(0, started())
    script.at(1, ev.QueryReceived(query_id="q1", text="x"))
    script.at(2, call(1))
    script.at(4, ev.TextDelta(query_id="q1", message_id="m", text="So f"))
    script.at(5, ev.TextDelta(query_id="q1", message_id="m", text="ar"))
    trace = trace_of(script.record)
    assert trace["iterations"][0]["duration_seconds"] == 4.0
    assert trace["end_time"] == "2026-11-21T05:10:05+00:00"
    assert (len(trace["tool_calls"]), trace["tool_results"]) == (1, [])
    assert "This query did not finish" in transcript_of(script.record)
    assert "did not finish" in build_summary(script.record)
    # An interrupted answer is kept and marked.
    script.at(6, ev.QueryFinished(query_id="q1", status="interrupted"))
    assert "So far\n\n*[unfinished]*" in transcript_of(script.record)


def test_the_transcript_shows_everything_in_order(script: Script) -> None:
    script.at(20, ev.SessionFinished(reason="quit"))
    transcript = transcript_of(script.record)
    wanted = CASES["the_transcript_shows_everything_in_order.wanted"]
    places = [transcript.index(text) for text in wanted]
    assert places == sorted(places)


def test_the_transcript_says_what_the_program_asked_by_itself() -> None:
    reported = Script()
    reported.at(0, started())
    reported.at(1, ev.QueryReceived(query_id="q1", text="Read my mail"))
    reported.at(2, ev.QueryReceived(query_id="q2", text=AUTH_COMPLETE))
    transcript = transcript_of(reported.record)
    assert transcript.count("Sent automatically by the program") == 1
    places = ["Read my mail", "Sent automatically by the program", AUTH_COMPLETE]
    assert [*map(transcript.index, places)] == sorted(map(transcript.index, places))


def test_tool_text_cannot_break_out_of_its_block() -> None:
    script = Script()
    script.at(0, ev.QueryReceived(query_id="q1", text="a\n\n# not a heading"))
    script.at(1, call(1, "odd `name`\n# x"))
    script.at(2, result(1, "````\n# Forged\n```\n<script>"))
    script.at(3, ev.ErrorRaised(where="a`b", message="![x](http://evil.example)\n- y"))
    lines = transcript_of(script.record).splitlines()
    assert [line for line in lines if line.startswith("#")] == [
        "# Session",
        "## 1. Query at " + START.astimezone().strftime("%H:%M:%S"),
        next(line for line in lines if line.startswith("### ``odd `name` # x``")),
        "# Forged",
    ]
    forged = lines.index("# Forged")
    assert lines[forged - 2] == "`````text"
    assert "``a`b: ![x](http://evil.example) - y``" in "\n".join(lines)


def test_the_summary_counts(script: Script) -> None:
    summary = build_summary(script.record)
    parts = ["Session   session_x (demo)", "Cost      $0.2500", "Tokens    120", "1. Research the news"]
    parts += CASES["the_summary_counts"]
    assert [part for part in [*parts, "Answer\n  All **done**."] if part not in summary] == []


def observed(run: int, observer: str, status: Any, **fields: Any) -> ev.ObserverFinished:
    return ev.ObserverFinished(run_id=f"r{run}", observer=observer, tool_use_id="t2", status=status, **fields)


def test_the_summary_has_a_line_of_numbers_per_observer(script: Script) -> None:
    assert "Observers" not in build_summary(script.record)
    for run in range(20):
        script.at(20 + run, observed(run, "search_results", "saved", items=100, duration_ms=run + 1.5))
    script.at(41, observed(21, "search_results", "skipped", duration_ms=400.0))
    script.at(42, observed(22, "links", "failed", error="bad"))
    lines = build_summary(script.record).splitlines()
    place = lines.index("Observers (2)")
    assert lines[place + 1 : place + 4] == [
        "                  runs  saved  skipped  failed  items      p50      p95",
        "  search_results    21     20        1       0   2000  11.5 ms  20.5 ms",
        "  links              1      0        0       1      0        -        -",
    ]
    assert lines.index("Tool calls (2)") < place < lines.index("Artifacts (1)")
    # A name cannot forge lines.
    script.at(43, observed(23, "x\n\nErrors (9)\x1b[2J", "saved", duration_ms=1.0))
    assert "\nErrors" not in build_summary(script.record)
    assert "\x1b" not in build_summary(script.record)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    workspace = Workspace.create(tmp_path, START, Redactor(["hunter2hunter2"]))
    yield workspace
    workspace.close()


async def test_frequent_queries_wait_for_a_write_of_all_of_them_and_the_end_does_not_wait(
    script: Script, workspace: Workspace
) -> None:
    deriver = DerivedFiles(workspace, interval=1e6)
    for event in script.events:
        deriver(event)
    await until(lambda: workspace.exists("summary.txt"))
    for number in range(2, 9):
        script.at(20, ev.QueryReceived(query_id=f"q{number}", text="And now?"))
        script.at(20, ev.QueryFinished(query_id=f"q{number}", status="success"))
        for event in script.events[-2:]:
            deriver(event)
    assert b"Queries (1)" in workspace.read("summary.txt")
    assert await deriver.drain()
    assert b"Queries (8)" in workspace.read("summary.txt")


def test_writing_a_long_session_needs_little_memory(script: Script, workspace: Workspace) -> None:
    for number in range(10, 200):
        script.at(20, call(number, input={"content": "word " * 150}))
        script.at(20, result(number, "word " * 150))
    record = script.record
    # The first one also imports what is needed, and fills caches.
    write_derived(workspace, record, TraceInfo())
    tracemalloc.start()
    try:
        write_derived(workspace, record, TraceInfo())
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert workspace.root.size("trace.json") + workspace.root.size("transcript.md") > 600_000
    assert most < 400_000


async def test_a_failure_to_write_is_reported_once_in_the_loop_and_leaves_old_files_whole(
    script: Script, workspace: Workspace
) -> None:
    (workspace.path / "trace.json").mkdir()
    failures: list[WorkspaceError] = []
    deriver = DerivedFiles(workspace, on_failure=failures.append)
    for event in script.events:
        deriver(event)
    await deriver.drain()
    deriver.request()
    await deriver.drain()
    assert len(failures) == 1
    (workspace.path / "trace.json").rmdir()
    deriver.request()
    await deriver.drain()
    assert json.loads(workspace.read("trace.json"))["query"] == "Research the news"
    assert len(failures) == 1


async def test_the_files_can_be_made_again_from_journals(script: Script, workspace: Workspace) -> None:
    journal = Journal(workspace.path / "journal.jsonl", workspace.redactor)
    joiner = DeltaJoiner(journal.append)
    info = TraceInfo(url="https://c.example/mcp", user_id="me", logfire_enabled=True, trace_id="ab" * 16)
    deriver = DerivedFiles(workspace, lambda: info)
    for event in script.events:
        joiner(event)
        deriver(event)
    journal.close()
    assert await deriver.drain()
    trace = json.loads(workspace.read("trace.json"))
    assert (trace["query"], trace["session_info"]["user_id"]) == ("Research the news", "me")
    before = {name: workspace.read(name) for name in ("transcript.md", "summary.txt")}
    assert b"All **done**." in before["transcript.md"]
    assert b"Queries (1)" in before["summary.txt"]
    write_derived(workspace, record_of(read_journal(journal.path).events), info)
    again = json.loads(workspace.read("trace.json"))
    assert {name: workspace.read(name) for name in before} == before
    assert again["tool_calls"][1]["time_offset_seconds"] == 2.0
