"""The screens that a key or a command opens above the panes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.text import clean_line
from ua_tui.tui.app.open_session import open_fleet_row, open_read_only
from ua_tui.tui.app.port import ToAskAgain, ToResume, refusals_notified

if TYPE_CHECKING:
    from ua_tui.core.postgres.address import Address
    from ua_tui.core.settings.model import Settings
    from ua_tui.tui.app.app import UaTuiApp
    from ua_tui.tui.app.controllers.shutdown import Shutdown


class Navigation:
    """Opens screens, each of which is imported only then.

    Args:
        app: shows them.
        shutdown: ends this session when another one is to be resumed.
    """

    def __init__(self, app: UaTuiApp, shutdown: Shutdown) -> None:
        self._app = app
        self._shutdown = shutdown

    def open_context(self) -> None:
        """Show what fills the context."""
        from ua_tui.tui.screens.session.context import ContextScreen

        self._app.push_screen(ContextScreen(self._app.controls))

    def open_connections(self) -> None:
        """Show the connections."""
        from ua_tui.tui.screens.services.connections import ConnectionsScreen

        self._app.push_screen(ConnectionsScreen(self._app.settings, lambda: self._app.session))

    def open_permissions(self) -> None:
        """Show the permission rules."""
        from ua_tui.tui.screens.services.permissions import PermissionsScreen

        self._app.push_screen(PermissionsScreen(lambda: self._app.session))

    def open_agents(self) -> None:
        """Show the sub-agents and skills."""
        from ua_tui.tui.screens.services.agents import AgentsScreen

        self._app.push_screen(AgentsScreen(self._app.settings, lambda: self._app.session))

    def open_blacklist(self) -> None:
        """Show the blacklist of the web reader."""
        from ua_tui.core.storage.folders import WORKSPACES
        from ua_tui.core.web_reader import Blacklist
        from ua_tui.tui.screens.services.blacklist import BlacklistScreen

        blacklist = Blacklist(self._app.settings.workspace_base / WORKSPACES)
        self._app.push_screen(BlacklistScreen(blacklist))

    def open_trace_link(self) -> None:
        """Offer the web page of the session's trace; show what is known of the trace if it has none."""
        from ua_tui.tui.screens.files.link import follow_link

        session = self._app.session
        trace = session.trace if session is not None else None
        if trace is not None and trace.link is not None:
            follow_link(self._app.screen, trace.link)
        else:
            self._app.status.open()

    async def ask_again(self, report: Path) -> None:
        """Ask the query of a report again after a confirmation: end this session, and begin a new one."""
        from ua_tui.core.events.units import duration, money
        from ua_tui.core.history.report_query import PAGE_AGE, find_query
        from ua_tui.tui.screens.session.confirm import ConfirmScreen

        query = None
        with refusals_notified(self._app):
            query = await asyncio.to_thread(find_query, report)
        if query is None:
            return
        took = ""
        if (end := query.end) is not None:
            cost = f" and cost {money(end.cost_usd)}" if end.cost_usd else ""
            took = f" It took {duration(end.duration_ms / 1000)}{cost}."
        advice = (
            "A new session runs the query, and this one is closed. Pages read in the last "
            f"{PAGE_AGE // 86_400} days are not fetched again. Then both sessions are compared.{took}"
        )

        def answered(is_wanted: bool | None) -> None:
            if is_wanted and not self._is_busy():
                self._shutdown.begin("quit", result=ToAskAgain(report))

        question = f"Ask “{clean_line(query.text, 200)}” again?"
        self._app.push_screen(
            ConfirmScreen("Again", question, advice, yes="Ask again", no="Stay here"), answered
        )

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
                partial(open_read_only, self._app),
                partial(open_read_only, self._app, command="replay"),
                current=current,
                database=place_of(self._app.settings),
            ),
            self._resume_session,
        )

    def open_replay(self) -> None:
        """Replay this session, as far as it has happened."""
        session = self._app.session
        if session is None or self._app.frame.controls is not None:
            why = "There is no session to replay yet." if session is None else "This is a replay."
            self._app.notify(why)
            return
        with refusals_notified(self._app):
            open_read_only(self._app, session.workspace.path, "replay")

    def open_fleet(self) -> None:
        """Show the sessions of this machine and of the team."""
        from ua_tui.core.history.index import SessionIndex
        from ua_tui.core.team.fleet.source import FleetSource
        from ua_tui.tui.screens.team.fleet import FleetScreen

        settings = self._app.settings
        index = SessionIndex(settings.workspace_base)
        with refusals_notified(self._app):
            source = FleetSource(index, team_of(settings))
            self._app.push_screen(FleetScreen(source, lambda row: open_fleet_row(self._app, row, source)))

    def fork_session(self, query_id: str, text: str) -> None:
        """Fork the session before a query, after a confirmation; then end this session, and resume the fork."""
        from ua_tui.tui.screens.session.confirm import ConfirmScreen

        if self._app.session is None or self._is_busy():
            return
        if refusal := self._app.source.fork_refusal:
            self._app.notify(refusal)
            return
        is_replay = self._app.frame.controls is not None
        closed = "The replay is closed." if is_replay else "This session stays as it is, and is closed."
        if self._app.source.closes_on_escape:
            closed += " When you quit the fork, you return to where you opened it."
        advice = f"A new session starts with everything before this query. You can change the query. {closed}"
        dialog = ConfirmScreen(
            "Fork", f"Fork before “{clean_line(text, 160)}”?", advice, yes="Fork", no="Stay here"
        )
        fork = partial(self._fork, self._app.session.workspace.path, query_id)

        def answered(is_wanted: bool | None) -> None:
            if is_wanted:
                self._app.spawn(fork, "fork", "fork")

        self._app.push_screen(dialog, answered)

    async def _fork(self, folder: Path, query_id: str) -> None:
        from ua_tui.core.session.fork import fork_with

        try:
            fork = await asyncio.to_thread(fork_with, self._app.settings, folder, query_id)
        except UniversalAgentError as error:
            self._app.notice.show(error.advice.sentence)
        else:
            self._resume_session(fork)

    async def resume_shown(self) -> None:
        """Resume the past session that is shown, or say why not."""
        from ua_tui.core.session.resume import prepare_resume

        if (session := self._app.session) is None:
            return
        folder = session.workspace.path
        try:
            await asyncio.to_thread(prepare_resume, replace(self._app.settings, demo=False), folder)
        except UniversalAgentError as error:
            self._app.notice.show(error.advice.sentence)
        else:
            self._resume_session(folder)

    def _resume_session(self, folder: Path | None) -> None:
        """End this session, and resume the one in `folder`."""
        if folder is not None and not self._is_busy():
            self._shutdown.begin("quit", result=ToResume(folder))

    def _is_busy(self) -> bool:
        """Whether the agent is running, which the user is notified of."""
        if self._app.state not in ("running", "stopping"):
            return False
        stop = self._app.keys.shown("stop")
        self._app.notify(f"The agent is running: stop it with {stop}, or wait until it has finished.")
        return True


def team_of(settings: Settings) -> Address | None:
    """The team's database in the settings; None without one.

    Raises:
        SettingsError: it is no address.
    """
    from ua_tui.core.postgres.address import Address

    text: str | None = settings.team
    return Address.parse(text) if text else None
