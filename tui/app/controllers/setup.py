"""The setup of the way to the model, around the dialog: when it comes up, and what becomes of the answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from core.settings.model import Settings
    from tui.app.app import UaTuiApp
    from tui.screens.setup.screen import SetupResult

__all__ = ["DEMO", "HINT", "NOT_SET_UP", "SET_UP", "Setup"]

DEMO = "demo"
"""What the application returns when the person asked for the demo instead."""
SET_UP = "set up"
"""What it returns when its session is to go on with the settings it has by then."""
NOT_SET_UP = "not set up"
"""What it is doing as long as there is no way to a model."""
HINT = "/setup changes the key"

_BUSY = ("running", "stopping", "starting")


class Setup:
    """Opens the setup over `app`, and has the session begin or go on with what came of it."""

    def __init__(self, app: UaTuiApp) -> None:
        self._app = app

    def explain(self, message: str) -> None:
        """Open it because nothing is set up yet."""
        self._app.status.state = self._app.state
        self._open(message, asked=False)

    def open(self) -> None:
        """Open it because the person wants that."""
        self._open("", asked=True)

    def _open(self, message: str, *, asked: bool) -> None:
        from core.provider.setup import ModelSetup
        from tui.screens.setup.screen import SetupScreen

        screen = SetupScreen(
            ModelSetup(self._app.settings),
            message,
            asked=asked,
            starts=self._starts,
            keep_secret=self._keep_secret,
        )
        self._app.push_screen(screen, self._settle)

    def _settle(self, answer: SetupResult | Literal["demo", "quit"] | None) -> None:
        app = self._app
        if answer is None:
            if app.state == NOT_SET_UP:
                app.notice.show("No way to reach a model is set up.", "/setup opens the setup again")
        elif answer == "quit":
            app.leaving.ask()
        elif app.state in _BUSY and answer == "demo":
            app.notify("The agent is at work: choose the demo again when it is done.", markup=False)
        elif app.state in _BUSY:
            app.notify("The agent is at work: what was chosen holds from the next session on.", markup=False)
        elif answer == "demo":
            app.leaving.leave("quit", result=DEMO)
        else:
            app.settings = answer.settings
            if app.session is None:
                app.action_restart()
            else:
                app.leaving.leave("quit", result=SET_UP)

    def _starts(self, settings: Settings) -> str:
        """What a session does with new settings."""
        app = self._app
        if app.session is None:
            return ""
        if app.state in _BUSY:
            return "The agent is at work: this holds from the next session on."
        if app.settings.demo:
            return "The demo ends, and a new session begins."
        if settings.base_url != app.settings.base_url:
            return "This session goes on; with another server the agent begins its conversation anew."
        return "This session goes on with it."

    def _keep_secret(self, secrets: Iterable[str]) -> None:
        """Have the session that still lives mask what is going to be used."""
        workspace = getattr(self._app.session, "workspace", None)
        redactor = getattr(workspace, "redactor", None)
        if redactor is not None:
            for secret in secrets:
                redactor.add(secret)
