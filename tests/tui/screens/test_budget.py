"""What the session may cost, on the screen: told in time, asked about at the end, raised in place."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static

from core.errors import SettingsError
from core.events.types import BudgetReached
from tests.tui.fakes import FakeSession, make_app, make_session
from tests.tui.files_host import screen_text, until
from tests.tui.screens.test_dialogs import Stage
from tui.app.app import UaTuiApp
from tui.screens.session.budget import BudgetScreen, amount_of

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


@pytest.mark.parametrize("key", ["escape", "enter", "q"])
async def test_leaving_the_limit_as_it_is_takes_one_key(key: str) -> None:
    app = Stage()
    async with app.run_test() as pilot:
        await asked(app, pilot)
        assert "2 queries" in words(app)
        await pilot.press(key)
        await pilot.pause()
    assert app.answers == [None]


async def test_a_higher_limit_is_written_and_taken() -> None:
    app = Stage()
    async with app.run_test() as pilot:
        screen = await asked(app, pilot)
        await pilot.press("r")
        await pilot.pause()
        assert screen.query_one(Input).value == "2.04"
        await pilot.press("ctrl+u", *"$2.50", "enter")
        await pilot.pause()
    assert app.answers == [2.5]


async def test_a_limit_is_not_taken_while_the_price_of_a_model_is_unknown() -> None:
    app = Stage()
    async with app.run_test() as pilot:
        await app.ask(pilot, BudgetScreen(0.0, None, unpriced=("qwen3:14b",)))
        assert "unknown" in words(app)
        await pilot.press("r", *"2", "enter")
        await pilot.pause()
        assert app.answers == []
        assert "A limit needs the price of qwen3:14b" in words(app)


async def test_what_is_no_higher_limit_is_not_taken_and_reported() -> None:
    app = Stage()
    async with app.run_test() as pilot:
        await asked(app, pilot)
        await pilot.press("r", "ctrl+u", *"1.02", "enter")
        await pilot.pause()
        assert app.answers == []
        assert "is already spent" in words(app)
        await pilot.press("ctrl+u", *"much", "enter")
        await pilot.pause()
        assert app.answers == []
        assert "Enter an amount, e.g." in words(app)
        await pilot.press("ctrl+u", "0", "enter")
        await pilot.pause()
        assert app.answers == []
        assert "Enter an amount above 0" in words(app)
        # The first Esc leaves the line, the second the limit.
        await pilot.press("escape")
        await pilot.pause()
        assert app.answers == []
        assert app.screen.query_one("#leave").has_focus
        await pilot.press("escape")
        await pilot.pause()
    assert app.answers == [None]


async def test_the_mouse_answers_too() -> None:
    app = Stage()
    async with app.run_test(size=(100, 30)) as pilot:
        await asked(app, pilot, limit=None)
        assert "No spending limit" in words(app)
        await pilot.click("#raise")
        await pilot.pause()
        await pilot.click("#submit")
        await pilot.pause()
    assert app.answers == [2.04]


@pytest.mark.parametrize(
    ("text", "amount"),
    [("2.50", 2.5), ("$3", 3.0), (" 1,000 ", 1000.0), ("", None), ("-1", None), ("nan", None), ("inf", None)],
)
def test_an_amount_is_read_as_it_is_written(text: str, amount: float | None) -> None:
    assert amount_of(text) == amount


async def settled(tmp_path: Path, pilot: Pilot[str]) -> None:
    await until(lambda: pilot.app.state == "idle")  # type: ignore[attr-defined]  # of UaTuiApp
    await pilot.pause()


def host(tmp_path: Path) -> tuple[UaTuiApp, FakeSession]:
    session = make_session(tmp_path)
    return make_app(tmp_path, session, max_cost_usd=1.0), session


async def test_a_warning_is_reported_once_and_interrupts_nothing(tmp_path: Path) -> None:
    app, session = host(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(tmp_path, pilot)
        session.bus.publish(NEAR)
        app.pump.flush()
        await pilot.pause()
        assert "$0.85 of $1.00 is spent" in app.notice.text
        assert "⚠" in str(app.status.render())
        assert len(app.screen_stack) == 1


async def test_the_end_of_the_budget_asks_and_a_higher_one_is_handed_on(tmp_path: Path) -> None:
    app, session = host(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(tmp_path, pilot)
        session.bus.publish(NEAR)
        session.bus.publish(SPENT)
        session.bus.publish(SPENT)
        app.pump.flush()
        await until(lambda: isinstance(app.screen, BudgetScreen))
        screen = app.screen
        await until(lambda: not screen.has_class("-quiet"))
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


async def test_a_limit_that_was_overtaken_meanwhile_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, session = host(tmp_path)

    def refuse(_limit: float) -> None:
        raise SettingsError("the limit must be above $1.50, which the session has cost")

    async with app.run_test(size=(120, 40)) as pilot:
        await settled(tmp_path, pilot)
        monkeypatch.setattr(session, "raise_budget", refuse)
        app.budget.open()
        await until(lambda: isinstance(app.screen, BudgetScreen))
        screen = app.screen
        await until(lambda: not screen.has_class("-quiet"))
        await pilot.press("r", "ctrl+u", "5", "enter")
        await until(lambda: any("above $1.50" in note.message for note in app._notifications))


async def test_a_click_on_the_cost_opens_the_budget(tmp_path: Path) -> None:
    app, _ = host(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(tmp_path, pilot)
        at = str(app.status.render()).index("$0.00/")
        await pilot.click("StatusLine", offset=(at + 2, 0))
        assert isinstance(app.screen, BudgetScreen)


async def test_a_budget_that_the_person_opens_takes_the_first_key_and_the_prompt_none(tmp_path: Path) -> None:
    app, session = host(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(tmp_path, pilot)
        await pilot.press(*"/budget", "enter")
        await until(lambda: isinstance(app.screen, BudgetScreen))
        assert "answers accepted in a moment" not in screen_text(app)
        await pilot.press("r", "5", "enter")
        await until(lambda: session.limits == [5.0])
        assert app.frame.prompt.text == ""
        # The line in the conversation says it.
        await until(lambda: "spending limit is now $5.00" in screen_text(app))
        await pilot.pause()
        assert not app._notifications


async def test_a_limit_is_reported_by_a_toast_where_the_conversation_is_out_of_sight(tmp_path: Path) -> None:
    app, _ = host(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(tmp_path, pilot)
        app.frame.show("trace")
        await until(lambda: not app.frame.shows("conversation"))
        app.budget.raise_limit(6.0)
        await until(lambda: any("Spending limit: $6.00" in note.message for note in app._notifications))


async def test_the_end_of_the_budget_waits_for_whoever_is_typing(tmp_path: Path) -> None:
    app, session = host(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(tmp_path, pilot)
        await pilot.press(*"a wor")
        session.bus.publish(SPENT)
        app.pump.flush()
        await until(lambda: isinstance(app.screen, BudgetScreen))
        await pilot.press("r")
        await until(lambda: app.frame.prompt.text == "a worr")
        assert "typing goes to the prompt" in screen_text(app)
        assert not app.screen.query_one(Input).has_focus
