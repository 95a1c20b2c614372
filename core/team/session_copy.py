"""The copy of a running session in the team's database: begins and ends with the session, and reports in it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ua_tui.core.bus import Bus
from ua_tui.core.errors import SettingsError
from ua_tui.core.events.types import ErrorRaised
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.problems import needing_extra
from ua_tui.core.records.journal_reader import read_events
from ua_tui.core.redaction.redactor import Redactor, error_raised
from ua_tui.core.session.resume import PreviousState
from ua_tui.core.settings.model import Settings
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.team.records import SessionId
from ua_tui.core.team.replica import SessionReplica
from ua_tui.core.team.replication.folder_copy import next_identity, store_identity

if TYPE_CHECKING:
    from ua_tui.core.session.session import Session

log = logging.getLogger(__name__)

_CLOSE_S = 3.0
"""How long the end of a session waits for its copy, in seconds."""
_LAST_LINE_S = 0.5


async def open_team_copy(
    settings: Settings,
    workspace: Workspace,
    bus: Bus,
    previous: PreviousState | None = None,
    identity: SessionId | None = None,
    address: Address | None = None,
) -> TeamCopy:
    """Prepare the copy of a session as its settings say; it begins with `start`.

    `previous` is the state of a session that is resumed. `identity` says which session of the team it is; without one
    it is the one that its folder names, or a new one. `address` is that of the setting, with connections to share.

    Raises:
        TeamError: the packages for a team are not installed.
        SettingsError: there is no usable address.
    """
    with needing_extra():
        await asyncio.to_thread(import_module, "psycopg")
    if address is None:
        if settings.team is None:
            raise SettingsError("a session of the team needs the address of its database: set `team`")
        address = Address.parse(settings.team)
    claimed = identity is not None
    if identity is None:
        identity = await asyncio.to_thread(next_identity, workspace)
    else:
        await asyncio.to_thread(store_identity, workspace, identity)
    copy = TeamCopy(bus, workspace, claimed=claimed)
    copy.replica = SessionReplica(
        address,
        identity,
        workspace,
        claimed=claimed,
        place=settings.team_artifacts,
        previous=previous,
        report=copy.handle_failure,
        on_superseded=copy.handle_superseded,
    )
    bus.subscribe(copy.replica.handle_event)
    return copy


async def copy_rest(
    address: Address,
    identity: SessionId,
    folder: Path,
    *,
    redactor: Redactor,
    place: Path | str | None = None,
    within: float,
) -> bool:
    """Copy what could not be copied while a session ran, which is over; returns whether everything is copied.

    Raises:
        JournalError: the folder has no journal that can be read.
        WorkspaceError: the folder cannot be used, or another program works in it.
    """
    workspace = await asyncio.to_thread(Workspace.claim, folder, redactor)
    try:
        replica = SessionReplica(address, identity, workspace, place=place, ended=True)

        def follow() -> None:
            for event in read_events(workspace.path):
                replica.handle_event(event)

        await asyncio.to_thread(follow)
        replica.start()
        try:
            return await replica.flush(within)
        finally:
            await replica.drain(_LAST_LINE_S)
    finally:
        await asyncio.to_thread(workspace.close)


class TeamCopy:
    """Copies a session, and reports in it what goes wrong with that. `open_team_copy` makes it."""

    replica: SessionReplica

    def __init__(self, bus: Bus, workspace: Workspace, *, claimed: bool) -> None:
        self._bus = bus
        self._claimed = claimed
        self._redactor = workspace.redactor
        self._session: Session | None = None
        self._person = False
        self._open = True
        self._left_s = _CLOSE_S
        self._ending: asyncio.Task[None] | None = None

    def line_handler(self, on_line: Callable[[bytes], None] | None) -> Callable[[bytes], None]:
        """What the journal calls with every line: the copy, and `on_line` if there is one."""
        if on_line is None:
            return self.replica.handle_line

        def handle_line(line: bytes) -> None:
            self.replica.handle_line(line)
            on_line(line)

        return handle_line

    def start(self, session: Session, *, interactive: bool) -> None:
        """Begin to copy the session.

        If another worker continues it, a job ends. A session that a person sees is only interrupted.
        """
        self._session = session
        self._person = interactive and not self._claimed
        self.replica.start()

    async def flush(self) -> None:
        """Copy what there is before the last event of the session, and report what could not be copied."""
        begun = time.monotonic()
        limit = 1.0 if self.replica.is_failing else _CLOSE_S - _LAST_LINE_S
        if not await self.replica.flush(limit) and not self.replica.is_superseded:
            rest = await asyncio.to_thread(self.replica.describe_rest)
            self._report(
                f"{rest or 'The end of the session'} could not be copied to the team's database; the session's folder "
                "has everything, and it is copied when the session is resumed"
            )
        self._open = False
        self._left_s = max(_CLOSE_S - (time.monotonic() - begun), _LAST_LINE_S)

    async def close(self) -> None:
        """Copy the last event, and stop."""
        self._open = False
        rest = await self.replica.drain(self._left_s)
        if rest and not self.replica.is_superseded:
            log.warning("%s could not be copied to the team's database", rest)

    def handle_failure(self, error: Exception) -> None:
        """The database cannot be used: the session continues, and what is missing is copied when it can be."""
        if self._open:
            self._bus.publish(error_raised("team", error, self._redactor))

    def handle_superseded(self) -> None:
        """Another worker continues the session: this one must do nothing more."""
        self._report("another program continues this session: this one stops, and is no longer copied")
        if self._session is not None:
            stop = self._session.interrupt() if self._person else self._session.close("superseded")
            self._ending = asyncio.create_task(stop, name="team: stop")

    def _report(self, message: str) -> None:
        if self._open:
            self._bus.publish(ErrorRaised(where="team", message=message))
