"""Counters: the tokens, calls and costs of a session, and the runs of each observer."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from ua_tui.core.events.types import (
    ArtifactSaved,
    Event,
    MessageFinished,
    QueryFinished,
    SessionFinished,
    TokensSpent,
    ToolCallStarted,
    Usage,
)

KEPT_TIMES = 1_024
"""The number of an observer's latest runs whose times are stored."""


@dataclass(slots=True)
class TokenCount:
    """Counts the tokens of a session with its sub-agents: the same live, after a resume, and when it is read again.

    `done` has those of queries that ended. A query counts with the tokens reported for its messages while it ran, or
    with those reported at its end if these include the sub-agents, whose messages have estimates, or are more, as in
    journals without those messages.
    """

    done: int = 0
    _read: int = 0
    _cached: int = 0
    _spent: int = 0
    _spent_read: int = 0
    _messages: int = 0

    @property
    def total(self) -> int:
        """All tokens, with those of a query that is running or was cut off."""
        return self.done + max(self._spent, self._messages)

    @property
    def cached_share(self) -> float | None:
        """The share of the tokens that the model read which came from the cache, 0 to 1; None if none were read."""
        return self._cached / self._read if self._read else None

    def add(self, event: Event) -> None:
        """Count the tokens of one event."""
        match event:
            case TokensSpent(usage=usage):
                self._spent += usage.total
                self._spent_read += usage.read
                self._read += usage.read
                self._cached += usage.cache_read_input_tokens
            case MessageFinished(usage=Usage() as usage):
                self._messages += usage.total
            case QueryFinished():
                usage = event.usage or Usage()
                has_all = self._spent > 0 and usage.read >= self._spent_read and usage.total > 0
                self.done += usage.total if has_all else max(self._spent, self._messages, usage.total)
                self._spent = self._spent_read = self._messages = 0
            case _:
                pass


@dataclass
class Tally:
    """The counts of one session; `cost_usd` is the sum of the known costs, None until a query reports its cost.

    `unpriced` are the models whose price is unknown, in the order of their use.
    `earlier_ms` is how long a resumed session took before, in milliseconds.
    """

    queries: int = 0
    tool_calls: int = 0
    artifacts: int = 0
    cost_usd: float | None = None
    unpriced: dict[str, None] = field(default_factory=dict)
    earlier_ms: float = 0.0
    _started: float = field(default_factory=time.monotonic)

    def count(self, event: Event) -> None:
        """Count an event."""
        match event:
            case ToolCallStarted():
                self.tool_calls += 1
            case ArtifactSaved():
                self.artifacts += 1
            case _:
                return

    def spend(self, cost_usd: float | None, unpriced: Iterable[str] = ()) -> None:
        """Add the cost of a query, if it is known; `unpriced` are its models without a price."""
        self.unpriced |= dict.fromkeys(unpriced)
        if cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + cost_usd

    def finished(self, reason: str) -> SessionFinished:
        """Make the last event of the session."""
        return SessionFinished(
            reason=reason,
            queries=self.queries,
            tool_calls=self.tool_calls,
            artifacts=self.artifacts,
            cost_usd=None if self.unpriced else self.cost_usd,
            unpriced=list(self.unpriced),
            duration_ms=self.earlier_ms + (time.monotonic() - self._started) * 1000,
        )


def quantile(values: Iterable[float], part: float) -> float:
    """The smallest of `values` that at least `part` (0 to 1) of them do not exceed: the nearest rank.

    It is always one of the values, never something between two; 0.0 when there are none.
    """
    ordered = sorted(values)
    rank = max(1, math.ceil(round(part * len(ordered), 9)))
    return ordered[min(rank, len(ordered)) - 1] if ordered else 0.0


class RunMetrics:
    """Counts the runs of one observer; times are in milliseconds, over the last `KEPT_TIMES` runs.

    `runs` is the sum of `saved`, `skipped` and `failed`. A run that was cancelled before it started has no time.
    """

    __slots__ = ("_quantiles", "_times", "failed", "items", "runs", "saved", "skipped")

    def __init__(self) -> None:
        self.runs = 0
        self.saved = 0
        self.skipped = 0
        self.failed = 0
        self.items = 0
        self._times: deque[float] = deque(maxlen=KEPT_TIMES)
        # A table requests them each time it is drawn, far more often than runs end.
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
