"""What the session may cost, on the screen: told in time, asked about at the end, raised in place."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Input, Static

from tests.tui.app_host import notices, opened, shown
from tests.tui.files_host import screen_text
from tests.tui.fixture_types import Patch
from tests.tui.screens.test_dialogs import Stage
from tests.waiting import until
from ua_tui.core.errors import SettingsError
from ua_tui.core.events.types import BudgetReached
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.screens.session.budget import BudgetScreen, amount_of

NEAR = BudgetReached(level="warning", spent_usd=0.85, limit_usd=1.0)
SPENT = BudgetReached(level="spent", spent_usd=1.02, limit_usd=1.0)


def words(app: Stage) -> str:
    return "\n".join(str(each.content) for each in app.screen.query(Static).results(Static))


async def asked(
    app: Stage, pilot: Pilot[None], spent: float = 1.02, limit: float | None = 1.0
) -> BudgetScreen:
    screen = BudgetScreen(spent, limit, waiting=2)
    await app.ask(pilot, screen)
    return screen


async def test_a_higher_limit_is_entered_and_one_that_is_not_is_refused_with_a_reason() -> None:
    app = Stage()
    async with app.run_test(size=(100, 30)) as pilot:
        screen = await asked(app, pilot)
        assert "2 queries" in words(app)
        await pilot.press("r")
        await pilot.pause()
        assert screen.query_one(Input).value == "2.04"
        for typed, reason in (
            ("1.02", "is already spent"),
            ("much", "Enter an amount, e.g."),
            ("0", "Enter an amount above 0"),
        ):
            await pilot.press("ctrl+u", *typed, "enter")
            await pilot.pause()
            assert app.answers == []
            assert reason in words(app)
        # The first Esc leaves the line, the second the limit.
        await pilot.press("escape")
        await pilot.pause()
        assert app.answers == []
        assert app.screen.query_one("#leave").has_focus
        await pilot.press("r", "ctrl+u", *"$2.50", "enter")
        await pilot.pause()
        assert app.answers.pop() == 2.5
        # The mouse answers, too.
        await asked(app, pilot, limit=None)
        assert "No spending limit" in words(app)
        await pilot.click("#raise")
        await pilot.pause()
        await pilot.click("#submit")
        await pilot.pause()
        assert app.answers.pop() == 2.04
        # No limit is accepted while the price of a model is unknown.
        await app.ask(pilot, BudgetScreen(0.0, None, unpriced=("qwen3:14b",)))
        assert "unknown" in words(app)
        await pilot.press("r", *"2", "enter")
        await pilot.pause()
        assert app.answers == []
        assert "A limit needs the price of qwen3:14b" in words(app)


def test_an_amount_is_read_as_it_is_written() -> None:
    wanted = {"2.50": 2.5, "$3": 3.0, " 1,000 ": 1000.0, "": None, "-1": None, "nan": None, "inf": None}
    assert {text: amount_of(text) for text in wanted} == wanted


async def budget_shown(app: UaTuiApp) -> None:
    await until(lambda: isinstance(app.screen, BudgetScreen))
    await until(lambda: not app.screen.has_class("-quiet"))


async def test_a_warning_is_reported_and_the_end_asks_for_a_higher_limit(tmp_path: Path) -> None:
    async with opened(tmp_path, (120, 40), max_cost_usd=1.0) as (session, app, pilot):
        session.bus.publish(NEAR)
        app.pump.flush()
        await pilot.pause()
        assert "$0.85 of $1.00 is spent" in app.notice.text
        assert "⚠" in str(app.status.render())
        assert len(app.screen_stack) == 1
        session.bus.publish(SPENT)
        session.bus.publish(SPENT)
        app.pump.flush()
        await budget_shown(app)
        assert len(app.screen_stack) == 2
        assert not app.notice.display
        await pilot.press("r", "ctrl+u", "5", "enter")
        await until(lambda: len(app.screen_stack) == 1)
        assert session.limits == [5.0]
        assert app.settings.max_cost_usd == 5.0
        app.pump.flush()
        await pilot.pause()
        assert app.notice.text == ""
        assert "/$5.00" in str(app.status.render())
        assert "✗" not in str(app.status.render())


async def test_a_person_opens_the_budget_and_each_outcome_is_reported(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    def refuse(_limit: float) -> None:
        raise SettingsError("the limit must be above $6.00, which the session has cost")

    async with opened(tmp_path, (120, 40), max_cost_usd=1.0) as (session, app, pilot):
        await pilot.press(*"/budget", "enter")
        await until(lambda: isinstance(app.screen, BudgetScreen))
        # The first key is for the dialog, and none for the prompt.
        assert "answers accepted in a moment" not in screen_text(app)
        await pilot.press("r", "5", "enter")
        await until(lambda: session.limits == [5.0])
        assert app.frame.prompt.text == ""
        await until(lambda: "spending limit is now $5.00" in screen_text(app))
        await pilot.pause()
        assert not notices(app), "the line in the conversation is enough"
        await pilot.resize_terminal(80, 24)
        app.frame.show("trace")
        await until(lambda: not app.frame.shows("conversation"))
        app.budget.raise_limit(6.0)
        await until(lambda: "Spending limit: $6.00" in notices(app))
        # Until then the line is that of the limit before.
        await shown(app, pilot)
        await until(lambda: "$0.00/" in str(app.status.render()))
        monkeypatch.setattr(session, "raise_budget", refuse)
        await pilot.click("StatusLine", offset=(str(app.status.render()).index("$0.00/") + 2, 0))
        await budget_shown(app)
        await pilot.press("r", "ctrl+u", "7", "enter")
        await until(lambda: "above $6.00" in notices(app))
