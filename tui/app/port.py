"""What a controller may ask of the application around it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ua_tui.core.settings.model import Settings

if TYPE_CHECKING:
    from textual.notifications import SeverityLevel
    from textual.screen import Screen
    from textual.worker import Worker

    from ua_tui.core.concurrency.spawn import Work
    from ua_tui.core.session.session import Session
    from ua_tui.core.view.session import SessionView
    from ua_tui.tui.app.controllers.questions import Questions
    from ua_tui.tui.app.event_pump import EventPump
    from ua_tui.tui.keys.keymap import Keys
    from ua_tui.tui.layout.frame import Frame
    from ua_tui.tui.panes.feed import EventFeed
    from ua_tui.tui.panes.status.bar import StatusLine
    from ua_tui.tui.panes.status.notice import NoticeBar
    from ua_tui.tui.ports import SessionPort

DEMO = "demo"
"""The user asked for the demo."""
SET_UP = "set up"
"""The session is to be resumed with the application's settings, which were changed."""
_RESUME = "resume "


def resume_result(folder: Path) -> str:
    """Return the result that asks for the session in `folder` to be resumed."""
    return f"{_RESUME}{folder}"


def resumed_folder(result: object) -> Path | None:
    """Return the folder of the session that `result` asks to resume; None if it asks for none."""
    if not isinstance(result, str) or not result.startswith(_RESUME):
        return None
    return Path(result.removeprefix(_RESUME))


Result = TypeVar("Result")


class AppPort(Protocol):
    """The application as a controller sees it: the session, what is on the screen, and ways to show something.

    `settings` may be replaced: a session that is opened later uses those that are there by then.
    """

    settings: Settings

    @property
    def session(self) -> SessionPort | None:
        """The session; None until it is made."""

    @property
    def controls(self) -> Session | None:
        """Controls the session; None until it is made, and if it is read-only."""

    @property
    def view(self) -> SessionView:
        """What is known of the session from its events."""

    @property
    def refusal(self) -> str:
        """Why a read-only session cannot be changed."""

    @property
    def session_folder(self) -> Path | None:
        """The session's folder; None before there is one, or when nothing may be written into it."""

    @property
    def state(self) -> str:
        """What the session is doing."""

    @property
    def keys(self) -> Keys:
        """The active keys."""

    @property
    def screen(self) -> Screen[Any]:
        """The screen on top."""

    @property
    def screen_stack(self) -> list[Screen[Any]]:
        """The screens, the one on top last."""
        ...

    @property
    def frame(self) -> Frame:
        """The panes and the prompt."""

    @property
    def status(self) -> StatusLine:
        """The status line."""

    @property
    def notice(self) -> NoticeBar:
        """The bar for problems."""

    @property
    def is_headless(self) -> bool:
        """Whether there is no terminal."""

    def show_panes(self) -> None:
        """Close what is above the panes."""

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = True,
    ) -> None:
        """Show a message for a while."""

    def push_screen(
        self, screen: Screen[Result], callback: Callable[[Result | None], None] | None = None
    ) -> object:
        """Show a screen above the others; `callback` gets its result."""

    def spawn(self, work: Work, name: str, group: str) -> Worker[Any]:
        """Run a coroutine function as a worker."""

    def restart_agent(self) -> None:
        """Start the agent again after a failure."""

    def exit(self, result: str | None = None, return_code: int = 0, message: str | None = None) -> None:
        """End the application; `message` is written to the terminal after that."""

    def restore_terminal(self) -> None:
        """Leave the terminal as it was before, from any thread, if that has not been done."""


class SessionHost(AppPort, Protocol):
    """The application as the source of a session sees it."""

    @property
    def pump(self) -> EventPump:
        """Takes the session's events, and brings them to the feed."""

    @property
    def feed(self) -> EventFeed:
        """Owns the view of the session, and hands events to everything that shows it."""

    def attach(self, session: SessionPort) -> None:
        """Make `session` the session of the application."""

    @property
    def questions(self) -> Questions:
        """Shows the questions of the session."""

    def set_state(self, state: str) -> None:
        """Set what is shown as the state until there is a session."""

    def shut_down(self) -> None:
        """Close the session, then the application."""


def controls_or_notify(app: AppPort) -> Session | None:
    """The controls of the session that a person wants to change; without any, the person is notified why."""
    if app.controls is None:
        app.notify("The session has not started yet." if app.session is None else app.refusal, markup=False)
    return app.controls
