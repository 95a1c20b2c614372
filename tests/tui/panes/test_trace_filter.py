"""A filter over a long trace, and what happens while it is on."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.events import Key

from tests.tui.pane_host import finished, handle_events, hosted, started
from ua_tui.core.events.types import Event, QueryReceived
from ua_tui.tui.panes.trace.pane import TracePane

QUERIES, CALLS = 20, 100


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
        handle_events(view, events)
    return view


def kept(view: TracePane) -> list[str]:
    return [node.key for node in view.entries]


def type_(view: TracePane, character: str) -> None:
    view.on_key(Key(character, character if len(character) == 1 else None))


async def test_what_comes_while_a_filter_is_on_is_where_it_would_be_if_it_had_come_before() -> None:
    """Calls that come, end and no longer match, a sub-agent with a call of its own, and a query."""
    news: list[Event] = [
        started("new", "Read", query="q0", path="file77777"),
        started("other", "Bash", query="q0", command="ls"),
        finished("t3.1", "error", error="gone"),
        finished("t4.7"),
        started("agent", "Agent", query="q19", description="look"),
        started("below", "Read", parent="agent", query="q19", path="file7"),
        asked(20),
        started("last", "Read", query="q20", path="file7"),
    ]
    view, other = long_trace(), long_trace()
    for typed in ("7", "state:running", ""):
        view.tree_rows.show_only(typed)
        handle_events(view, news)
        handle_events(other, news)
        other.tree_rows.show_only("")
        other.tree_rows.show_only(typed)
        assert kept(view) == kept(other)
        assert view.tree_rows.matched == other.tree_rows.matched
        assert [node.hits for node in view.entries] == [node.hits for node in other.entries]
        assert all(view.index_of(key) == place for place, key in enumerate(kept(view)))


@pytest.mark.parametrize(
    "act",
    [
        lambda view: view.tree_rows.toggle(view.entries[0]),
        lambda view: view.tree_rows.set_open(view.entries[0], open_=True),
    ],
    ids=["folded", "unfolded"],
)
async def test_a_row_folded_while_a_filter_is_on_is_as_the_rows_say(
    act: Callable[[TracePane], None],
) -> None:
    async with hosted(long_trace(), 70, 20) as (view, _):
        view.tree_rows.show_only("state:running")
        view.tree_rows.query.edit("")
        act(view)
        first = view.entries[0]
        assert len(view.entries) == QUERIES * (CALLS + 1) - (0 if first.open else CALLS)
        view.tree_rows.show_only("file7")
        assert first.open
        view.tree_rows.show_only("")
        assert view.entries[0] is first


async def test_matches_are_unfolded_as_long_as_they_are_searched_for() -> None:
    async with hosted(long_trace(), 70, 20) as (view, _):
        query = view.entries[0]
        view.tree_rows.toggle(query)
        for typed, open_ in (
            ("file7", True),
            ("file77", True),
            ("nothing", False),
            ("file9", True),
            ("", False),
        ):
            view.tree_rows.query.edit(typed)
            assert query.open is open_
        assert len(view.entries) == QUERIES * (CALLS + 1) - CALLS
