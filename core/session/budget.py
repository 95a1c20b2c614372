"""The spending limit of a session, which stops it before more is spent."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import msgspec

from ua_tui.core.errors import SettingsError
from ua_tui.core.events.types import (
    BudgetRaised,
    BudgetReached,
    ConversationCleared,
    Event,
    MessageFinished,
    OpinionGiven,
    QueryFinished,
    TokensSpent,
)
from ua_tui.core.view.costs import Costs

WARN_AT = 0.8
"""The share of the limit at which a person is warned."""

_RANK = {"none": 0, "warning": 1, "spent": 2}


class Budget(msgspec.Struct, eq=False):
    """Watches what a session costs; a subscriber of the bus, after the one that adds up `costs`.

    The warning includes the estimated cost of the running query. That the limit is reached is reported only at the end
    of a query, when the agent has reported what it cost. The agent itself stops a running query between its messages,
    but counts the spending of its sub-agents late, begins to count again when its context is cleared, and has no limit
    if it does not know the price of every model; in these cases the query is stopped from here as soon as the estimated
    cost reaches the limit, unless the message that reached it was the last one.

    Args:
        limit_usd: the spending limit in US dollars; None for no limit.
        costs: returns what the session has cost so far.
        publish: publishes `budget_reached` and `budget_raised`.
        stop: stops the running query; called at most once per query.
        agent_stops: whether the agent stops itself at the limit.
        stopped_query: whether the query that ended last was stopped at the limit.
        ends_at_limit: whether the query that is about to end was stopped at the limit.
    """

    limit_usd: float | None
    costs: Callable[[], Costs]
    publish: Callable[[Event], object]
    stop: Callable[[], object]
    agent_stops: Callable[[], bool]
    stopped_query: bool = False
    _calls_tools: bool = False
    _stopped: bool = False
    ends_at_limit: bool = False
    _is_cleared: bool = False
    _reported: Literal["none", "warning", "spent"] = "none"

    @property
    def left_usd(self) -> float | None:
        """What further queries may cost, at least 0; None for no limit."""
        return None if self.limit_usd is None else max(0.0, self.limit_usd - self._total_usd)

    @property
    def is_spent(self) -> bool:
        """Whether the limit is reached, so that no further query may begin."""
        return self.limit_usd is not None and self._total_usd >= self.limit_usd

    def handle_event(self, event: Event) -> None:
        """Count the cost that an event reports, and warn when it is time."""
        match event:
            case MessageFinished(parent_tool_use_id=None, stop_reason=reason):
                self._calls_tools = reason == "tool_use"
            case TokensSpent(cost_usd=float(), parent_tool_use_id=parent):
                uncounted = self._is_cleared or (self._calls_tools and not self.agent_stops())
                is_over = self.limit_usd is not None and self._total_usd + self._running >= self.limit_usd
                if (parent is not None or uncounted) and is_over and not self._stopped:
                    self._stopped = True
                    self.stop()
                if not self._stopped:
                    self.check()
            case OpinionGiven():
                self.check()
            case QueryFinished():
                self.check()
                self.stopped_query = self._stopped or self.ends_at_limit
                self._stopped = self.ends_at_limit = False
            case ConversationCleared():
                self._is_cleared = True

    def report_refusal(self) -> None:
        """Report that a waiting query may not begin."""
        self._report("spent", refused=True)

    def raise_to(self, limit_usd: float) -> None:
        """Raise the spending limit.

        Raises:
            SettingsError: it is not an amount above what the session has cost already.
        """
        if not math.isfinite(limit_usd) or limit_usd <= self._total_usd:
            raise SettingsError(f"the limit must be above ${self._total_usd:.2f}, which is already spent")
        self.limit_usd = limit_usd
        self._reported = "none"
        self.publish(BudgetRaised(spent_usd=self._total_usd, limit_usd=limit_usd))
        self.check()

    @property
    def _total_usd(self) -> float:
        return self.costs().spent or 0.0

    @property
    def _running(self) -> float:
        return sum(self.costs().running.values())

    def check(self) -> None:
        """Report that a threshold is reached, unless that was reported before."""
        if self.limit_usd is None:
            return
        if self.is_spent:
            self._report("spent")
        elif self._total_usd + self._running >= WARN_AT * self.limit_usd:
            self._report("warning")

    def _report(self, level: Literal["warning", "spent"], *, refused: bool = False) -> None:
        if self.limit_usd is None or (not refused and _RANK[level] <= _RANK[self._reported]):
            return
        self._reported = level
        running = self._running if level == "warning" else 0.0
        self.publish(
            BudgetReached(
                level=level,
                spent_usd=self._total_usd + running,
                limit_usd=self.limit_usd,
                refused=refused,
                stopped=self.ends_at_limit and not refused,
            )
        )
