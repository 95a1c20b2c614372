from __future__ import annotations

import math

import pytest

from tests.core.cases import cases_of
from ua_tui.core.bus import Bus
from ua_tui.core.errors import SettingsError
from ua_tui.core.events import types as ev
from ua_tui.core.session.budget import Budget
from ua_tui.core.view.session import SessionView

CASES = cases_of(__file__)


class Account:
    """A session's money: queries that run are estimated, and end with what they really cost."""

    def __init__(self, limit: float | None) -> None:
        self.bus = Bus()
        self.view = SessionView()
        self.stops = 0
        self.agent_stops = True
        self.budget = Budget(
            limit, lambda: self.view.costs, self.bus.publish, self._stop, lambda: self.agent_stops
        )
        self.published: list[ev.BudgetReached | ev.BudgetRaised] = []
        self.bus.subscribe(self.view.add)
        self.bus.subscribe(self.budget.handle_event)
        self.bus.subscribe(self._note)

    def _note(self, event: ev.Event) -> None:
        if isinstance(event, ev.BudgetReached | ev.BudgetRaised):
            self.published.append(event)

    def _stop(self) -> None:
        self.stops += 1

    def request(self, cost: float | None, call: str | None = None) -> None:
        self.bus.publish(
            ev.TokensSpent(
                query_id="q", message_id="m", usage=ev.Usage(), cost_usd=cost, parent_tool_use_id=call
            )
        )

    def finish(self, cost: float | None) -> None:
        self.bus.publish(ev.QueryFinished(query_id="q", status="success", cost_usd=cost))

    @property
    def levels(self) -> list[str]:
        return [event.level for event in self.published if isinstance(event, ev.BudgetReached)]


def test_a_limit_that_is_spent_already_is_refused() -> None:
    for limit in (1.5, 0.2, -1.0, math.nan, math.inf):
        account = Account(1.0)
        account.finish(1.5)
        with pytest.raises(SettingsError, match=r"above \$1\.50"):
            account.budget.raise_to(limit)
        assert account.budget.limit_usd == 1.0


def test_an_agent_that_has_no_limit_of_its_own_is_stopped_unless_it_is_done() -> None:
    for reason, stops in (("tool_use", 1), ("end_turn", 0)):
        account = Account(1.0)
        account.agent_stops = False
        account.bus.publish(ev.MessageFinished(query_id="q", message_id="m", text="", stop_reason=reason))
        account.bus.publish(ev.TokensSpent(query_id="q", message_id="m", usage=ev.Usage(), cost_usd=1.5))
        assert account.stops == stops


def test_what_is_spent_warns_ends_the_budget_and_stops_queries() -> None:
    """Each step goes on from the ones before it; then the levels, the stops and what is left are compared."""
    for limit, *steps in CASES["accounts"]:
        account = Account(limit)
        for action, *given, levels, stops, left in steps:
            match action:
                case "request":
                    account.request(*given)
                case "finish":
                    account.finish(*given)
                case "raise":
                    account.budget.raise_to(*given)
                case "clear":
                    account.bus.publish(ev.ConversationCleared(query_id="q", provider_session_id="c"))
                case _:
                    account.budget.report_refusal()
            found = (account.levels, account.stops, account.budget.left_usd)
            assert found == (levels, stops, left if left is None else pytest.approx(left)), (
                limit,
                steps,
                action,
            )
            assert account.budget.is_spent is (left == 0)


def test_events_say_what_was_spent_refused_and_stopped() -> None:
    account = Account(1.0)
    account.request(0.85)
    account.finish(1.5)
    account.budget.report_refusal()
    account.budget.report_refusal()
    account.budget.raise_to(3.0)
    *reached, raised = account.published
    assert isinstance(raised, ev.BudgetRaised)
    assert (raised.spent_usd, raised.limit_usd) == (1.5, 3.0)
    figures = [
        (each.spent_usd, each.limit_usd, each.refused)
        for each in reached
        if isinstance(each, ev.BudgetReached)
    ]
    assert figures == [(0.85, 1.0, False), (1.5, 1.0, False), (1.5, 1.0, True), (1.5, 1.0, True)]
    for is_noted in (True, False):
        # A query that ended before it could be stopped leaves the report to the budget.
        account = Account(1.0)
        account.request(1.2, "call")
        if is_noted:
            account.budget.ends_at_limit = True
        account.finish(1.2)
        ends = [
            (each.level, each.stopped) for each in account.published if isinstance(each, ev.BudgetReached)
        ]
        assert ends == [("spent", is_noted)]
