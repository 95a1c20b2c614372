"""What is opened above the panes by a key or a command."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.app.app import UaTuiApp

__all__ = ["Above"]

TOLD_SECONDS = 20.0

log = logging.getLogger(__name__)


class Above:
    """Opens the screens of `app`; each is imported only when somebody wants it."""

    def __init__(self, app: UaTuiApp) -> None:
        self._app = app

    def tell_passed_over(self) -> None:
        """Say which files of the person could not be used as they are."""
        app = self._app
        problems = app.keys.problems
        for each in problems:
            log.warning("%s", each)
        told = list(problems)
        if len(problems) > 1:
            key = app.keys.shown("help.all")
            told = [f"{len(problems)} key settings are not taken: {key} says why."]
        if app.kept_layout is not None and app.kept_layout.problem:
            log.warning("%s", app.kept_layout.problem)
            told.append(app.kept_layout.problem)
        for each in told:
            app.notify(each, severity="warning", timeout=TOLD_SECONDS, markup=False)

    def trace(self) -> None:
        """Offer to open the session's trace, where it goes to a place that has pages; else say what is known of it."""
        from tui.screens.files.link import follow_link

        session = self._app.session
        trace = session.trace if session is not None else None
        if trace is not None and trace.link is not None:
            follow_link(self._app.screen, trace.link)
        else:
            self._app.status.open()

    def sessions(self) -> None:
        """Show the sessions there are."""
        from core.history.index import SessionIndex
        from tui.app.sessions_app import open_to_read
        from tui.screens.session.sessions import SessionsScreen

        app = self._app
        current = app.session.workspace.path if app.session is not None else None
        index = SessionIndex(app.settings.workspace_base)
        screen = SessionsScreen(index, lambda folder: open_to_read(app, folder), current=current)
        app.push_screen(screen, self._go_on_with)

    def _go_on_with(self, folder: Path | None) -> None:
        """Leave this session for another one, which goes on."""
        from tui.app.sessions_app import resuming

        if folder is None:
            return
        if self._app.state in ("running", "stopping"):
            stop = self._app.keys.shown("stop")
            self._app.notify(
                f"The agent is at work here: stop it with {stop} first, or let it finish.", markup=False
            )
        else:
            self._app.leaving.leave("quit", result=resuming(folder))
