"""What a session counts while it runs, and tells of at its end."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from core.events.types import (
    ArtifactSaved,
    Event,
    MessageFinished,
    QueryFinished,
    SessionFinished,
    TokensSpent,
    ToolCallStarted,
    Usage,
)

__all__ = ["Tally", "TokenCount"]


@dataclass(slots=True)
class TokenCount:
    """Counts the tokens of a session, sub-agents included: the same for one that lives, goes on, or is read again.

    `done` are those of queries that ended. A query counts with what was told of its messages while it ran, or with
    what its end tells when that is more, as in journals that have nothing of its sub-agents.
    """

    done: int = 0
    _spent: int = 0
    _messages: int = 0

    @property
    def total(self) -> int:
        """All of them, those of a query that runs or was cut off included."""
        return self.done + max(self._spent, self._messages)

    def take(self, event: Event) -> None:
        """Take up one event."""
        match event:
            case TokensSpent():
                self._spent += event.usage.total
            case MessageFinished(usage=Usage() as usage):
                self._messages += usage.total
            case QueryFinished():
                told = event.usage.total if event.usage is not None else 0
                self.done += max(self._spent, self._messages, told)
                self._spent = self._messages = 0
            case _:
                pass


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
