"""How long something waited for the user."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["MIN_WAIT", "Wait"]

MIN_WAIT = 0.1
"""Seconds; a shorter wait is not that of a user."""


@dataclass(slots=True)
class Wait:
    """Adds up the time in which at least one question was open; times are in seconds of any clock.

    `spans` are the beginnings and ends of these times.
    """

    seconds: float = 0.0
    spans: list[tuple[float, float]] = field(default_factory=list)
    _questions: int = 0
    _since: float = 0.0

    def begin(self, at: float) -> None:
        """A question was asked."""
        if not self._questions:
            self._since = at
        self._questions += 1

    def end(self, at: float) -> None:
        """A question was answered."""
        self._questions = max(0, self._questions - 1)
        if not self._questions:
            self.seconds += max(0.0, at - self._since)
            self.spans.append((self._since, at))

    @property
    def since(self) -> float | None:
        """When the wait that is not over began; None if there is none."""
        return self._since if self._questions else None

    def of(self, took: float) -> float:
        """Return the part of a duration spent waiting; 0 if that is too short to be noticed."""
        waited = min(self.seconds, took)
        return waited if waited >= MIN_WAIT else 0.0
