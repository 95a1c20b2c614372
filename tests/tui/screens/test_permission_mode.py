from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from textual.pilot import Pilot

from tests.tui.app_host import answerable, at_work, notices, shown
from tests.tui.fakes import FakeSession, make_app, make_session
from tests.tui.files_host import screen_text
from tests.tui.fixture_types import Patch
from tests.waiting import until
from ua_tui.core.events.types import PermissionAsked
from ua_tui.tui.app.app import UaTuiApp
from ua_tui.tui.app.controllers.session_settings import open_modes
from ua_tui.tui.plain.questions import Answer, question_of
from ua_tui.tui.screens.requests.plan import PlanScreen
from ua_tui.tui.screens.session.confirm import ConfirmScreen
from ua_tui.tui.screens.session.mode import ModeScreen

PLAN = PermissionAsked(
    request_id="p1", tool_name="ExitPlanMode", input={"plan": "# Tides\n\n1. Search\n2. Write"}
)


def _holds(session: FakeSession, mode: str) -> bool:
    """Whether this is the mode of the session."""
    return session.permission_mode == mode


def _reported(app: UaTuiApp, message: str) -> bool:
    return any(each.message == message for each in app._notifications)


def write(app: UaTuiApp, text: str) -> None:
    app.frame.prompt.focus()
    app.frame.prompt.insert(text)


@asynccontextmanager
async def opened(tmp_path: Path) -> AsyncIterator[tuple[FakeSession, UaTuiApp, Pilot[str]]]:
    """The application with the list of modes."""
    session = make_session(tmp_path)
    app = make_app(tmp_path, session)
    async with app.run_test(size=(120, 30)) as pilot:
        await until(lambda: app.state == "idle")
        await opens(app, pilot)
        yield session, app, pilot


async def opens(app: UaTuiApp, pilot: Pilot[str]) -> None:
    await pilot.press("alt+m")
    await until(lambda: isinstance(app.screen, ModeScreen))


async def test_a_chosen_mode_is_that_of_the_session_and_shown(tmp_path: Path) -> None:
    async with opened(tmp_path) as (session, app, pilot):
        assert "● ask" in screen_text(app)
        await pilot.press("down", "down", "enter")
        await until(lambda: session.permission_mode == "plan")
        await shown(app, pilot)
        assert "  plan" in app.status.render().plain
        assert app.settings.permission_mode == "plan"
        open_modes(app)
        await until(lambda: isinstance(app.screen, ModeScreen) and "● plan" in screen_text(app))
        await pilot.press("escape")
        await until(lambda: not isinstance(app.screen, ModeScreen))
        assert session.permission_mode == "plan"
        # A mode that is written after the command needs no dialog; it is offered by its first letters.
        write(app, "/mode Acc")
        await until(lambda: "acceptEdits" in screen_text(app) and "asks about the rest" in screen_text(app))
        await pilot.press("enter")
        await until(partial(_holds, session, "acceptEdits"))
        write(app, "/MODE  Plan ")
        await pilot.press("enter")
        await until(partial(_holds, session, "plan"))
        for typed, reported in (
            (
                "/mode plans",
                "“plans” is not a permission mode (use default, acceptEdits, plan, bypassPermissions): "
                "Enter again sends it as text.",
            ),
            ("/mode plan ", "The permission mode is already plan."),
        ):
            write(app, typed)
            await pilot.press("enter")
            await until(partial(_reported, app, reported))
            assert app.frame.prompt.text == ("" if "already" in reported else typed)
            app.frame.prompt.put("")
        assert not isinstance(app.screen, ModeScreen)
        # Without a mode, Enter lists them, and the arrows and Tab move to one that is offered.
        write(app, "/mode ")
        await until(lambda: "asks about the rest" in screen_text(app))
        await pilot.press("tab", "down", "tab")
        assert app.frame.prompt.text == "/mode acceptEdits "
        app.frame.prompt.put("")
        write(app, "/mode ")
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, ModeScreen))


async def test_skipping_every_check_needs_a_confirmation(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    async with opened(tmp_path) as (session, app, pilot):
        await pilot.press("end", "enter")
        await until(lambda: "refused for root" in notices(app))
        assert session.permission_mode == "default"
        await until(lambda: not isinstance(app.screen, ModeScreen))
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        await opens(app, pilot)
        for answer, mode in (("n", "default"), ("y", "bypassPermissions")):
            await pilot.press("end", "enter")
            await until(lambda: isinstance(app.screen, ConfirmScreen))
            assert session.permission_mode == "default"
            await answerable(app)
            await pilot.press(answer)
            await until(lambda: not isinstance(app.screen, ConfirmScreen))
            await until(partial(_holds, session, mode))
            if mode == "default":
                await opens(app, pilot)
        await shown(app, pilot)
        assert "ALLOW ALL" in app.status.render().plain
        # A session that is set up again begins with what was configured.
        assert app.settings.permission_mode == "default"
        assert not app.settings.dangerously_skip_permissions


async def test_a_plan_is_answered(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (session, app, pilot):
        for keys, answers, reasons, mode in (
            (["a"], [("p1", True, "once")], [("", ())], "default"),
            (["escape"], [("p1", False, "once")], [("", ())], "default"),
            (["r", *"shorter", "enter"], [("p1", False, "once")], [("shorter", ())], "default"),
            (["e"], [], [], "acceptEdits"),
        ):
            session.answers, session.reasons = [], []
            session.bus.publish(PLAN)
            await until(lambda: isinstance(app.screen, PlanScreen) and "2. Write" in screen_text(app))
            await answerable(app)
            await pilot.press(*keys)
            await until(lambda: not isinstance(app.screen, PlanScreen))
            await until(partial(_holds, session, mode))
            assert (session.answers, session.reasons) == (answers, reasons)
        # A long plan is scrolled above its answers.
        steps = "\n".join(f"{at}. step {at}" for at in range(1, 101))
        session.bus.publish(PermissionAsked(request_id="p2", tool_name="ExitPlanMode", input={"plan": steps}))
        await until(lambda: isinstance(app.screen, PlanScreen) and "step 3" in screen_text(app))
        assert "e Approve + edits" in screen_text(app)
        while "step 100" not in screen_text(app):
            await pilot.press("pagedown")
        assert "e Approve + edits" in screen_text(app), screen_text(app)


def test_in_plain_mode_a_plan_is_a_question_with_the_harmless_answer_first() -> None:
    question = question_of(PLAN)
    assert question.all_lines[:4] == ["The plan:", "  Tides", "", "  1. Search"]
    assert question.answer("") == Answer()
    assert question.answer("2") == Answer(allow=True)
    assert question.answer("3") == Answer(allow=True, mode="acceptEdits")
    assert question.answer("shorter") == Answer(reason="shorter")
