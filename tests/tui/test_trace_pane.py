from __future__ import annotations

from core.events import (
    ApiRetry,
    ArtifactSaved,
    ComplianceEnforced,
    Event,
    MessageFinished,
    ObserverFinished,
    PermissionAnswered,
    PermissionAsked,
    QueryFinished,
    QueryReceived,
    SessionFinished,
    SubagentFinished,
    SubagentStarted,
    Usage,
)
from core.observation import CrawlObservation, TextContent
from tests.tui.pane_host import PaneHost, finished, rows, started
from tui.panes.calls import TraceTheme, call_node, query_node, render_node
from tui.panes.trace import TracePane
from tui.text_layout import line_width, plain


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
    view = pane()
    async with PaneHost(view).run_test(size=(70, 20)):
        view.apply(SESSION)
        lines = shown(view)
        assert lines[0].startswith("▾ ⠋ Research the news")
        assert lines[1].startswith("  ✓ SEARCH_NEWS  3")
        assert lines[1].split()[-2:] == ["12K", "1.8s"]
        assert lines[2].startswith("  ▾ ⠋ report-creation-expert  Write it")
        assert lines[3].startswith("    ✗ crawl_parallel  ConnectionFailed: refused")
        assert lines[3].endswith("14.2s")
        assert "more" not in lines[3]
        assert lines[4].startswith("    ⠋ save_corpus")
        assert view._border_title is not None
        assert view._border_title.plain == "Trace · 4 calls · 1 failed"


async def test_a_call_of_an_earlier_subagent_goes_to_its_place() -> None:
    view = pane()
    async with PaneHost(view).run_test(size=(70, 20)):
        view.apply(
            [asked(), started("a", "Agent", subagent_type="one"), started("b", "Agent", subagent_type="two")]
        )
        view.apply([started("a1", "Read", "a", path="x"), started("b1", "Read", "b", path="y")])
        view.apply([started("a2", "Glob", "a", pattern="z"), started("lost", "Grep", "nowhere", pattern="w")])
        assert [node.key for node in view.entries] == ["query/q", "a", "a1", "a2", "b", "b1", "lost"]
        assert [len(row) - len(row.lstrip()) for row in shown(view)] == [0, 2, 4, 4, 2, 4, 2]


async def test_live_rows_count_seconds_and_nothing_ticks_when_nothing_runs() -> None:
    clock = Clock()
    view = pane(clock)
    async with PaneHost(view).run_test(size=(70, 20)):
        assert view._timer is not None
        assert not view._timer._active.is_set()
        view.apply(SESSION)
        assert view._timer._active.is_set()
        clock.now = 33.4
        view._advance()
        assert shown(view)[4].endswith(" 33s")
        assert "⠙ save_corpus" in shown(view)[4]
        clock.now = 125
        view._advance()
        assert shown(view)[4].endswith("2m 05s")
        view.apply([finished("t3"), finished("a", seconds=40), QueryFinished(query_id="q", status="success")])
        assert not view._timer._active.is_set()
        assert shown(view)[2].startswith("  ▾ ✓ report-creation-expert")


async def test_states_other_than_success_are_words_too() -> None:
    view = pane()
    async with PaneHost(view).run_test(size=(90, 20)):
        view.apply([asked(), started("t1", "Bash", command="ls"), started("t2", "Bash", command="rm")])
        view.apply([PermissionAsked(request_id="p", tool_name="Bash", tool_use_id="t1")])
        assert "? Bash  ls  waits for you" in shown(view)[1]
        view.apply(
            [PermissionAnswered(request_id="p", tool_name="Bash", decision="deny"), finished("t1", "denied")]
        )
        assert "⊘ Bash  ls  denied" in shown(view)[1]
        view.apply([ApiRetry(attempt=2, max_attempts=10, delay_ms=10)])
        assert "⟲ try 2 of 10" in shown(view)[0]
        view.apply([MessageFinished(query_id="q", message_id="m", text="")])
        assert "try" not in shown(view)[0]
        view.apply([QueryFinished(query_id="q", status="interrupted")])
        assert "⊘ Bash  rm  no result" in shown(view)[2]
        assert "⊘ Research the news" in shown(view)[0]


async def test_a_subagent_shows_tokens_and_that_it_was_sent_back() -> None:
    view = pane()
    async with PaneHost(view).run_test(size=(110, 20)):
        view.apply(SESSION)
        view.apply([ComplianceEnforced(subagent="report-creation-expert", rule="r", message="m")])
        usage = Usage(input_tokens=38_000)
        view.apply(
            [SubagentFinished(task_id="k", tool_use_id="a", name="report-creation-expert", usage=usage)]
        )
        assert "⟲ sent back · 38k tok" in shown(view)[2]


