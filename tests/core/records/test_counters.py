from __future__ import annotations

import pytest

from ua_tui.core.events.types import Event, MessageFinished, QueryFinished, TokensSpent, Usage
from ua_tui.core.records.counters import KEPT_TIMES, RunMetrics, TokenCount, quantile


def test_a_quantile_is_the_nearest_rank() -> None:
    for values, part, expected in (
        ([], 0.5, 0.0), ([7.0], 0.5, 7.0), ([7.0], 0.95, 7.0), ([2.0, 1.0], 0.5, 1.0), ([3.0, 1.0, 2.0], 0.5, 2.0),
        (range(1, 21), 0.95, 19), (range(1, 22), 0.95, 20), (range(1, 101), 0.95, 95), (range(1, 101), 0.0, 1),
        (range(1, 101), 1.0, 100),
    ):  # fmt: skip
        assert quantile(values, part) == expected


def test_runs_are_counted_and_times_are_of_the_last_ones() -> None:
    metrics = RunMetrics()
    metrics.add("failed", 0, 0.0)
    assert (metrics.runs, metrics.failed, metrics.p50_ms) == (1, 1, 0.0)
    metrics.add("saved", 25, 1_000_000.0)
    metrics.add("skipped", 0, 1_000_000.0)
    for _ in range(KEPT_TIMES):
        metrics.add("saved", 1, 2.0)
    assert (metrics.runs, metrics.saved, metrics.skipped) == (KEPT_TIMES + 3, KEPT_TIMES + 1, 1)
    assert metrics.items == KEPT_TIMES + 25
    assert metrics.p95_ms == 2.0


def _spent(read: int, wrote: int) -> TokensSpent:
    return TokensSpent(
        query_id="q", message_id="m", usage=Usage(input_tokens=read - 1, cache_read_input_tokens=1, output_tokens=wrote)
    )  # fmt: skip


def _end(read: int, wrote: int) -> QueryFinished:
    return QueryFinished(query_id="q", status="success", usage=Usage(input_tokens=read, output_tokens=wrote))


@pytest.mark.parametrize(
    ("events", "total"),
    [
        # The end has all of it: its figures replace the estimates of what sub-agents wrote.
        ([_spent(100, 9), _spent(50, 70), _end(150, 12)], 162),
        # The end of an older journal leaves the sub-agents out, and the end of a query that was stopped has nothing.
        ([_spent(100, 9), _spent(50, 70), _end(100, 9)], 229),
        ([_spent(100, 9), QueryFinished(query_id="q", status="interrupted")], 109),
        (
            [MessageFinished(query_id="q", message_id="m", text="", usage=Usage(input_tokens=5)), _end(4, 3)],
            7,
        ),
        ([_spent(100, 9)], 109),
    ],
)
def test_tokens_of_sub_agents_count_once(events: list[Event], total: int) -> None:
    count = TokenCount()
    for event in events:
        count.add(event)
    assert count.total == total
