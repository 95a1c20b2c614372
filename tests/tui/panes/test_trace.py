from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.tui.pane_host import PaneHost, finished, hosted, rows, started
from ua_tui.core.events.types import (
    ASK_USER,
    ArtifactSaved,
    Event,
    MessageFinished,
    PermissionAnswered,
    QueryReceived,
    SubagentStarted,
)
from ua_tui.tui.panes.trace.calls import CallNode, add_text, call_node, message_node, query_node
from ua_tui.tui.panes.trace.pane import TracePane
from ua_tui.tui.panes.trace.rows import TraceTheme, render_message, render_node
from ua_tui.tui.render.layout import Line, line_width, plain


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


async def test_slow_calls_change_their_colour_twice() -> None:
    clock = Clock()
    async with hosted(pane(clock), 70, 20) as (view, _):
        view.handle_events([asked(), started("t1", "Bash", command="a")])
        colors: list[object] = []
        for now in (9.0, 10.9, 59.0, 61.0, 700.0):
            clock.now = now
            view._advance()
            last = [part for part in view.render_line(1) if part.text.strip()][-1]
            colors.append(last.style.color if last.style else None)
        assert len(set(colors)) == 3
        assert (colors[1], colors[3]) == (colors[2], colors[4])


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
    assert "crawl_comp…27462cc.md" in cuts[2]


@pytest.mark.parametrize("width", range(36, 60))
def test_a_name_is_cut_only_where_the_time_begins(width: int) -> None:
    node = call_node(
        started("t", "read_local_file", path="search_results/" + "crawl_computewire_91c0127462cc" * 2), 0.0
    )
    drawn = plain(render_node(node, width, TraceTheme(), now=3.0, tick=0)[0])
    assert len(drawn) == width
    assert drawn.endswith("cc  3s")


async def test_what_came_of_a_call_is_kept() -> None:
    async with hosted(pane(), 90, 20) as (view, _):
        saved = ArtifactSaved(
            path="a.json", kind="search", size=1, sha256="", observer="search", tool_use_id="n"
        )
        view.handle_events([asked(), started("n", NEWS, query_="x"), finished("n"), saved])
        record = view.record("n")
        assert record is not None
        assert record.load().finished is not None
        assert record.load().artifacts == [saved]
        assert view.record("unknown") is None


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
