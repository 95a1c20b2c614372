"""The counts of a session that runs, which its last event states."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from ua_tui.core.events.types import ArtifactSaved, Event, SessionFinished, ToolCallStarted


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
