from __future__ import annotations

from collections.abc import Sequence

import pytest

from core.events.types import (
    ASK_USER,
    ArtifactSaved,
    Event,
    MessageFinished,
    ObserverFinished,
    PermissionAnswered,
    QueryFinished,
    QueryReceived,
    SessionFinished,
    SubagentStarted,
    ToolCallProgress,
)
from core.observation import CrawlObservation, TextContent
from tests.tui.pane_host import PaneHost, finished, hosted, rows, started
from tui.panes.trace.calls import CallNode, add_text, call_node, message_node, query_node
from tui.panes.trace.pane import TracePane
from tui.panes.trace.rows import TraceTheme, render_message, render_node
from tui.render.layout import Line, line_width, plain


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def pane(clock: Clock | None = None) -> TracePane:
    return TracePane(monotonic=clock or Clock())


def asked(query: str = "q", text: str = "Research the news") -> Event:
    return QueryReceived(query_id=query, text=text)


NEWS = "mcp__composio__COMPOSIO_SEARCH_NEWS"
SESSION: list[Event] = [
    asked(),
    started("t1", NEWS, limit=3),
    finished("t1", seconds=1.8, text="x" * 12_000),
    started("a", "Agent", subagent_type="report-creation-expert", description="Write it"),
    SubagentStarted(task_id="k", tool_use_id="a", name="report-creation-expert", description="Write it"),
    started("t2", "mcp__local_toolkit__crawl_parallel", "a", urls=["https://a.example"]),
    finished("t2", "error", 14.2, error="ConnectionFailed: refused\nmore"),
    started("t3", "mcp__local_toolkit__save_corpus", "a"),
]


def shown(view: TracePane) -> list[str]:
    return [row.rstrip() for row in rows(view) if row.strip()]


async def test_calls_stand_under_their_query_and_subagent() -> None:
    async with hosted(pane(), 70, 20) as (view, _):
        view.handle_events(SESSION)
        lines = shown(view)
        assert lines[0].startswith("▾ ⠋ Research the news")
        assert lines[1].startswith("    ✓ SEARCH_NEWS  3")
        assert lines[1].split()[-2:] == ["12K", "1.8s"]
        assert lines[2].startswith("  ▾ ⠋ report-creation-expert  Write it")
        assert lines[3].startswith("      ✗ crawl_parallel  ConnectionFailed: refused")
        assert lines[3].endswith("14.2s")
        assert "more" not in lines[3]
        assert lines[4].startswith("      ⠋ save_corpus")
        assert view._border_title is not None
        assert view._border_title.plain == "Trace · 4 calls · 1 failed"


async def test_live_rows_count_seconds_and_nothing_ticks_when_nothing_runs() -> None:
    clock = Clock()
    async with hosted(pane(clock), 70, 20) as (view, _):
        assert view._timer is not None
        assert not view._timer._active.is_set()
        view.handle_events(SESSION)
        assert view._timer._active.is_set()
        clock.now = 33.4
        view._advance()
        assert shown(view)[4].endswith(" !33s")
        assert "⠙ save_corpus" in shown(view)[4]
        clock.now = 125
        view._advance()
        assert shown(view)[4].endswith("!!2m 05s")
        view.handle_events(
            [finished("t3"), finished("a", seconds=40), QueryFinished(query_id="q", status="success")]
        )
        assert not view._timer._active.is_set()
        assert shown(view)[2].startswith("  ▾ ✓ report-creation-expert")


async def test_a_call_shows_the_arguments_that_ran_and_that_they_were_changed() -> None:
    changed = PermissionAnswered(
        request_id="p", tool_name="Read", decision="allow", tool_use_id="t1",
        input={"file_path": "b.md"}, changes=["file_path: a.md → b.md"],
    )  # fmt: skip
    answered = PermissionAnswered(
        request_id="r", tool_name=ASK_USER, decision="allow", tool_use_id="t2", input={"answers": {}}
    )
    view = pane()
    async with hosted(view, 90, 20):
        view.handle_events([asked(), started("t1", "Read", file_path="a.md"), started("t2", ASK_USER)])
        view.handle_events([changed, answered, finished("t1"), finished("t2")])
        assert "✓ Read  b.md  changed" in shown(view)[1]
        assert "changed" not in shown(view)[2]
        record = view.record("t1")
        assert record is not None
        call = record.load()
        assert (call.started.input, call.changes) == ({"file_path": "b.md"}, ("file_path: a.md → b.md",))
        assert record.argument_text == "b.md"


async def test_slow_calls_are_marked_while_they_run_and_afterwards() -> None:
    clock = Clock()
    async with hosted(pane(clock), 70, 20) as (view, _):
        view.handle_events([asked(), started("t1", "Bash", command="a"), started("t2", "Bash", command="b")])
        ends: list[str] = []
        colors: list[object] = []
        for now in (9.0, 10.9, 59.0, 61.0, 700.0):
            clock.now = now
            view._advance()
            ends.append(shown(view)[1].split()[-1] if now < 60 else shown(view)[1][-9:])
            last = [part for part in view.render_line(1) if part.text.strip()][-1]
            colors.append(last.style.color if last.style else None)
        assert ends == ["9s", "!10s", "!59s", " !!1m 01s", "!!11m 40s"]
        assert len(set(colors)) == 3
        assert colors[1] == colors[2]
        assert colors[3] == colors[4]
        view.handle_events([finished("t1", seconds=10.0), finished("t2", seconds=124)])
        assert shown(view)[1].endswith("  10.0s")
        assert shown(view)[2].endswith(" !!2m 04s")
        assert "!" not in shown(view)[0], "a query is expected to take its time"


