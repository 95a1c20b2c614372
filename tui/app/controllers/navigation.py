"""The screens that a key or a command opens above the panes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.text import clean_line
from ua_tui.tui.app.port import ToAskAgain, ToResume, refusals_notified
from ua_tui.tui.screens.session.open_session import open_read_only
from ua_tui.tui.widgets.placeholder import Placeholder

if TYPE_CHECKING:
    from ua_tui.core.postgres.address import Address
    from ua_tui.core.settings.model import Settings
    from ua_tui.tui.app.app import UaTuiApp


def open_context(app: UaTuiApp) -> None:
    """Show what fills the context."""
    from ua_tui.tui.screens.session.context import ContextScreen

    app.push_screen(ContextScreen(app.controls))


def open_connections(app: UaTuiApp) -> None:
    """Show the connections."""
    from ua_tui.tui.screens.services.connections import ConnectionsScreen

    app.push_screen(ConnectionsScreen(app.settings, lambda: app.session))


def open_permissions(app: UaTuiApp) -> None:
    """Show the permission rules."""
    from ua_tui.tui.screens.services.permissions import PermissionsScreen

    app.push_screen(PermissionsScreen(lambda: app.session))


def open_agents(app: UaTuiApp) -> None:
    """Show the sub-agents and skills."""
    from ua_tui.tui.screens.services.agents import AgentsScreen

    app.push_screen(AgentsScreen(app.settings, lambda: app.session))


def open_blacklist(app: UaTuiApp) -> None:
    """Show the blacklist of the web reader."""
    from ua_tui.core.storage.folders import WORKSPACES
    from ua_tui.core.web_reader import Blacklist
    from ua_tui.tui.screens.services.blacklist import BlacklistScreen

    blacklist = Blacklist(app.settings.workspace_base / WORKSPACES)
    app.push_screen(BlacklistScreen(blacklist))


def export(app: UaTuiApp) -> None:
    """Export the session that is shown."""
    from ua_tui.tui.screens.files.export import export_session

    if (session := app.session) is None:
        app.notify("There is no session to export yet.")
    else:
        export_session(app, session.workspace.path)


def run_in_pane(app: UaTuiApp, pane: str, action: str) -> None:
    """Show a pane, and run one of its actions there."""
    app.frame.show(pane)
    widget = app.frame.query_one(f"#{pane}")
    if widget.is_attached and not isinstance(widget, Placeholder):
        # Later, because the pane has the focus only then.
        app.call_later(widget.run_action, action)


def follow(app: UaTuiApp) -> None:
    """Go to the end of the active pane; from the prompt, of the conversation."""
    if app.frame.active == "workspace":
        app.notify("The workspace has no output to follow.")
    else:
        run_in_pane(app, app.frame.active, "cursor_end")


def open_trace_link(app: UaTuiApp) -> None:
    """Offer the web page of the session's trace; show what is known of the trace if it has none."""
    from ua_tui.tui.screens.files.link import follow_link

    session = app.session
    trace = session.trace if session is not None else None
    if trace is not None and trace.link is not None:
        follow_link(app.screen, trace.link)
    else:
        app.status.open()


async def ask_again(app: UaTuiApp, report: Path) -> None:
    """Ask the query of a report again after a confirmation: end this session, and begin a new one."""
    from ua_tui.core.events.units import duration, money
    from ua_tui.core.history.report_query import PAGE_AGE, find_query
    from ua_tui.tui.screens.session.confirm import ConfirmScreen

    query = None
    with refusals_notified(app):
        query = await asyncio.to_thread(find_query, report)
    if query is None:
        return
    took = ""
    if (end := query.end) is not None:
        cost = f" and cost {money(end.cost_usd)}" if end.cost_usd else ""
        took = f" The last run took {duration(end.duration_ms / 1000)}{cost}."
    advice = (
        "A new session runs the query, and this one is closed. Pages read in the last "
        f"{PAGE_AGE // 86_400} days are not fetched again. Then both sessions are compared.{took}"
    )

    def answered(is_wanted: bool | None) -> None:
        if is_wanted and not _is_busy(app):
            app.shutdown.begin("quit", result=ToAskAgain(report))

    question = f"Ask “{clean_line(query.text, 200)}” again?"
    app.push_screen(ConfirmScreen("Again", question, advice, yes="Ask again", no="Stay here"), answered)


