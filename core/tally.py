"""What a session counts while it runs, and tells of at its end."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from core.events import ArtifactSaved, Event, SessionFinished, ToolCallStarted

__all__ = ["Tally"]


@dataclass
class Tally:
    """The counts of one session; `cost_usd` is None as long as no query told of its cost.

    Of a session that goes on, `earlier_ms` is how long it took before, in milliseconds.
    """

    queries: int = 0
    tool_calls: int = 0
    artifacts: int = 0
    cost_usd: float | None = None
    earlier_ms: float = 0.0
    _started: float = field(default_factory=time.monotonic)

    def count(self, event: Event) -> None:
        """Count what an event tells of."""
        match event:
            case ToolCallStarted():
                self.tool_calls += 1
            case ArtifactSaved():
                self.artifacts += 1
            case _:
                return

    def spend(self, cost_usd: float | None) -> None:
        """Add what a query cost, when it is known."""
        if cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + cost_usd

    def finished(self, reason: str) -> SessionFinished:
        """The end of the session, as its last event tells it."""
        return SessionFinished(
            reason=reason,
            queries=self.queries,
            tool_calls=self.tool_calls,
            artifacts=self.artifacts,
            cost_usd=self.cost_usd,
            duration_ms=self.earlier_ms + (time.monotonic() - self._started) * 1000,
        )