async def test_what_came_of_a_call_is_kept_and_shown() -> None:
    view = pane()
    crawl = CrawlObservation(
        tool_name="c", tool_use_id="t", server="l", content=(TextContent("x"),), pages=8, failed=2
    )
    async with PaneHost(view).run_test(size=(90, 20)):
        call = started("t", "mcp__local_toolkit__crawl_parallel", urls=["https://a.example"])
        view.apply(
            [asked(), call, finished("t", observation=crawl), started("n", NEWS, query_="x"), finished("n")]
        )
        saved = ArtifactSaved(
            path="a.json", kind="search", size=1, sha256="", observer="search", tool_use_id="n"
        )
        done = ObserverFinished(run_id="r", observer="search", tool_use_id="n", status="saved", items=25)
        view.apply([saved, done])
        assert "crawl_parallel  8/10 pages" in shown(view)[1]
        assert "25 items" in shown(view)[2]
        record = view.record("n")
        assert record is not None
        assert record.finished is not None
        assert record.artifacts == [saved]
        assert view.record("unknown") is None


async def test_folding_hides_and_brings_back() -> None:
    view = pane()
    async with PaneHost(view).run_test(size=(70, 20)) as pilot:
        view.apply(SESSION)
        await pilot.press("left")
        assert view.cursor is not None
        assert view.cursor.key == "a"
        await pilot.press("left")
        assert "▸ ⠋ report-creation-expert" in shown(view)[2]
        assert len(shown(view)) == 3
        view.apply([started("t4", "Read", "a", path="x")])
        assert len(shown(view)) == 3
        await pilot.press("right")
        assert len(shown(view)) == 6
        await pilot.press("right")
        assert view.cursor.key == "t2"
        await pilot.press("home", "enter")
        assert len(shown(view)) == 1
        await pilot.click(view, offset=(2, 1))
        assert len(shown(view)) == 6


async def test_failures_are_stepped_through_and_unfolded() -> None:
    view = pane()
    async with PaneHost(view).run_test(size=(70, 10)) as pilot:
        view.apply([*SESSION, asked("q2", "More")])
        for number in range(60):
            view.apply([started(f"m{number}", "Read", query="q2", path="x")])
            view.apply([finished(f"m{number}", "error" if number == 30 else "success", error=None)])
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
        view.apply(SESSION)
        await pilot.press("end", "enter")
        await pilot.double_click(view, offset=(10, 2))
        await pilot.pause()
        assert host.opened == ["t3", "t1"]


async def test_what_an_ended_session_left_running_does_not_run_for_ever() -> None:
    view = pane()
    async with PaneHost(view).run_test(size=(70, 20)):
        view.apply([*SESSION, SessionFinished(reason="quit")])
        assert view._timer is not None
        assert not view._timer._active.is_set()
        assert not any("⠋" in row for row in shown(view))


async def test_untrusted_names_and_arguments_are_shown_as_text() -> None:
    nasty = "[/x]\x1b]0;t\x07\x1b[2J\u202e\nline"
    view = pane()
    async with PaneHost(view).run_test(size=(100, 20)):
        view.apply([asked("q", nasty), started("t", nasty, query=nasty)])
        view.apply([finished("t", "error", error=nasty)])
        text = "".join(rows(view))
        assert "[/x]" in text
        assert all(char.isprintable() for char in text)


async def test_many_calls_are_found_and_drawn_by_the_screenful() -> None:
    view = pane()
    async with PaneHost(view).run_test(size=(70, 20)) as pilot:
        events: list[Event] = [asked()]
        events += [started(f"t{n}", "Read", path=f"file{n}") for n in range(20_000)]
        view.apply(events)
        assert len(view._measured) < 60
        await pilot.press("home")
        assert "Research" in rows(view)[0]
        view.reveal("t10000")
        assert any("file10000" in row for row in rows(view))


def test_a_row_never_leaves_its_width_and_numbers_keep_their_column() -> None:
    query = query_node("q", "Research the latest AI chip news", 0.0)
    short = call_node(started("a", "Read", path="x"), 0.0)
    long = call_node(started("b", NEWS * 3, **{"limit": "中文字符" * 40}), 0.0)
    query.add(short)
    query.add(long)
    short.finish(finished("a", seconds=0.4))
    long.finish(finished("b", "error", 124, error="broken " * 40))
    for width in range(1, 130):
        drawn = [render_node(node, width, TraceTheme(), now=3.0, tick=1) for node in (query, short, long)]
        assert all(line_width(line) <= width for line in drawn)
        if width >= 40:
            ends = [plain(line) for line in drawn]
            assert {line_width(line) for line in drawn} == {width}
            assert ends[1].endswith("   0.4s")
            assert ends[2].endswith(" 2m 04s")