def open_sessions(app: UaTuiApp) -> None:
    """Show all sessions."""
    from ua_tui.core.history.index import SessionIndex
    from ua_tui.tui.screens.session.sessions import SessionsScreen

    session = app.session
    current = session.workspace.path if session is not None else None
    index = SessionIndex(app.settings.workspace_base, knowledge=app.knowledge)
    screen = SessionsScreen(index, current=current, database=app.knowledge)
    app.push_screen(screen, partial(_resume_session, app))


def open_replay(app: UaTuiApp) -> None:
    """Replay this session, as far as it has happened."""
    session = app.session
    if session is None or app.frame.controls is not None:
        why = "There is no session to replay yet." if session is None else "This is a replay."
        app.notify(why)
        return
    with refusals_notified(app):
        open_read_only(app, session.workspace.path, "replay")


def open_fleet(app: UaTuiApp) -> None:
    """Show the sessions of this machine and of the team."""
    from ua_tui.core.history.index import SessionIndex
    from ua_tui.core.team.fleet.source import FleetSource
    from ua_tui.tui.screens.team.fleet import FleetScreen

    settings = app.settings
    index = SessionIndex(settings.workspace_base)
    with refusals_notified(app):
        app.push_screen(FleetScreen(FleetSource(index, team_of(settings))))


def fork_session(app: UaTuiApp, query_id: str, text: str) -> None:
    """Fork the session before a query, after a confirmation; then end this session, and resume the fork."""
    from ua_tui.tui.screens.session.confirm import ConfirmScreen

    if app.session is None or _is_busy(app):
        return
    if refusal := app.source.fork_refusal:
        app.notify(refusal)
        return
    is_replay = app.frame.controls is not None
    closed = "The replay is closed." if is_replay else "This session stays as it is, and is closed."
    if app.source.closes_on_escape:
        closed += " When you quit the fork, you return to where you opened it."
    advice = f"A new session starts with everything before this query. You can change the query. {closed}"
    dialog = ConfirmScreen(
        "Fork", f"Fork before “{clean_line(text, 160)}”?", advice, yes="Fork", no="Stay here"
    )
    fork = partial(_fork, app, app.session.workspace.path, query_id)

    def answered(is_wanted: bool | None) -> None:
        if is_wanted:
            app.spawn(fork, "fork", "fork")

    app.push_screen(dialog, answered)


async def _fork(app: UaTuiApp, folder: Path, query_id: str) -> None:
    from ua_tui.core.session.fork import fork_with

    try:
        fork = await asyncio.to_thread(fork_with, app.settings, folder, query_id)
    except UniversalAgentError as error:
        app.notice.show(error.advice.sentence)
    else:
        _resume_session(app, fork)


async def resume_shown(app: UaTuiApp) -> None:
    """Resume the past session that is shown, or say why not."""
    from ua_tui.core.session.resume import prepare_resume

    if (session := app.session) is None:
        return
    folder = session.workspace.path
    try:
        await asyncio.to_thread(prepare_resume, replace(app.settings, demo=False), folder)
    except UniversalAgentError as error:
        app.notice.show(error.advice.sentence)
    else:
        _resume_session(app, folder)


def _resume_session(app: UaTuiApp, folder: Path | None) -> None:
    """End this session, and resume the one in `folder`."""
    if folder is not None and not _is_busy(app):
        app.shutdown.begin("quit", result=ToResume(folder))


def _is_busy(app: UaTuiApp) -> bool:
    """Whether the agent is running, which the user is notified of."""
    if app.state not in ("running", "stopping"):
        return False
    stop = app.keys.shown("stop")
    app.notify(f"The agent is running: stop it with {stop}, or wait until it has finished.")
    return True


def team_of(settings: Settings) -> Address | None:
    """The team's database in the settings; None without one.

    Raises:
        SettingsError: it is no address.
    """
    from ua_tui.core.postgres.address import Address

    text: str | None = settings.team
    return Address.parse(text) if text else None
