"""What an observer did, in numbers: the same ones in the feed, in the summary and in the runner."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable

__all__ = ["KEPT_TIMES", "RunMetrics", "quantile"]

KEPT_TIMES = 1_024
"""Of how many of its last runs the times of an observer are kept."""


def quantile(values: Iterable[float], part: float) -> float:
    """The smallest of `values` that at least `part` (0 to 1) of them do not exceed: the nearest rank.

    It is always one of the values, never something between two; 0.0 when there are none.
    """
    ordered = sorted(values)
    rank = max(1, math.ceil(round(part * len(ordered), 9)))
    return ordered[min(rank, len(ordered)) - 1] if ordered else 0.0


class RunMetrics:
    """The runs of one observer, counted; times in milliseconds, over the last `KEPT_TIMES` runs.

    `runs` is the sum of `saved`, `skipped` and `failed`. A run that never began, as it was given up before its
    turn, has no time and does not count in the times.
    """

    __slots__ = ("_quantiles", "_times", "failed", "items", "runs", "saved", "skipped")

    def __init__(self) -> None:
        self.runs = 0
        self.saved = 0
        self.skipped = 0
        self.failed = 0
        self.items = 0
        self._times: deque[float] = deque(maxlen=KEPT_TIMES)
        # A table that is drawn again asks for them far more often than runs end.
        self._quantiles: dict[float, float] = {}

    def add(self, status: str, items: int, duration_ms: float) -> None:
        """Count one finished run; `status` is `saved`, `skipped` or `failed`."""
        self.runs += 1
        self.items += items
        if duration_ms > 0:
            self._times.append(duration_ms)
            self._quantiles.clear()
        match status:
            case "saved":
                self.saved += 1
            case "skipped":
                self.skipped += 1
            case _:
                self.failed += 1

    @property
    def p50_ms(self) -> float:
        """Half of the runs took no longer than this."""
        return self._quantile(0.5)

    @property
    def p95_ms(self) -> float:
        """All but one in twenty runs took no longer than this."""
        return self._quantile(0.95)

    def _quantile(self, part: float) -> float:
        if part not in self._quantiles:
            self._quantiles[part] = quantile(self._times, part)
        return self._quantiles[part]