def test_words_never_leave_their_width() -> None:
    query, agent = query_node("q", "x", 0.0), call_node(started("a", "Agent"), 0.0)
    words = message_node("m")
    query.add(agent)
    agent.add(words)
    add_text(words, MessageFinished(query_id="q", message_id="m", text="中文字符 says a lot\n" * 9))
    for words.open in (False, True):
        for width in range(1, 90):
            drawn = render_message(words, width, TraceTheme())
            assert drawn
            assert all(line_width(line) <= width for line in drawn)


def test_a_path_that_is_too_long_loses_its_folders_first_and_never_its_end() -> None:
    name = "crawl_computewire_91c0127462cc.md"
    node = call_node(started("t", "read_local_file", path=f"search_results/{name}"), 0.0)
    cuts = [plain(render_node(node, width, TraceTheme(), now=0.0, tick=0)[0]) for width in (90, 70, 46)]
    assert [f"search_results/{name}" in cut for cut in cuts] == [True, False, False]
    assert name in cuts[1]
    assert "crawl_c…62cc.md" in cuts[2]


async def test_what_came_of_a_call_is_kept_and_shown() -> None:
    view = pane()
    crawl = CrawlObservation(
        tool_name="c", tool_use_id="t", server="l", content=(TextContent("x"),), pages=8, failed=2
    )
    async with PaneHost(view).run_test(size=(90, 20)):
        call = started("t", "mcp__local_toolkit__crawl_parallel", urls=["https://a.example"])
        view.handle_events([asked(), call, ToolCallProgress(tool_use_id="t", done=3, total=10, unit="pages")])
        assert "crawl_parallel  https://a.example  3 of 10 pages" in shown(view)[1]
        view.handle_events([finished("t", observation=crawl), started("n", NEWS, query_="x"), finished("n")])
        saved = ArtifactSaved(
            path="a.json", kind="search", size=1, sha256="", observer="search", tool_use_id="n"
        )
        done = ObserverFinished(run_id="r", observer="search", tool_use_id="n", status="saved", items=25)
        view.handle_events([saved, done])
        assert "crawl_parallel  8/10 pages" in shown(view)[1]
        assert "25 items" in shown(view)[2]
        record = view.record("n")
        assert record is not None
        assert record.load().finished is not None
        assert record.load().artifacts == [saved]
        assert view.record("unknown") is None


async def test_failures_are_stepped_through_and_unfolded() -> None:
    async with hosted(pane(), 70, 10) as (view, pilot):
        view.handle_events([*SESSION, asked("q2", "More")])
        for number in range(60):
            view.handle_events([started(f"m{number}", "Read", query="q2", path="x")])
            view.handle_events([finished(f"m{number}", "error" if number == 30 else "success", error=None)])
        await pilot.press("home", "enter", "e")
        assert view.cursor is not None
        assert view.cursor.key == "t2"
        assert any("crawl_parallel" in row for row in rows(view))
        await pilot.press("e")
        assert view.cursor.key == "m30"
        await pilot.press("e")
        assert view.cursor.key == "t2"
        await pilot.press("E")
        assert view.cursor.key == "m30"


async def test_enter_asks_to_show_the_call() -> None:
    view = pane()
    host = PaneHost(view)
    async with host.run_test(size=(70, 20)) as pilot:
        view.handle_events(SESSION)
        await pilot.press("end", "enter")
        await pilot.double_click(view, offset=(10, 2))
        await pilot.pause()
        assert host.opened == ["t3", "t1"]


async def test_what_an_ended_session_left_running_does_not_run_for_ever() -> None:
    async with hosted(pane(), 70, 20) as (view, _):
        view.handle_events([*SESSION, SessionFinished(reason="quit")])
        assert view._timer is not None
        assert not view._timer._active.is_set()
        assert not any("⠋" in row for row in shown(view))


async def test_untrusted_names_and_arguments_are_shown_as_text() -> None:
    nasty = "[/x]\x1b]0;t\x07\x1b[2J\u202e\nline"
    async with hosted(pane(), 100, 20) as (view, _):
        view.handle_events([asked("q", nasty), started("t", nasty, query=nasty)])
        view.handle_events([finished("t", "error", error=nasty)])
        text = "".join(rows(view))
        assert "[/x]" in text
        assert all(char.isprintable() for char in text)


