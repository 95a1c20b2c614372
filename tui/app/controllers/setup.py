"""The setup of a model, apart from its dialog: when that opens, and what follows from the answer."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Literal

from ua_tui.tui.app.port import DEMO, SET_UP
from ua_tui.tui.panes.status.facts import BUSY

if TYPE_CHECKING:
    from ua_tui.core.settings.model import Settings
    from ua_tui.tui.app.app import UaTuiApp
    from ua_tui.tui.screens.setup.screen import SetupResult

NOT_SET_UP = "not set up"
"""The state of the application while no model is set up."""


def open_first_setup(app: UaTuiApp, message: str) -> None:
    """Open the setup because nothing is set up yet; `message` says what is missing."""
    app.status.state = app.state
    _open(app, message, requested=False)


def open_setup(app: UaTuiApp) -> None:
    """Open the setup because the user asked for it."""
    _open(app, "", requested=True)


def _open(app: UaTuiApp, message: str, *, requested: bool) -> None:
    from ua_tui.core.provider.setup import ModelSetup
    from ua_tui.tui.screens.setup.screen import SetupScreen

    screen = SetupScreen(
        ModelSetup(app.settings),
        message,
        requested=requested,
        starts=partial(_describe_start, app),
        keep_secret=partial(_redact, app),
    )
    app.push_screen(screen, partial(_on_answer, app))


def _on_answer(app: UaTuiApp, answer: SetupResult | Literal["demo", "quit"] | None) -> None:
    if answer is None:
        if app.state == NOT_SET_UP:
            app.notice.show("No model is set up.", "/setup opens the setup again")
    elif answer == "quit":
        app.shutdown.request()
    elif app.state in BUSY and answer == "demo":
        app.notify("The agent is running: choose the demo again when it has finished.")
    elif app.state in BUSY:
        app.notify("The agent is running: the new settings apply from the next session on.")
    elif answer == "demo":
        app.shutdown.begin("quit", result=DEMO)
    else:
        app.settings = answer.settings
        if app.session is None:
            app.restart_agent()
        else:
            app.shutdown.begin("quit", result=SET_UP)


def _describe_start(app: UaTuiApp, settings: Settings) -> str:
    """Say what the session does with new settings."""
    if app.session is None:
        return ""
    if app.state in BUSY:
        return "The agent is running: this applies from the next session on."
    if app.settings.demo:
        return "The demo ends, and a new session starts."
    if settings.base_url != app.settings.base_url:
        return "This session continues; with another server the agent starts a new conversation."
    return "This session continues with it."


def _redact(app: UaTuiApp, secrets: Iterable[str]) -> None:
    """Redact new secrets in the session that is still open."""
    workspace = getattr(app.session, "workspace", None)
    redactor = getattr(workspace, "redactor", None)
    if redactor is not None:
        for secret in secrets:
            redactor.add(secret)
