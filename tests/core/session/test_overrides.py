from __future__ import annotations

from ua_tui.core.events.types import BudgetRaised, Event, ModelChosen, SessionStarted
from ua_tui.core.session.resume import Overrides, ResumedSettings
from ua_tui.core.settings.model import Settings

OPUS = ModelChosen(model="opus", fallback_model="haiku", effort="low")
HALF = BudgetRaised(spent_usd=0.1, limit_usd=0.5)


def overrides(*events: Event) -> Overrides:
    found = Overrides()
    for event in events:
        found.handle_event(event)
    return found


def terms(resumed: ResumedSettings) -> tuple[str | None, str | None, str | None, float | None]:
    settings = resumed.settings
    return settings.model, settings.fallback_model, settings.effort, settings.max_cost_usd


def test_what_was_chosen_last_holds_also_that_of_the_agent_and_nothing_else_changes() -> None:
    older = ModelChosen(model="sonnet", effort="max")
    resumed = overrides(older, OPUS, HALF).apply(Settings(model="fable", max_turns=3), ())
    assert terms(resumed) == ("opus", "haiku", "low", 0.5)
    assert (resumed.settings.max_turns, resumed.overruled) == (3, {})
    assert overrides().apply(Settings(model="fable"), ()) == ResumedSettings(Settings(model="fable"))
    resumed = overrides(OPUS, ModelChosen()).apply(Settings(model="fable", effort="max"), ())
    assert terms(resumed) == (None, None, None, None)
    again = SessionStarted(
        session_id="s", workspace="/w", cwd="/", version="1", model="sonnet", overruled={"model": "opus"}
    )
    assert terms(overrides(OPUS, HALF, again).apply(Settings(), ())) == ("sonnet", "haiku", "low", 0.5)


def test_what_is_named_for_this_run_wins_alone() -> None:
    for named, settings, overruled in (
        ({"model"}, Settings(model="sonnet"), {"model": "opus"}),
        ({"effort"}, Settings(effort="max"), {"effort": "low"}),
        ({"max_cost_usd"}, Settings(max_cost_usd=2.0), {"max_cost_usd": 0.5}),
        ({"max_cost_usd"}, Settings(), {"max_cost_usd": 0.5}),
        ({"model"}, Settings(model="opus"), {}),
    ):  # fmt: skip
        resumed = overrides(OPUS, HALF).apply(settings, named)
        assert resumed.overruled == overruled
        chosen = {"model": "opus", "fallback_model": "haiku", "effort": "low", "max_cost_usd": 0.5}
        expected = chosen | {name: getattr(settings, name) for name in named}
        assert terms(resumed) == tuple(expected.values())


def test_an_effort_that_is_not_known_any_more_gives_way() -> None:
    resumed = overrides(ModelChosen(effort="sideways")).apply(Settings(model="fable"), ())
    assert resumed.overruled == {"effort": "sideways"}
    assert resumed.settings.effort is None


def test_the_agent_is_never_given_a_model_to_fall_back_on_from_itself() -> None:
    resumed = overrides(OPUS).apply(Settings(model="haiku"), {"model"})
    assert terms(resumed) == ("haiku", None, "low", None)
    assert resumed.overruled == {"model": "opus", "fallback_model": "haiku"}