@pytest.mark.slow
async def test_many_calls_are_found_and_drawn_by_the_screenful(monkeypatch: pytest.MonkeyPatch) -> None:
    view = pane()
    drawn: list[str] = []
    render = view.source.render

    def count(entry: CallNode, width: int) -> Sequence[Line]:
        drawn.append(entry.key)
        return render(entry, width)

    monkeypatch.setattr(view.source, "render", count)
    async with PaneHost(view).run_test(size=(70, 20)) as pilot:
        events: list[Event] = [asked()]
        events += [started(f"t{n}", "Read", path=f"file{n}") for n in range(100_000)]
        view.handle_events(events)
        view.handle_events([finished(f"t{n}") for n in range(0, 100_000, 2)])
        assert len(drawn) < 80
        await pilot.press("home")
        assert "Research" in rows(view)[0]
        view.reveal("t50000")
        assert any("file50000" in row for row in rows(view))
        view.tree_rows.filter.show_only("file9999")
        assert len(view.entries) == 12
        assert all("file9999" in row for row in shown(view)[1:])
        view.tree_rows.filter.show_only("")
        assert any("file50000" in row for row in rows(view))
        assert len(drawn) < 200


def keys(view: TracePane) -> list[str]:
    return [node.key for node in view.entries]


def title(view: TracePane) -> str:
    assert view._border_title is not None
    return view._border_title.plain


async def test_a_filter_keeps_matches_and_what_they_stand_under() -> None:
    async with hosted(pane(), 90, 20) as (view, pilot):
        view.handle_events([*SESSION, asked("q2", "More"), started("z", "Bash", query="q2", command="ls -l")])
        await pilot.press("f", *"crawl")
        assert keys(view) == ["query/q", "a", "t2"]
        assert title(view) == "Trace · 1 of 5 calls · 1 failed  f crawl▏"
        await pilot.press("enter")
        assert view.cursor is not None
        assert view.cursor.key == "t2"
        assert not title(view).endswith("▏")
        await pilot.press("escape")
        assert len(view.entries) == 7
        assert title(view) == "Trace · 5 calls · 1 failed"
        await pilot.press("slash", *"state:fail", "enter")
        assert keys(view) == ["query/q", "a", "t2"]
        await pilot.press("f", "ctrl+u", *"TOOL:news", "enter")
        assert keys(view) == ["query/q", "t1"]
        await pilot.press("f", "ctrl+u", *'"ls -l"')
        assert keys(view) == ["query/q2", "z"]
        await pilot.press("ctrl+u", *"nowhere")
        assert any("No call matches" in row for row in shown(view))
        await pilot.press("backspace", "escape")
        assert len(view.entries) == 7


async def test_rows_come_and_go_as_calls_begin_to_match_and_end_to() -> None:
    async with hosted(pane(), 90, 20) as (view, _):
        view.handle_events(SESSION)
        view.tree_rows.filter.show_only("state:running")
        assert keys(view) == ["query/q", "a", "t3"]
        view.handle_events([finished("t3")])
        assert keys(view) == ["query/q", "a"]
        view.handle_events([finished("a"), asked("q2", "More")])
        assert keys(view) == []
        view.handle_events([started("n1", "Read", query="q2", path="x"), started("n2", "Glob", query="q2")])
        assert keys(view) == ["query/q2", "n1", "n2"]
        view.handle_events([started("late", "Grep", "a", pattern="x"), finished("n1")])
        assert keys(view) == ["query/q", "a", "late", "query/q2", "n2"]
        assert "2 of 7 calls" in title(view)
        view.tree_rows.filter.show_only("")
        every = ["query/q", "t1", "a", "t2", "t3", "late", "query/q2", "n1", "n2"]
        assert keys(view) == every


async def test_a_filter_unfolds_what_hides_a_match_and_folds_it_again() -> None:
    async with hosted(pane(), 90, 20) as (view, pilot):
        view.handle_events(SESSION)
        await pilot.press("home", "enter")
        assert keys(view) == ["query/q"]
        view.tree_rows.filter.show_only("save_corpus")
        assert keys(view) == ["query/q", "a", "t3"]
        view.tree_rows.filter.show_only("")
        assert keys(view) == ["query/q"]
        view.tree_rows.filter.show_only("news")
        assert view.reveal("t2"), "a call that the filter leaves out ends it"
        assert view.cursor is not None
        assert view.cursor.key == "t2"
        assert len(view.entries) == 5


def test_a_row_never_leaves_its_width_and_numbers_keep_their_column() -> None:
    query = query_node("q", "Research the latest AI chip news", 0.0)
    short = call_node(started("a", "Read", path="x"), 0.0)
    long = call_node(started("b", NEWS * 3, **{"limit": "中文字符" * 40}), 0.0)
    query.add(short)
    query.add(long)
    short.finish(finished("a", seconds=0.4))
    long.finish(finished("b", "error", 124, error="broken " * 40))
    for width in range(1, 130):
        nodes = [
            render_node(node, width, TraceTheme(), now=3.0, tick=1, waterfall=waterfall)
            for waterfall in (False, True)
            for node in (query, short, long)
        ]
        assert all(line_width(line) <= width for node in nodes for line in node)
        drawn = [lines[0] for lines in nodes]
        if width >= 40:
            ends = [plain(line) for line in drawn]
            assert {line_width(line) for line in drawn} == {width}
            assert ends[1].endswith("   0.4s")
            assert ends[2].endswith(" !!2m 04s")
