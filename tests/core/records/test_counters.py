from __future__ import annotations

from core.records.counters import KEPT_TIMES, RunMetrics, quantile


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
