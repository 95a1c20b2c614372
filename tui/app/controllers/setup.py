"""The setup of a model, apart from its dialog: when that opens, and what follows from the answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from ua_tui.tui.app.port import DEMO, SET_UP
from ua_tui.tui.panes.status.facts import BUSY

if TYPE_CHECKING:
    from ua_tui.core.settings.model import Settings
    from ua_tui.tui.app.app import UaTuiApp
    from ua_tui.tui.app.controllers.shutdown import Shutdown
    from ua_tui.tui.screens.setup.screen import SetupResult

NOT_SET_UP = "not set up"
"""The state of the application while no model is set up."""


class Setup:
    """Opens the setup, and starts or resumes the session with the settings that come from it."""

    def __init__(self, app: UaTuiApp, shutdown: Shutdown) -> None:
        self._app = app
        self._shutdown = shutdown

    def open_first(self, message: str) -> None:
        """Open the setup because nothing is set up yet; `message` says what is missing."""
        self._app.status.state = self._app.state
        self._open(message, requested=False)

    def open(self) -> None:
        """Open the setup because the user asked for it."""
        self._open("", requested=True)

    def _open(self, message: str, *, requested: bool) -> None:
        from ua_tui.core.provider.setup import ModelSetup
        from ua_tui.tui.screens.setup.screen import SetupScreen

        screen = SetupScreen(
            ModelSetup(self._app.settings),
            message,
            requested=requested,
            starts=self._describe_start,
            keep_secret=self._redact,
        )
        self._app.push_screen(screen, self._on_answer)

    def _on_answer(self, answer: SetupResult | Literal["demo", "quit"] | None) -> None:
        app = self._app
        if answer is None:
            if app.state == NOT_SET_UP:
                app.notice.show("No model is set up.", "/setup opens the setup again")
        elif answer == "quit":
            self._shutdown.request()
        elif app.state in BUSY and answer == "demo":
            app.notify("The agent is running: choose the demo again when it has finished.")
        elif app.state in BUSY:
            app.notify("The agent is running: the new settings apply from the next session on.")
        elif answer == "demo":
            self._shutdown.begin("quit", result=DEMO)
        else:
            app.settings = answer.settings
            if app.session is None:
                app.restart_agent()
            else:
                self._shutdown.begin("quit", result=SET_UP)

    def _describe_start(self, settings: Settings) -> str:
        """Say what the session does with new settings."""
        app = self._app
        if app.session is None:
            return ""
        if app.state in BUSY:
            return "The agent is running: this applies from the next session on."
        if app.settings.demo:
            return "The demo ends, and a new session starts."
        if settings.base_url != app.settings.base_url:
            return "This session continues; with another server the agent starts a new conversation."
        return "This session continues with it."

    def _redact(self, secrets: Iterable[str]) -> None:
        """Redact new secrets in the session that is still open."""
        workspace = getattr(self._app.session, "workspace", None)
        redactor = getattr(workspace, "redactor", None)
        if redactor is not None:
            for secret in secrets:
                redactor.add(secret)
