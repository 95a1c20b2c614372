"""Screens that are told to close when they cannot yet: before they are composed, or under another screen."""

from __future__ import annotations

from pathlib import Path

from textual.app import App

from tests.tui.app_host import opened, shown
from tests.tui.pane_host import call_screen, started
from ua_tui.core.events.types import PermissionAnswered, PermissionAsked
from ua_tui.tui.screens.application.help import HelpScreen
from ua_tui.tui.screens.requests.permission import PermissionScreen
from ua_tui.tui.screens.tool_call.screen import ToolCallScreen
from ua_tui.tui.widgets.dialog import Dialog

ASKED = PermissionAsked(request_id="r1", tool_name="Bash", input={"command": "ls"})


class Stage(App[None]):
    """Nothing but screens, and what they closed with."""

    answers: list[object]

    def on_mount(self) -> None:
        self.answers = []

    def show(self, screen: Dialog[object] | ToolCallScreen | HelpScreen) -> None:
        self.push_screen(screen, self.answers.append)


async def test_a_dialog_that_is_withdrawn_before_it_is_composed_closes() -> None:
    app = Stage()
    async with app.run_test() as pilot:
        dialog = PermissionScreen(ASKED)
        app.show(dialog)  # type: ignore[arg-type]  # its answers do not matter
        dialog.withdraw()
        await pilot.pause()
        await pilot.pause()
        assert len(app.screen_stack) == 1
        assert app.answers == [None]


async def test_a_question_answered_at_once_leaves_the_next_one(tmp_path: Path) -> None:
    async with opened(tmp_path) as (session, app, pilot):
        session.bus.publish(ASKED)
        session.bus.publish(PermissionAsked(request_id="r2", tool_name="Bash"))
        app.pump.flush()
        session.bus.publish(PermissionAnswered(request_id="r1", tool_name="Bash", decision="deny"))
        app.pump.flush()
        await shown(app, pilot)
        await shown(app, pilot)
        assert isinstance(app.screen, PermissionScreen)
        assert app.screen.event.request_id == "r2"
        session.bus.publish(PermissionAnswered(request_id="r2", tool_name="Bash", decision="deny"))
        await shown(app, pilot)
        await shown(app, pilot)
        assert len(app.screen_stack) == 1


async def test_the_application_may_end_as_a_dialog_comes_up() -> None:
    app = Stage()
    async with app.run_test() as pilot:
        app.show(PermissionScreen(ASKED))  # type: ignore[arg-type]  # its answers do not matter
        app.exit(return_code=0)
        await pilot.pause()
    assert app.return_code == 0


async def test_a_call_that_is_left_as_a_question_comes_closes_below_it() -> None:
    app = Stage()
    async with app.run_test() as pilot:
        call = call_screen(started("t1", "Read"))
        app.show(call)
        await pilot.pause()
        app.show(PermissionScreen(ASKED))  # type: ignore[arg-type]  # its answers do not matter
        call.action_close()
        call.action_close()
        await pilot.pause()
        assert isinstance(app.screen, PermissionScreen), "a question must not be taken away with it"
        app.screen.withdraw()
        await pilot.pause()
        await pilot.pause()
        assert len(app.screen_stack) == 1
        assert app.answers == [None, None]


async def test_a_screen_closes_once_however_often_it_is_asked_to() -> None:
    app = Stage()
    async with app.run_test() as pilot:
        below, above = HelpScreen(), HelpScreen()
        app.show(below)
        app.show(above)
        await pilot.pause()
        for _ in range(3):
            above.dismiss(None)
        await pilot.pause()
        assert app.screen is below
        assert app.answers == [None]
