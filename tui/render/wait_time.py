"""How long something waited for the person, of the time that it took."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LEAST", "Wait"]

LEAST = 0.1
"""Seconds; a shorter wait is that of no person."""


@dataclass(slots=True)
class Wait:
    """Adds up the time in which at least one question stood; times in seconds of whatever clock."""

    seconds: float = 0.0
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

    def of(self, took: float) -> float:
        """How much of a time was waited; 0 for what nobody notices."""
        waited = min(self.seconds, took)
        return waited if waited >= LEAST else 0.0
