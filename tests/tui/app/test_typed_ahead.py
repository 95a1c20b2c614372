"""What is typed into the prompt as a question comes up stays what was typed."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from textual import events
from textual.app import App
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.widgets import TextArea

from tests.tui.app_host import ASKED, answerable, ask, at_work, listen, opened, shown
from tests.waiting import until
from ua_tui.core.events.types import AuthRequired, BudgetReached, ErrorRaised, Event, PermissionAnswered
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.screens.application.error import ErrorScreen
from ua_tui.tui.screens.requests.permission import PermissionScreen
from ua_tui.tui.screens.requests.text_answer import TextAnswer
from ua_tui.tui.screens.session.budget import BudgetScreen
from ua_tui.tui.screens.session.confirm import QuitScreen
from ua_tui.tui.widgets.dialog import QUIET_SECONDS, TYPING_SECONDS, ActiveClock, Dialog

AUTH = AuthRequired(toolkit="gmail", url="https://connect.example/link/lk_1")
SPENT = BudgetReached(spent_usd=2.0, limit_usd=1.0, level="spent")
DIED = ErrorRaised(where="agent", message="the agent died")
NAMED = {"\x7f": "backspace", "\r": "enter", "\x1b": "escape"}
LATE = 60.0
"""Seconds: a long pause between two keys."""


@pytest.fixture(autouse=True)
def clock_of_dialogs_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dialog becomes neither quiet nor ready by itself, however long a busy machine takes for a step of a test."""
    monkeypatch.setattr(Dialog, "_awake", staticmethod(lambda: 10.0))
    # A key that opens a dialog may take long, too; the keys behind it wait.
    monkeypatch.setattr("ua_tui.tui.keys.ordering._CHECK_SECONDS", LATE)


def type_at_once(app: App[str], keys: str, late: float = 0.0) -> None:
    """Have all of the keys come in one read, at the same time."""
    time = events.Event().time + late
    for key in keys:
        event = events.Key(NAMED.get(key) or _character_to_key(key), key)
        event.time = time
        app.post_message(event)


def _holds(app: UaTuiApp, text: str) -> bool:
    """Whether this is the text of the prompt."""
    return app.frame.prompt.value == text


async def press(app: UaTuiApp, pilot: Pilot[str], *keys: str) -> None:
    """Press keys, and wait until they took effect: the pilot does not wait for a process that gets no processor."""
    await pilot.press(*keys)
    await pilot.pause()
    await until(lambda: not app.key_queue._waiting_for)
    await pilot.pause()


async def died(app: UaTuiApp) -> ErrorScreen:
    """Wait for the dialog that tells that the agent died."""
    await until(lambda: isinstance(app.screen, ErrorScreen) and app.screen.is_drawn)
    assert isinstance(app.screen, ErrorScreen)
    return app.screen


@pytest.mark.parametrize("question", [ASKED, AUTH, SPENT, DIED], ids=lambda event: type(event).__name__)
async def test_typing_continues_as_a_dialog_opens_by_itself(tmp_path: Path, question: Event) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        await press(app, pilot, *"and then ")
        if question is DIED:
            session.state = "failed"
        session.bus.publish(question)
        type_at_once(app, "add")
        await shown(app, pilot)
        await until(lambda: isinstance(app.screen, Dialog) and app.screen.is_drawn)
        type_at_once(app, " a day\x7f\x7f\x7fsad")
        app.post_message(events.Paste(" pasted"))
        type_at_once(app, "\r!")
        await until(lambda: app.frame.prompt.value.endswith("!"))
        assert app.frame.prompt.value == "and then add a sad pasted!"
        assert "typing goes to the prompt" in str(app.screen.query_one(".box").border_subtitle)
        assert (session.answers, session.outcomes, session.limits) == ([], [], [])
        assert session.restarts == 0
        assert session.waiting == [], "Enter sends nothing"
        assert isinstance(app.screen, Dialog)


