from __future__ import annotations

import math

import msgspec
import pytest

from tests.tui.pane_host import at, finished, handle_events, hosted, rows, started
from tests.tui.panes.test_trace import Clock, pane, shown
from ua_tui.core.events.types import (
    AuthFinished,
    AuthRequired,
    Event,
    PermissionAnswered,
    PermissionAsked,
    QueryFinished,
    QueryReceived,
    SubagentStarted,
    TokensSpent,
    Usage,
)
from ua_tui.tui.panes.columns import TableStyles
from ua_tui.tui.panes.trace.pane import TracePane
from ua_tui.tui.panes.trace.rows import render_totals
from ua_tui.tui.render.layout import PLAIN, plain

CELLS = 26
"""Of a waterfall in a terminal of 120 columns."""


def timed(seconds: float, event: Event) -> Event:
    return msgspec.structs.replace(event, at=at(seconds))


def spent(tokens: int, cost: float | None, parent: str | None = None) -> TokensSpent:
    usage = Usage(input_tokens=tokens)
    return TokensSpent(query_id="q", message_id="m", usage=usage, cost_usd=cost, parent_tool_use_id=parent)


def session() -> list[Event]:
    ask = PermissionAsked(request_id="p", tool_name="Bash", tool_use_id="t2")
    return [
        timed(0, QueryReceived(query_id="q", text="Research the news")),
        spent(1_000, 0.25),
        timed(0, started("t1", "Read", path="a.md")),
        timed(5, finished("t1", seconds=5)),
        timed(5, started("a", "Agent", subagent_type="expert", description="Write it")),
        timed(5, SubagentStarted(task_id="k", tool_use_id="a", name="expert")),
        spent(2_000, 0.5, "a"),
        timed(5, started("t2", "Bash", "a", command="ls")),
        timed(6, ask),
        timed(9, PermissionAnswered(request_id="p", tool_name="Bash", decision="allow")),
        timed(10, finished("t2", seconds=5)),
        timed(10, finished("a", seconds=5)),
        timed(10, QueryFinished(query_id="q", status="success", duration_ms=10_000, cost_usd=0.8)),
    ]


def bars(view: TracePane) -> list[str]:
    """The waterfall of each row, without the cells beside it."""
    (head,) = (row for row in rows(view) if "━ ran" in row)
    first = head.index("━ ran")
    return [row[first : first + CELLS] for row in rows(view)[1:] if row.strip("│ ")]


async def test_a_wide_trace_has_a_waterfall_that_shows_the_waits() -> None:
    async with hosted(pane(), 120, 20) as (view, pilot):
        handle_events(view, session())
        query, read, agent, bash = bars(view)
        assert query.strip().count("─") + query.count("?") == len(query.strip())
        assert read.startswith("━━━")
        assert len(read.rstrip()) == len(read) // 2
        assert agent.lstrip()[0] == "─"
        assert len(bash) - len(bash.lstrip()) == len(bash) // 2
        assert bash.strip().strip("━") == "?" * 9
        assert "+5.0s" in shown(view)[3]
        await pilot.press("w")
        assert "━" not in "".join(shown(view))
        await pilot.resize_terminal(80, 24)
        await pilot.press("w")
        assert "━ran ?waited" in shown(view)[0]
        assert shown(view)[4].split()[-2].strip("━") == "?" * 4


def connecting(*order: tuple[int, str]) -> list[Event]:
    """A call that connects accounts runs from the 2nd to the 9th second of a query; `order` says when what happened."""
    events = {
        "link": AuthRequired(toolkit="gmail", url="https://connect.example/1", tool_use_id="t"),
        "connected": AuthFinished(toolkit="gmail", outcome="completed"),
        "starts": started("w", "mcp__composio__COMPOSIO_WAIT_FOR_CONNECTIONS", "a", toolkits=["gmail"]),
        "ends": finished("w", seconds=7),
    }
    return [
        timed(0, QueryReceived(query_id="q", text="Send it")),
        timed(0, started("a", "Agent", subagent_type="sender", description="Send it")),
        timed(0, started("other", "Read", path="a.md")),
        *(timed(second, events[what]) for second, what in sorted([*order, (2, "starts"), (9, "ends")])),
        timed(10, finished("other", seconds=10)),
        timed(10, finished("a", seconds=10)),
        timed(10, QueryFinished(query_id="q", status="success", duration_ms=10_000)),
    ]


@pytest.mark.parametrize(
    ("order", "waited"),
    [
        (((1, "link"), (6, "connected")), (2, 6)),
        (((1, "link"), (20, "connected")), (2, 9)),
        (((4, "link"), (5, "link"), (6, "connected")), (4, 6)),
        (((0, "link"), (1, "connected")), (0, 0)),
        ((), (0, 0)),
    ],
)
async def test_a_call_waits_for_the_person_while_an_account_is_missing(
    order: tuple[tuple[int, str], ...], waited: tuple[int, int]
) -> None:
    async with hosted(pane(), 120, 20) as (view, _):
        handle_events(view, connecting(*order))
        query, agent, call, other = bars(view)
        first, last = (int(second * CELLS / 10) for second in waited)
        for row in (query, agent, call):
            assert row.count("?") == (math.ceil(waited[1] * CELLS / 10) - first if last else 0)
            assert row.find("?") == (first if last else -1)
        assert "?" not in other


async def test_a_running_query_has_a_round_scale_and_its_bars_grow() -> None:
    clock = Clock()
    async with hosted(pane(clock), 120, 20) as (view, _):
        handle_events(view, [timed(0, QueryReceived(query_id="q", text="x")), timed(0, started("t", "Read"))])
        lengths: list[int] = []
        for seconds in (2.4, 4.9, 5.1, 9.9):
            clock.now = at(seconds).timestamp()
            view._advance()
            lengths.append(len(bars(view)[1].strip()))
        assert lengths[1] > 1.8 * lengths[0]
        assert lengths[2] < 0.6 * lengths[1]
        assert lengths[3] > 1.8 * lengths[2]


def test_the_totals_of_a_trace_without_calls_are_a_sum_of_nothing() -> None:
    lines = render_totals([], 60, 10, TableStyles(*[PLAIN] * 5))
    assert [plain(line).split()[:1] for line in lines][:2] == [["calls"], ["total"]]
