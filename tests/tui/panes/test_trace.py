from __future__ import annotations

from collections.abc import Hashable, Sequence

import pytest

from tests.tui.pane_host import PaneHost, finished, handle_events, hosted, rows, started
from ua_tui.core.events.types import (
    ASK_USER,
    ArtifactSaved,
    Event,
    MessageFinished,
    PermissionAnswered,
    QueryReceived,
    SubagentStarted,
)
from ua_tui.tui.panes.trace.calls import CallNode
from ua_tui.tui.panes.trace.pane import TracePane
from ua_tui.tui.panes.trace.rows import TraceTheme, render_message, render_node
from ua_tui.tui.render.layout import Line, line_width, plain


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def pane(clock: Clock | None = None) -> TracePane:
    return TracePane(clock=clock or Clock())


def nodes(*events: Event) -> dict[Hashable, CallNode]:
    """The rows that events make, by their keys."""
    view = pane()
    handle_events(view, events)
    return {node.key: node for node in view.entries}


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
        handle_events(view, [asked(), started("t1", "Read", file_path="a.md"), started("t2", ASK_USER)])
        handle_events(view, [changed, answered, finished("t1"), finished("t2")])
        assert "✓ Read  b.md  changed" in shown(view)[1]
        assert "changed" not in shown(view)[2]
        call = view.calls.load("t1")
        assert call is not None
        assert (call.started.input, call.changes) == ({"file_path": "b.md"}, ("file_path: a.md → b.md",))
        assert view.calls.by_key["t1"].arguments == "b.md"


async def test_slow_calls_change_their_colour_twice() -> None:
    clock = Clock()
    async with hosted(pane(clock), 70, 20) as (view, _):
        handle_events(view, [asked(), started("t1", "Bash", command="a")])
        colors: list[object] = []
        for now in (9.0, 10.9, 59.0, 61.0, 700.0):
            clock.now = now
            view._advance()
            last = [part for part in view.render_line(1) if part.text.strip()][-1]
            colors.append(last.style.color if last.style else None)
        assert len(set(colors)) == 3
        assert (colors[1], colors[3]) == (colors[2], colors[4])


def test_words_never_leave_their_width() -> None:
    text = "中文字符 says a lot\n" * 9
    message = MessageFinished(query_id="q", message_id="m", text=text, parent_tool_use_id="a")
    words = nodes(asked(), started("a", "Agent"), message)["message/m"]
    for words.open in (False, True):
        for width in range(1, 90):
            drawn = render_message(words, width, TraceTheme())
            assert drawn
            assert all(line_width(line) <= width for line in drawn)


def test_a_path_that_is_too_long_loses_its_folders_first_and_never_its_end() -> None:
    name = "crawl_computewire_91c0127462cc.md"
    node = nodes(started("t", "read_local_file", path=f"search_results/{name}"))["t"]
    cuts = [plain(render_node(node, width, TraceTheme(), now=0.0, tick=0)[0]) for width in (90, 70, 48)]
    assert [f"search_results/{name}" in cut for cut in cuts] == [True, False, False]
    assert name in cuts[1]
    assert "crawl_comp…27462cc.md" in cuts[2]


@pytest.mark.parametrize("width", range(36, 60))
def test_a_name_is_cut_only_where_the_time_begins(width: int) -> None:
    path = "search_results/" + "crawl_computewire_91c0127462cc" * 2
    node = nodes(started("t", "read_local_file", path=path))["t"]
    drawn = plain(render_node(node, width, TraceTheme(), now=3.0, tick=0)[0])
    assert len(drawn) == width
    assert drawn.endswith("cc  3s")


async def test_what_came_of_a_call_is_kept() -> None:
    async with hosted(pane(), 90, 20) as (view, _):
        saved = ArtifactSaved(
            path="a.json", kind="search", size=1, sha256="", observer="search", tool_use_id="n"
        )
        handle_events(view, [asked(), started("n", NEWS, query_="x"), finished("n"), saved])
        call = view.calls.load("n")
        assert call is not None
        assert call.finished is not None
        assert call.artifacts == (saved,)
        assert view.calls.load("unknown") is None


@pytest.mark.slow
async def test_many_calls_are_found_and_drawn_by_the_screenful(monkeypatch: pytest.MonkeyPatch) -> None:
    view = pane()
    drawn: list[str] = []
    render = view.render_entry

    def count(entry: CallNode, width: int) -> Sequence[Line]:
        drawn.append(entry.key)
        return render(entry, width)

    monkeypatch.setattr(view, "render_entry", count)
    async with PaneHost(view).run_test(size=(70, 20)) as pilot:
        events: list[Event] = [asked()]
        for n in range(100_000):
            events += [started(f"t{n}", "Read", path=f"file{n}"), finished(f"t{n}")]
        handle_events(view, events)
        assert len(drawn) < 80
        await pilot.press("home")
        assert "Research" in rows(view)[0]
        view.reveal("t50000")
        assert any("file50000" in row for row in rows(view))
        view.tree_rows.show_only("file9999")
        assert len(view.entries) == 12
        assert all("file9999" in row for row in shown(view)[1:])
        view.tree_rows.show_only("")
        assert any("file50000" in row for row in rows(view))
        assert len(drawn) < 200


def test_a_row_never_leaves_its_width_and_numbers_keep_their_column() -> None:
    query, short, long = nodes(
        asked(text="Research the latest AI chip news"),
        started("a", "Read", path="x"),
        started("b", NEWS * 3, **{"limit": "中文字符" * 40}),
        finished("a", seconds=0.4),
        finished("b", "error", 124, error="broken " * 40),
    ).values()
    for width in range(1, 130):
        drawn_rows = [
            render_node(node, width, TraceTheme(), now=3.0, tick=1, waterfall=waterfall)
            for waterfall in (False, True)
            for node in (query, short, long)
        ]
        assert all(line_width(line) <= width for node in drawn_rows for line in node)
        drawn = [lines[0] for lines in drawn_rows]
        if width >= 40:
            ends = [plain(line) for line in drawn]
            assert {line_width(line) for line in drawn} == {width}
            assert ends[1].endswith("   0.4s")
            assert ends[2].endswith(" !!2m 04s")


async def test_sub_agents_at_work_at_once_hide_no_row_above_them() -> None:
    """In one batch, and in a past session that is read into a trace on no screen."""
    events = [
        asked("q1"),
        started("t1", "Read", query="q1"),
        asked("q2"),
        started("a", "Agent", query="q2"),
        started("b", "Agent", query="q2"),
        started("t2", "Read", "a", "q2"),
        started("t3", "Read", "b", "q2"),
        asked("q3"),
    ]
    keys = ["query/q1", "t1", "query/q2", "a", "t2", "b", "t3", "query/q3"]
    view, past = pane(), pane()
    handle_events(view, events)
    assert [node.key for node in view.entries] == keys
    async with hosted(past, 90, 20):
        twin = past.twin()
        twin.gather_for(past)
        handle_events(twin, events[:3])
        handle_events(twin, events[3:])
        past.adopt(twin)
        assert [node.key for node in past.entries] == keys
