"""Follows one session of the fleet on the full screen: one of the team, or one that another program here runs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from ua_tui.tui.cli.output import complain, screen_problem

if TYPE_CHECKING:
    from ua_tui.core.postgres.address import Address
    from ua_tui.core.settings.model import Settings
    from ua_tui.core.team.fleet.followed_session import SessionFolder
    from ua_tui.core.team.records import Mailbox
    from ua_tui.tui.replay.followed_source import FollowedSource


def follow(settings: Settings, session: str, address: Address | None, folder: Path | None) -> int:
    """Show a session until the person goes back; returns the exit code.

    Args:
        settings: the theme, the keys, and where the sessions of this machine are.
        session: its id.
        address: the team's database; None if this machine's jobs have it.
        folder: its folder, if it is on this machine.

    Raises:
        TeamError: the team's database cannot be used, or has no such session.
    """
    if problem := screen_problem():
        return complain(problem)
    source = asyncio.run(make_source(settings, session, address, folder))
    from ua_tui.tui.app.app import UaTuiApp
    from ua_tui.tui.app.controllers.attention import Attention
    from ua_tui.tui.layout.store import LayoutStore
    from ua_tui.tui.theme.store import store_theme

    app = UaTuiApp(settings, source, layout=LayoutStore())
    app.attention = Attention(settings, app.write_to_terminal)
    app.theme_store = store_theme
    app.run()
    return app.return_code or 0


async def make_source(
    settings: Settings, session: str, address: Address | None, folder: Path | None
) -> FollowedSource:
    """Make the source of the screen; questions can be answered if the session works on a job.

    Raises:
        TeamError: the team's database cannot be used, or has no such session.
    """
    from ua_tui.core.errors import TeamError
    from ua_tui.core.storage.folders import WORKSPACES
    from ua_tui.core.team.fleet.followed_session import LocalFolder
    from ua_tui.tui.replay.followed_source import FollowedSource

    place: SessionFolder
    mailbox: Mailbox | None = None
    if address is None:
        from ua_tui.core.team.fleet.local import JOBS
        from ua_tui.core.team.local_mailbox import SqliteMailbox

        if folder is None:
            raise TeamError("a session of this machine is followed in its folder: give --folder")
        mailbox = SqliteMailbox(settings.workspace_base / WORKSPACES / JOBS)
        return FollowedSource(LocalFolder(folder), session, mailbox)
    from ua_tui.core.team.fleet.database import find_session

    row = await find_session(address, session)
    if row.takes_answers:
        from ua_tui.core.team.mailbox import PostgresMailbox

        mailbox = PostgresMailbox(address)
    if folder is not None:
        place = LocalFolder(folder)
    else:
        from ua_tui.core.team.fleet.mirrored_folder import MirroredFolder

        place = MirroredFolder(address, session, settings.team_artifacts)
    return FollowedSource(place, session, mailbox, where=row.where)
