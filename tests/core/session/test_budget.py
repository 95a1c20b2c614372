from __future__ import annotations

import math

import pytest

from core.bus import Bus
from core.errors import SettingsError
from core.events.types import (
    BudgetRaised,
    BudgetReached,
    ConversationCleared,
    Event,
    MessageFinished,
    QueryFinished,
    TokensSpent,
    Usage,
)
from core.session.budget import Budget


class Account:
    """A session's money: queries that run are estimated, and end with what they really cost."""

    def __init__(self, limit: float | None) -> None:
        self.bus = Bus()
        self.spent: float | None = None
        self.stops = 0
        self.budget = Budget(
            limit, lambda: self.spent, self.bus.publish, self._stop, lambda model: model == "own-model"
        )
        self.published: list[BudgetReached | BudgetRaised] = []
        self.bus.subscribe(self.budget.handle_event)
        self.bus.subscribe(self._note)

    def _note(self, event: Event) -> None:
        if isinstance(event, BudgetReached | BudgetRaised):
            self.published.append(event)

    def _stop(self) -> None:
        self.stops += 1

    def request(self, cost: float | None, call: str | None = None) -> None:
        self.bus.publish(
            TokensSpent(query_id="q", message_id="m", usage=Usage(), cost_usd=cost, parent_tool_use_id=call)
        )

    def finish(self, cost: float | None) -> None:
        if cost is not None:
            self.spent = (self.spent or 0.0) + cost
        self.bus.publish(QueryFinished(query_id="q", status="success", cost_usd=cost))

    @property
    def levels(self) -> list[str]:
        return [event.level for event in self.published if isinstance(event, BudgetReached)]


def test_the_warning_comes_once_while_the_query_still_runs() -> None:
    account = Account(1.0)
    account.request(0.5)
    account.request(None)
    assert account.levels == []
    account.request(0.35)
    account.request(0.05)
    assert account.levels == ["warning"]
    (warning,) = account.published
    assert isinstance(warning, BudgetReached)
    assert (warning.spent_usd, warning.limit_usd, warning.refused) == (0.85, 1.0, False)


def test_what_was_estimated_is_forgotten_for_what_it_cost() -> None:
    account = Account(1.0)
    account.request(0.7)
    account.finish(0.4)
    account.request(0.3)
    assert account.levels == []
    assert account.budget.left_usd == pytest.approx(0.6)
    account.finish(0.41)
    assert account.levels == ["warning"]


def test_an_estimate_alone_does_not_end_the_budget() -> None:
    account = Account(1.0)
    account.request(3.0)
    assert account.levels == ["warning"]
    assert not account.budget.is_spent
    account.finish(1.0)
    assert account.levels == ["warning", "spent"]
    assert account.budget.is_spent
    assert account.budget.left_usd == 0.0


def test_a_query_that_may_not_begin_is_reported_each_time() -> None:
    account = Account(1.0)
    account.finish(1.5)
    account.budget.report_refusal()
    account.budget.report_refusal()
    assert [event.refused for event in account.published if isinstance(event, BudgetReached)] == [
        False,
        True,
        True,
    ]


def test_a_higher_limit_counts_from_the_beginning() -> None:
    account = Account(1.0)
    account.finish(1.5)
    account.budget.raise_to(3.0)
    assert not account.budget.is_spent
    assert account.budget.left_usd == 1.5
    assert account.published[-1] == BudgetRaised(
        seq=account.published[-1].seq, at=account.published[-1].at, spent_usd=1.5, limit_usd=3.0
    )
    account.finish(1.0)
    assert account.levels == ["spent", "warning"]


def test_a_limit_that_is_hardly_higher_warns_at_once() -> None:
    account = Account(1.0)
    account.finish(1.5)
    account.budget.raise_to(1.6)
    assert account.levels == ["spent", "warning"]


@pytest.mark.parametrize("limit", [1.5, 0.2, -1.0, math.nan, math.inf])
def test_a_limit_that_is_spent_already_is_refused(limit: float) -> None:
    account = Account(1.0)
    account.finish(1.5)
    with pytest.raises(SettingsError, match=r"above \$1\.50"):
        account.budget.raise_to(limit)
    assert account.budget.limit_usd == 1.0


def test_without_a_limit_nothing_is_reported() -> None:
    account = Account(None)
    account.request(1e6)
    account.finish(1e6)
    account.budget.report_refusal()
    assert account.published == []
    assert account.budget.left_usd is None
    account.budget.raise_to(2e6)
    assert account.budget.left_usd == 1e6


def test_a_query_that_ended_without_a_word_of_its_cost_counts_as_estimated() -> None:
    account = Account(1.0)
    account.request(0.7)
    account.finish(None)
    assert account.budget.left_usd == pytest.approx(0.3)
    account.request(0.2)
    assert account.levels == ["warning"]


def test_what_sub_agents_are_estimated_to_spend_stops_the_query_once() -> None:
    account = Account(1.0)
    account.request(0.5)
    account.request(0.2, "call")
    assert (account.stops, account.levels) == (0, [])
    account.request(0.3, "call")
    account.request(0.3, "other call")
    # The warning that the work is going to stop would come too late.
    assert (account.stops, account.levels) == (1, [])
    account.budget.note_stop()
    account.finish(1.1)
    assert [(each.level, each.stopped) for each in account.published if isinstance(each, BudgetReached)] == [
        ("spent", True)
    ]


def test_the_agents_own_messages_stop_nothing_as_it_looks_at_them_itself() -> None:
    account = Account(1.0)
    account.request(0.9, "call")
    account.request(0.3)
    assert (account.stops, account.levels) == (0, ["warning"])


@pytest.mark.parametrize(("reason", "stops"), [("tool_use", 1), ("end_turn", 0)])
def test_a_model_with_a_price_of_the_settings_is_stopped_unless_it_is_done(reason: str, stops: int) -> None:
    account = Account(1.0)
    account.bus.publish(MessageFinished(query_id="q", message_id="m", text="", stop_reason=reason))
    account.bus.publish(
        TokensSpent(query_id="q", message_id="m", usage=Usage(), cost_usd=1.5, model="own-model")
    )
    assert account.stops == stops


def test_an_agent_that_forgot_what_it_counted_is_stopped_from_here() -> None:
    account = Account(1.0)
    account.finish(0.5)
    account.bus.publish(ConversationCleared(query_id="q", provider_session_id="c"))
    account.request(0.25)
    assert account.stops == 0
    account.request(0.25)
    account.request(0.25)
    assert account.stops == 1


def test_each_query_is_stopped_at_what_the_ones_before_left() -> None:
    account = Account(1.0)
    account.request(1.2, "call")
    account.finish(0.4)
    account.request(0.5, "call")
    assert account.stops == 1
    account.budget.raise_to(2.0)
    account.request(0.6, "call")
    assert account.stops == 1
    account.request(0.6, "call")
    assert account.stops == 2


def test_a_query_that_ended_before_it_could_be_stopped_leaves_the_report_to_the_budget() -> None:
    account = Account(1.0)
    account.request(1.2, "call")
    account.finish(1.2)
    assert [event.stopped for event in account.published if isinstance(event, BudgetReached)] == [False]
