"""What is typed into the prompt as a question comes up stays what was typed."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from textual import events
from textual.app import App
from textual.keys import _character_to_key

from core.events.types import AuthRequired, PermissionAsked
from tests.tui.app_host import ASKED, ask, at_work, listen, settled, shown
from tests.tui.fakes import make_app, make_session
from tests.tui.files_host import until
from tui.app.app import UaTuiApp
from tui.screens.requests.permission import PermissionScreen
from tui.screens.session.quit import QuitScreen
from tui.widgets.dialog import QUIET_SECONDS, ActiveClock, Dialog

AUTH = AuthRequired(toolkit="gmail", url="https://connect.example/link/lk_1")
NAMED = {"\x7f": "backspace", "\r": "enter", "\x1b": "escape"}


def type_at_once(app: App[str], keys: str) -> None:
    """Have all of the keys come in one read."""
    for key in keys:
        app.post_message(events.Key(NAMED.get(key) or _character_to_key(key), key))


def keep_typing(app: UaTuiApp) -> None:
    """Let the last key count as typed just now, however long a busy machine takes to ask."""
    app.typed_at = float("inf")


@pytest.mark.parametrize("question", [ASKED, AUTH])
async def test_typing_continues_as_a_question_comes_up(
    tmp_path: Path, question: PermissionAsked | AuthRequired
) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        await pilot.press(*"and then ")
        keep_typing(app)
        session.bus.publish(question)
        type_at_once(app, "add")
        await shown(app, pilot)
        assert isinstance(app.screen, Dialog)
        type_at_once(app, " a day\x7f\x7f\x7fsad")
        app.post_message(events.Paste(" pasted"))
        type_at_once(app, "!")
        await until(lambda: app.frame.prompt.value.endswith("!"))
        assert app.frame.prompt.value == "and then add a sad pasted!"
        assert "typing goes to the prompt" in str(app.screen.query_one(".box").border_subtitle)
        assert (session.answers, session.outcomes) == ([], [])
        assert isinstance(app.screen, Dialog)


async def test_a_program_that_stood_still_takes_no_answer_from_somebody_who_types(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        await ask(session, app, pilot)
        dialog = app.screen
        assert isinstance(dialog, Dialog)
        await until(lambda: dialog._quiet_until is not None)
        # Neither painted nor read anything for longer than the dialog is quiet.
        time.sleep(2 * QUIET_SECONDS)  # noqa: ASYNC251  # the loop is to stand still
        type_at_once(app, "ad")
        await pilot.pause()
        assert session.answers == []
        await until(lambda: not dialog.has_class("-quiet"))
        type_at_once(app, "d")
        await until(lambda: session.answers)


async def test_a_key_counts_as_typed_when_it_comes(tmp_path: Path) -> None:
    app = make_app(tmp_path, make_session(tmp_path))
    async with app.run_test() as pilot:
        await settled(app, pilot)
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


@pytest.mark.parametrize("question", [ASKED, AUTH])
async def test_enter_sends_nothing_as_a_question_comes_up(
    tmp_path: Path, question: PermissionAsked | AuthRequired
) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        await pilot.press(*"the next ")
        keep_typing(app)
        await ask(session, app, pilot, question)
        type_at_once(app, "day\r!")
        await until(lambda: app.frame.prompt.value == "the next day!")
        assert session.waiting == []
        assert (session.answers, session.outcomes) == ([], [])
        assert isinstance(app.screen, Dialog)


async def test_a_dialog_says_why_its_answers_are_dim(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        await ask(session, app, pilot)
        dialog = app.screen
        assert isinstance(dialog, Dialog)
        await until(lambda: "in a moment" in str(dialog.query_one(".box").border_subtitle))
        assert dialog.has_class("-quiet")
        await until(lambda: not dialog.has_class("-quiet"))
        assert "in a moment" not in str(dialog.query_one(".box").border_subtitle)


async def test_keys_that_command_do_nothing_until_the_question_can_be_read(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        await pilot.press("a")
        await ask(session, app, pilot)
        await pilot.press("escape", "tab", "f2")
        assert (session.interrupts, session.answers) == (0, [])
        assert isinstance(app.screen, PermissionScreen)


async def test_once_the_question_listens_keys_are_answers_and_not_typed(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        await pilot.press(*"ab")
        await ask(session, app, pilot)
        listen(app)
        await pilot.press("a")
        await shown(app, pilot)
        assert session.answers == [("r1", True, "once")]
        assert app.frame.prompt.value == "ab"


async def test_somebody_who_was_not_typing_writes_nothing_by_an_early_answer(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        await ask(session, app, pilot)
        app.screen._quiet_until = float("inf")  # type: ignore[attr-defined]  # of a Dialog
        await pilot.press("a")
        await pilot.pause()
        assert (session.answers, app.frame.prompt.value) == ([], "")


async def test_a_dialog_that_the_person_opened_takes_the_keys(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (_, app, pilot):
        await pilot.press("a", "ctrl+q")
        await pilot.pause()
        assert isinstance(app.screen, QuitScreen)
        await pilot.press("z")
        await pilot.pause()
        assert app.frame.prompt.value == "a"