async def test_a_program_that_stood_still_takes_no_answer_from_somebody_who_types(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        await ask(session, app, pilot)
        dialog = await answerable(app)
        now = 0.0
        awake = ActiveClock(lambda: now)
        dialog.__dict__["_awake"] = awake
        dialog._quiet_until = QUIET_SECONDS
        # Neither painted nor read anything for longer than the dialog is quiet.
        now += 2 * QUIET_SECONDS
        type_at_once(app, "ad")
        await until(lambda: _holds(app, "ad"))
        assert session.answers == []
        while awake() < dialog._quiet_until:
            now += 0.05
        type_at_once(app, "d")
        await until(lambda: session.answers)


async def test_somebody_who_paused_in_a_text_continues_it_as_a_dialog_opens(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        await press(app, pilot, *"and then ")
        app.typed_at = float("-inf")
        await ask(session, app, pilot)
        dialog = await answerable(app)
        # The first quiet time is over.
        assert dialog._quiet == TYPING_SECONDS
        dialog._quiet_until = dialog._awake() + TYPING_SECONDS - QUIET_SECONDS
        type_at_once(app, "add")
        await until(lambda: app.frame.prompt.value == "and then add")
        assert session.answers == []


async def test_the_last_keys_in_another_program_are_no_answer(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        app.app_suspend_signal.publish(app)
        await ask(session, app, pilot)
        dialog = await answerable(app)
        app.app_resume_signal.publish(app)
        type_at_once(app, "aa")
        await press(app, pilot)
        assert session.answers == []
        dialog._quiet_until = 0.0
        type_at_once(app, "a")
        await until(lambda: session.answers)


async def test_whoever_was_in_the_editor_types_on_in_the_arguments(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        await press(app, pilot, *"and then ")
        app.typed_at = float("-inf")
        await ask(session, app, pilot)
        dialog = await answerable(app)
        dialog._quiet_until = 0.0
        await press(app, pilot, "c")
        (field,) = [each for each in dialog.query(TextArea) if each.has_focus]
        before = field.text
        app.app_suspend_signal.publish(app)
        app.app_resume_signal.publish(app)
        await press(app, pilot, "x")
        assert field.text != before
        assert _holds(app, "and then ")


async def test_a_key_counts_as_typed_when_it_comes(tmp_path: Path) -> None:
    async with opened(tmp_path) as (_, app, pilot):
        before = app.typed_at
        app.key_queue.pause()
        type_at_once(app, "x")
        await pilot.pause()
        assert app.frame.prompt.value == ""
        assert app.typed_at > before
        await app.key_queue.resume()


def test_a_clock_counts_little_between_two_checks() -> None:
    now = 10.0
    awake = ActiveClock(lambda: now)
    now += 0.05
    assert awake() == pytest.approx(0.05)
    now += 60.0
    assert awake() == pytest.approx(0.15)


async def test_keys_that_command_do_nothing_until_the_question_can_be_read(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        await ask(session, app, pilot)
        dialog = await answerable(app)
        dialog._quiet_until = float("inf")
        # It says why its answers are dim.
        await until(lambda: "in a moment" in str(dialog.query_one(".box").border_subtitle))
        assert dialog.has_class("-quiet")
        await pilot.press("a")
        await until(lambda: app.frame.prompt.value == "a")
        await press(app, pilot, "escape", "tab", "f2")
        assert (session.interrupts, session.answers) == (0, [])
        assert isinstance(app.screen, PermissionScreen)
        listen(app)
        await until(lambda: not dialog.has_class("-quiet"))
        assert "in a moment" not in str(dialog.query_one(".box").border_subtitle)
        app.post_message(events.Paste("b"))
        await until(lambda: app.frame.prompt.value == "ab")
        assert session.answers == [], "a paste is never an answer"
        assert dialog.has_class("-quiet"), "the text may continue"
        listen(app)
        await pilot.press("a")
        await until(lambda: session.answers == [("r1", True, "once")] and len(app.screen_stack) == 1)
        assert app.frame.prompt.value == "ab"
        await pilot.press("ctrl+q")
        await until(lambda: isinstance(app.screen, QuitScreen) and app.screen.is_drawn)
        await press(app, pilot, "z")
        assert app.frame.prompt.value == "ab", "a dialog that the person opened takes its first keys"
        listen(app)
        await pilot.press("z")
        await until(lambda: "answer with" in str(app.screen.query_one(".box").border_subtitle))
        assert app.frame.prompt.value == "ab"
        assert isinstance(app.screen, QuitScreen)


async def test_somebody_who_begins_to_type_slowly_as_the_agent_dies_gives_no_answer(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        now = 0.0
        session.fail("the agent died")
        dialog = await died(app)
        dialog.__dict__["_awake"] = lambda: now
        dialog._quiet_until = QUIET_SECONDS
        for count, letter in enumerate("quit or restart", 1):
            # Slower than the quiet time of somebody who does not type.
            now += 0.1 if count == 1 else 2 * QUIET_SECONDS
            await pilot.press(letter)
            await until(partial(_holds, app, "quit or restart"[:count]))
        assert app.screen is dialog
        assert session.restarts == 0
        now += TYPING_SECONDS
        await pilot.press("r")
        await until(lambda: session.restarts == 1)
        assert app.frame.prompt.value == "quit or restart"


@pytest.mark.parametrize("pane", ["trace", "conversation"])
async def test_typing_a_search_continues_as_the_agent_dies(tmp_path: Path, pane: str) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        app.frame.show(pane)
        await press(app, pilot, "slash", "a")
        field = app.focused
        query = field.search.query if pane == "conversation" else field.tree_rows.query  # type: ignore[union-attr]
        await until(lambda: query.text == "a")
        session.fail("the agent died")
        dialog = await died(app)
        type_at_once(app, "rqx\x7f")
        await until(lambda: query.text == "arq")
        await until(lambda: "typing goes to the field below" in str(dialog.query_one(".box").border_subtitle))
        assert app.screen is dialog
        assert app.frame.prompt.value == ""


async def test_a_reason_that_is_being_typed_as_the_agent_dies_returns_to_the_prompt(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        await press(app, pilot, *"next")
        await ask(session, app, pilot)
        asked = await answerable(app)
        await press(app, pilot, "r", *"not that")
        await until(lambda: asked.query_one("#reasoning", TextAnswer).draft == "not that")
        session.fail("the agent died")
        session.bus.publish(PermissionAnswered(request_id="r1", tool_name="Bash", decision="deny"))
        dialog = await died(app)
        type_at_once(app, " repo")
        await until(lambda: app.frame.prompt.value == "next\nnot that repo")
        assert app.screen is dialog
        assert session.answers == []


async def test_text_that_is_no_key_of_a_pane_goes_to_the_prompt_with_what_follows(tmp_path: Path) -> None:
    async with opened(tmp_path, (160, 40)) as (_, app, pilot):
        for pane in ("conversation", "trace", "observers", "workspace", "preview"):
            app.frame.prompt.put("so ")
            app.frame.show(pane)
            await pilot.pause()
            type_at_once(app, "What does it cost? n")
            await until(lambda: _holds(app, "so What does it cost? n"))
            assert app.frame.prompt.has_focus
            app.frame.show(pane)
            await pilot.pause()
            app.post_message(events.Paste("o\nd"))
            type_at_once(app, "!")
            await until(lambda: _holds(app, "so What does it cost? no\nd!"))
        app.frame.prompt.put("")
        await press(app, pilot, "f3")
        # Its first letter opens the help.
        type_at_once(app, "?who knows")
        await until(lambda: _holds(app, "?who knows"))
        assert len(app.screen_stack) == 1


async def test_letters_before_it_that_are_keys_come_along_without_a_pause(tmp_path: Path) -> None:
    async with opened(tmp_path, (80, 24)) as (_, app, pilot):
        await press(app, pilot, "f3")
        type_at_once(app, "hello there")
        await until(lambda: _holds(app, "hello there"))
        app.frame.prompt.put("")
        for breaks, expected in (("down", "o"), ("l", "lo")):
            await press(app, pilot, "f3")
            type_at_once(app, "hl")
            if breaks == "down":
                app.post_message(events.Key("down", None))
                type_at_once(app, expected)
            else:
                type_at_once(app, expected, LATE)
            await until(partial(_holds, app, expected))
            app.frame.prompt.put("")


async def test_i_leads_to_the_prompt_from_panes_and_from_full_screen_views(tmp_path: Path) -> None:
    async with opened(tmp_path, (80, 24)) as (_, app, pilot):
        for pane in ("f2", "f3", "f4", "f5"):
            await press(app, pilot, pane)
            assert not app.frame.prompt.has_focus
            await pilot.press("i")
            await until(lambda: app.frame.prompt.has_focus)
        for command in ("agents", "connections", "permissions", "sessions"):
            next(each for each in app.commands() if each.name == command).run()
            await until(lambda: len(app.screen_stack) == 2)
            await pilot.pause()
            type_at_once(app, "inn")
            await until(lambda: app.frame.prompt.value.endswith("nn"))
            assert app.frame.prompt.has_focus
            app.frame.prompt.put("")


async def test_a_sentence_that_comes_before_a_dialog_is_drawn_goes_to_the_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Dialog, "is_drawn", False)
    async with opened(tmp_path, (120, 40)) as (session, app, _):
        app.frame.prompt.offer_commands(app.commands())
        for typed in ("budget\rhow is it", "budget\rraise it", "model\rwhich one"):
            type_at_once(app, f"/{typed}")
            await until(partial(_holds, app, typed.partition("\r")[2]))
            await until(lambda: len(app.screen_stack) == 1)
            app.frame.prompt.put("")
        assert session.limits == []


async def test_a_dialog_that_a_key_opened_leaves_a_sentence_to_the_prompt(tmp_path: Path) -> None:
    async with opened(tmp_path, (120, 40)) as (session, app, pilot):
        app.frame.prompt.offer_commands(app.commands())
        for typed in ("budget\rhow is it", "budget\rraise it", "status\rwhat now", "model\rwhich one"):
            type_at_once(app, f"/{typed}")
            await until(partial(_holds, app, typed.partition("\r")[2]))
            await until(lambda: len(app.screen_stack) == 1)
            app.frame.prompt.put("")
        assert session.limits == []
        # After a pause the dialog stays, and what is no answer shows which keys are.
        type_at_once(app, "/budget\r")
        await until(lambda: isinstance(app.screen, BudgetScreen) and app.screen._quiet_until is not None)
        type_at_once(app, "x", LATE)
        await until(lambda: "answer with" in str(app.screen.query_one(".box").border_subtitle))
        assert app.frame.prompt.value == ""
        await pilot.press("r", "5", "enter")
        await until(lambda: session.limits == [5.0])
