"""The screens that a key or a command opens above the panes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ua_tui.tui.app.port import resume_result

if TYPE_CHECKING:
    from ua_tui.core.postgres.address import Address
    from ua_tui.core.settings.model import Settings
    from ua_tui.core.team.fleet.rows import FleetRow
    from ua_tui.core.team.fleet.source import FleetSource
    from ua_tui.tui.app.controllers.shutdown import Shutdown
    from ua_tui.tui.app.port import AppPort


class Navigation:
    """Opens screens, each of which is imported only then.

    Args:
        app: shows them.
        shutdown: ends this session when another one is to be resumed.
        read_session: shows a past session until the user closes it.
    """

    def __init__(self, app: AppPort, shutdown: Shutdown, read_session: Callable[[Path], None]) -> None:
        self._app = app
        self._shutdown = shutdown
        self._read_session = read_session

    def open_trace_link(self) -> None:
        """Offer the web page of the session's trace; show what is known of the trace if it has none."""
        from ua_tui.tui.screens.files.link import follow_link

        session = self._app.session
        trace = session.trace if session is not None else None
        if trace is not None and trace.link is not None:
            follow_link(self._app.screen, trace.link)
        else:
            self._app.status.open()

    def open_sessions(self) -> None:
        """Show all sessions."""
        from ua_tui.core.history.index import SessionIndex
        from ua_tui.core.knowledge.place import place_of
        from ua_tui.tui.screens.session.sessions import SessionsScreen

        session = self._app.session
        current = session.workspace.path if session is not None else None
        index = SessionIndex(self._app.settings.workspace_base, knowledge=place_of(self._app.settings))
        self._app.push_screen(
            SessionsScreen(
                index,
                self._read_session,
                current=current,
                database=place_of(self._app.settings),
            ),
            self._resume_session,
        )

    def open_fleet(self, open_row: Callable[[FleetRow, FleetSource], None]) -> None:
        """Show the sessions of this machine and of the team; `open_row` shows one of them."""
        from ua_tui.core.errors import SettingsError
        from ua_tui.core.history.index import SessionIndex
        from ua_tui.core.team.fleet.source import FleetSource
        from ua_tui.tui.screens.team.fleet import FleetScreen

        settings = self._app.settings
        index = SessionIndex(settings.workspace_base)
        try:
            source = FleetSource(index, team_of(settings))
        except SettingsError as error:
            self._app.notify(str(error), severity="warning", markup=False)
            return
        self._app.push_screen(FleetScreen(source, lambda row: open_row(row, source)))

    def _resume_session(self, folder: Path | None) -> None:
        """End this session, and resume the one in `folder`."""
        if folder is None:
            return
        if self._app.state in ("running", "stopping"):
            stop = self._app.keys.shown("stop")
            self._app.notify(
                f"The agent is running: stop it with {stop}, or wait until it has finished.", markup=False
            )
        else:
            self._shutdown.begin("quit", result=resume_result(folder))


def team_of(settings: Settings) -> Address | None:
    """The team's database in the settings; None without one.

    Raises:
        SettingsError: it is no address.
    """
    from ua_tui.core.postgres.address import Address

    text: str | None = settings.team
    return Address.parse(text) if text else None
