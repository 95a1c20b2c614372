"""What a session may cost: told when most of it is spent, and no further query is begun once all of it is."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

from core.errors import SettingsError
from core.events import BudgetRaised, BudgetReached, Event, QueryFinished, TokensSpent

__all__ = ["WARN_AT", "Budget"]

WARN_AT = 0.8
"""The share of the limit from which on a person is warned."""

_RANK = {"none": 0, "warning": 1, "spent": 2}


class Budget:
    """Watches what a session costs; a subscriber of the bus.

    The warning counts what the running query is estimated to cost, too. That all is spent is told only at the end of a
    query, when the agent has told what it cost: while one runs the agent stops it.

    Args:
        limit_usd: what the session may cost in US dollars; None for no limit.
        spent: tells what all queries that are over have cost; None when it is not known.
        publish: takes `budget_reached` and `budget_raised`.
    """

    def __init__(
        self,
        limit_usd: float | None,
        spent: Callable[[], float | None],
        publish: Callable[[Event], object],
    ) -> None:
        self._limit = limit_usd
        self._spent = spent
        self._publish = publish
        self._running = 0.0
        self._untold = 0.0
        self._told: Literal["none", "warning", "spent"] = "none"

    @property
    def limit_usd(self) -> float | None:
        """What the session may cost; None for no limit."""
        return self._limit

    @property
    def left_usd(self) -> float | None:
        """What the queries to come may cost, at least 0; None for no limit."""
        return None if self._limit is None else max(0.0, self._limit - self._so_far)

    @property
    def is_spent(self) -> bool:
        """Whether no further query may begin."""
        return self._limit is not None and self._so_far >= self._limit

    def take(self, event: Event) -> None:
        """Count what an event tells of, and warn when it is time."""
        match event:
            case TokensSpent(cost_usd=float(cost)):
                self._running += cost
                self._look()
            case QueryFinished(cost_usd=cost):
                # A query that ended without a word of its cost, as when the agent died, did cost something.
                self._untold += self._running if cost is None else 0.0
                self._running = 0.0
                self._look()
            case _:
                return

    def refuse(self) -> None:
        """Tell that a query waits which may not begin."""
        self._tell("spent", refused=True)

    def raise_to(self, limit_usd: float) -> None:
        """Let the session cost more.

        Raises:
            SettingsError: it is no amount, or the session has cost that already.
        """
        if not math.isfinite(limit_usd) or limit_usd <= self._so_far:
            raise SettingsError(f"the limit must be above ${self._so_far:.2f}, which the session has cost")
        self._limit = limit_usd
        self._told = "none"
        self._publish(BudgetRaised(spent_usd=self._so_far, limit_usd=limit_usd))
        self._look()

    @property
    def _so_far(self) -> float:
        return (self._spent() or 0.0) + self._untold

    def _look(self) -> None:
        if self._limit is None:
            return
        if self.is_spent:
            self._tell("spent")
        elif self._so_far + self._running >= WARN_AT * self._limit:
            self._tell("warning")

    def _tell(self, level: Literal["warning", "spent"], *, refused: bool = False) -> None:
        if self._limit is None or (not refused and _RANK[level] <= _RANK[self._told]):
            return
        self._told = level
        running = self._running if level == "warning" else 0.0
        self._publish(
            BudgetReached(
                level=level, spent_usd=self._so_far + running, limit_usd=self._limit, refused=refused
            )
        )
