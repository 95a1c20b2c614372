"""A filter over a long trace: it is found in steps, and what happens meanwhile is not lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.events import Key

from tests.tui.pane_host import PaneHost, finished, hosted, started
from tests.waiting import until
from ua_tui.core.events.types import Event, QueryReceived
from ua_tui.tui.panes.trace.calls import CallNode
from ua_tui.tui.panes.trace.filter import CallFilter
from ua_tui.tui.panes.trace.pane import TracePane

QUERIES, CALLS = 20, 1_000


def asked(number: int) -> QueryReceived:
    return QueryReceived(query_id=f"q{number}", text=f"Question {number}")


def long_trace() -> TracePane:
    view = TracePane(clock=lambda: 0.0)
    for number in range(QUERIES):
        events: list[Event] = [asked(number)]
        events += [
            started(f"t{number}.{n}", "Read", query=f"q{number}", path=f"file{n}") for n in range(CALLS)
        ]
        events += [finished(f"t{number}.{n}") for n in range(0, CALLS, 2)]
        view.handle_events(events)
    return view


def kept(view: TracePane) -> list[str]:
    return [node.key for node in view.entries]


def type_(view: TracePane, character: str) -> None:
    view.on_key(Key(character, character if len(character) == 1 else None))


def meanwhile(view: TracePane) -> None:
    """Calls that come, end and no longer match, a sub-agent with a call of its own, and a query."""
    view.handle_events(
        [
            started("new", "Read", query="q0", path="file77777"),
            started("other", "Bash", query="q0", command="ls"),
            finished("t3.1", "error", error="gone"),
            finished("t4.7"),
            started("agent", "Agent", query="q19", description="look"),
            started("below", "Read", parent="agent", query="q19", path="file7"),
            asked(20),
            started("last", "Read", query="q20", path="file7"),
        ]
    )


async def test_rows_that_come_out_of_order_while_a_filter_is_taken_off_find_their_places(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ua_tui.tui.panes.trace.filter.STEP", 1)
    monkeypatch.setattr("ua_tui.tui.panes.trace.filter.STEPS_AT_ONCE", 1)
    async with hosted(TracePane(clock=lambda: 0.0), 70, 20) as (view, _):
        view.handle_events([asked(1), *[started(f"t{n}", "Read", query="q1") for n in range(6)]])
        view.tree_rows.filter.show_only("read")
        type_(view, "escape")
        job = view.tree_rows.filter._job
        assert job is not None
        while not job.rows.items:
            assert job.advance()
        # The first query is passed already when it gets another call, and one more query came before that.
        view.handle_events(
            [asked(2), started("late", "Read", query="q1"), started("of2", "Read", query="q2")]
        )
        await until(lambda: not view.tree_rows.filter.busy)
        assert kept(view) == ["query/q1", *[f"t{n}" for n in range(6)], "late", "query/q2", "of2"]


async def test_a_key_in_the_filter_checks_few_rows_before_the_screen_is_updated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    view = long_trace()
    looked_at: list[str] = []
    matches = CallFilter.matches

    def noting(self: CallFilter, node: CallNode) -> bool:
        looked_at.append(node.key)
        return matches(self, node)

    monkeypatch.setattr(CallFilter, "matches", noting)
    async with PaneHost(view).run_test(size=(70, 20)):
        view.action_filter()
        type_(view, "7")
        assert len(looked_at) < 5_000
        assert len(view.entries) == QUERIES * (CALLS + 1)
        await until(lambda: view.matched is not None)
        assert view.matched == len(kept(view)) - QUERIES
        assert 0 < view.matched < QUERIES * CALLS
        # What is typed next takes the place of what is still looked for.
        looked_at.clear()
        type_(view, "1")
        type_(view, "2")
        await until(lambda: view.matched == QUERIES)
        assert len(looked_at) < 2 * QUERIES * CALLS
        type_(view, "escape")
        assert len(view.entries) == 2 * QUERIES
        await until(lambda: view.matched is None)
        assert len(view.entries) == QUERIES * (CALLS + 1)


@pytest.mark.slow
@pytest.mark.parametrize("typed", ["7", "state:running"])
async def test_what_comes_while_rows_are_sifted_is_sifted_too(typed: str) -> None:
    view, other = long_trace(), long_trace()
    async with PaneHost(view).run_test(size=(70, 20)):
        view.action_filter()
        view.tree_rows.filter.query.edit(typed)
        meanwhile(view)
        assert view.matched is None
        await until(lambda: view.matched is not None)
        meanwhile(other)
        other.tree_rows.filter.show_only(typed)
        assert kept(view) == kept(other)
        assert view.matched == other.matched
        assert [node.hits for node in view.entries] == [node.hits for node in other.entries]
        assert all(view.index_of(key) == place for place, key in enumerate(kept(view)))
        view.tree_rows.filter.query.edit("")
        view.handle_events([started("late", "Read", query="q2", path="x"), finished("late")])
        await until(lambda: view.matched is None)
        other.tree_rows.filter.show_only("")
        other.handle_events([started("late", "Read", query="q2", path="x"), finished("late")])
        assert kept(view) == kept(other)


@pytest.mark.parametrize(
    "act",
    [
        lambda view: view.tree_rows.set_open(view.entries[0], open_=False),
        lambda view: view.tree_rows.set_open(view.entries[0], open_=True),
    ],
    ids=["folded", "unfolded"],
)
async def test_a_row_folded_while_rows_are_sifted_is_as_the_rows_say(
    act: Callable[[TracePane], None],
) -> None:
    async with hosted(long_trace(), 70, 20) as (view, _):
        view.tree_rows.filter.show_only("state:running")
        view.tree_rows.filter.query.edit("")
        act(view)
        await until(lambda: view.matched is None)
        first = view.entries[0]
        assert len(view.entries) == QUERIES * (CALLS + 1) - (0 if first.open else CALLS)
        view.tree_rows.filter.show_only("file7")
        assert first.open
        view.tree_rows.filter.show_only("")
        assert view.entries[0] is first


async def test_matches_are_unfolded_as_long_as_they_are_searched_for() -> None:
    async with hosted(long_trace(), 70, 20) as (view, _):
        query = view.entries[0]
        view.tree_rows.set_open(query, open_=False)
        for typed, open_ in (
            ("file7", True),
            ("file77", True),
            ("nothing", False),
            ("file9", True),
            ("", False),
        ):
            view.tree_rows.filter.query.edit(typed)
            await until(lambda: not view.tree_rows.filter.busy)
            assert query.open is open_
        assert len(view.entries) == QUERIES * (CALLS + 1) - CALLS
