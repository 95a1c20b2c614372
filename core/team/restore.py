"""Makes a session's folder from PostgreSQL: once, to resume the session here, or continuously, to follow it."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from contextlib import AsyncExitStack, nullcontext, suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from ua_tui.core.errors import TeamError, WorkspaceError
from ua_tui.core.history.headline import time_in
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import Connection, connected, listen, shut_down
from ua_tui.core.postgres.problems import is_temporary
from ua_tui.core.storage.ownership import seal_session
from ua_tui.core.storage.paths import numbered, safe_name
from ua_tui.core.storage.workspace import JOURNAL, Workspace
from ua_tui.core.tasks import end_tasks
from ua_tui.core.team.records import SessionId
from ua_tui.core.team.replication import pulling
from ua_tui.core.team.replication.folder_copy import store_identity
from ua_tui.core.team.replication.large_files import FilePlace, open_place
from ua_tui.core.team.replication.pulling import Borrow, PulledFile, SessionRow

log = logging.getLogger(__name__)

_POLL_S = 2.0
_LATE = timedelta(minutes=2)
_OVER = ("done", "failed")


async def restore_session(
    address: Address, session_id: str, base: Path, *, artifacts: Path | str | None = None
) -> Path:
    """Make the folder of a session below `base` from what the database has, so that it can be resumed.

    It gets the name that it had, or one with a number if that is taken here.

    `artifacts` is where files above 5 MB are, as in the setting `team_artifacts`; without it they are missing.

    Raises:
        TeamError: the database cannot be used, or has no such session.
        WorkspaceError: the folder cannot be written.
    """
    place = await asyncio.to_thread(open_place, artifacts)
    async with AsyncExitStack() as stack:
        connection: Borrow = partial(connected, address)
        if address.connections is None:
            # To connect for each file takes much longer than to read it.
            connection = _only(await stack.enter_async_context(connected(address)))
        session = await pulling.read_session(connection, session_id, address)
        began = time_in(session.name) or datetime.now().astimezone()
        workspace = await asyncio.to_thread(Workspace.create, base, began)
        try:
            await _fill(connection, session, workspace, place)
        except BaseException:
            # A part of a session would be taken for all of it.
            await asyncio.to_thread(workspace.discard)
            raise
        await asyncio.to_thread(workspace.close)
    return workspace.path


async def _fill(
    connection: Borrow, session: SessionRow, workspace: Workspace, place: FilePlace | None
) -> None:
    await pulling.pull_pieces(connection, session, workspace, JOURNAL)
    if not workspace.exists(JOURNAL):
        raise TeamError(f"the session {session.name!r} has no journal in the team's database")
    await pulling.pull_transcripts(connection, session, workspace)
    for file in await pulling.pull_files(connection, session):
        await pulling.pull_file(connection, session, file, workspace, place)
    # Resumed by a person, it continues as the same session of the team.
    identity = SessionId(id=session.id, attempt=session.attempt)
    await asyncio.to_thread(store_identity, workspace, identity)
    await asyncio.to_thread(seal_session, workspace.root)


class SessionMirror:
    """A folder in the user's cache that follows a session which runs elsewhere, for a screen that shows it.

    It holds the lock of the folder as long as the session runs, so that it counts as running elsewhere. Large files are
    not brought. It can be started again after a failure.

    Args:
        address: the database.
        session_id: the id of the session there.
    """

    def __init__(self, address: Address, session_id: str) -> None:
        self._address = address
        self._session_id = session_id
        self._workspace: Workspace | None = None
        self._files_since: datetime | None = None
        self._written: dict[str, str] = {}
        self._task: asyncio.Task[None] | None = None
        self._connection: Connection | None = None
        self._locking: asyncio.Future[bool | None] | None = None
        self._closed = False

    async def start(self) -> Path:
        """Bring what there is, and begin to follow; returns the folder.

        Raises:
            TeamError: the database cannot be used, or has no such session.
            WorkspaceError: the folder cannot be written.
        """
        self._closed = False
        try:
            async with connected(self._address) as db:
                session = await pulling.read_session(_only(db), self._session_id, self._address)
                workspace = self._workspace = await asyncio.to_thread(self._open_folder)
                await pulling.pull_pieces(_only(db), session, workspace, JOURNAL)
                if session.state in _OVER:
                    workspace.close()
        except BaseException:
            await self.close()
            raise
        following = listen(self._address, self._follow, self._handle_loss)
        self._task = asyncio.create_task(following, name="team: mirror")
        return workspace.path

    async def close(self) -> None:
        """Stop following; the folder stays."""
        self._closed = True
        if self._connection is not None:
            shut_down(self._connection)
        if self._task is not None:
            await end_tasks(self._task)
        if self._workspace is not None:
            if self._locking is not None:
                # A thread goes on when its task is cancelled, and would lock the folder again.
                await asyncio.wait([self._locking])
            await asyncio.to_thread(self._workspace.close)

    def _handle_loss(self, error: Exception) -> bool:
        """Whether there is no use in following again."""
        is_over = not is_temporary(error) and not isinstance(error, WorkspaceError)
        if is_over:
            log.warning("the session is no longer followed: %s", error)
        return is_over or self._closed

    async def _follow(self, db: Connection) -> None:
        """Bring what is new until the mirror is closed or the connection is lost."""
        self._connection = db
        connection = _only(db)
        while not self._closed:
            session = await pulling.read_session(connection, self._session_id, self._address)
            assert self._workspace is not None
            await pulling.pull_pieces(connection, session, self._workspace, JOURNAL)
            await self._pull_files(connection, session, self._workspace)
            # Somebody may resume it.
            is_over = session.state in _OVER
            locking = asyncio.to_thread(self._workspace.close if is_over else self._workspace.lock)
            self._locking = asyncio.ensure_future(locking)
            await asyncio.shield(self._locking)
            await self._wait_for_change(db)

    async def _wait_for_change(self, db: Connection) -> None:
        wanted = f"session {self._session_id}"
        until = time.monotonic() + _POLL_S
        while (left := until - time.monotonic()) > 0:
            async for notice in db.notifies(timeout=left, stop_after=1):
                if notice.payload == wanted:
                    await asyncio.sleep(0.05)
                    return

    async def _pull_files(self, connection: Borrow, session: SessionRow, workspace: Workspace) -> None:
        for file in await pulling.pull_files(connection, session, self._files_since):
            # A transaction that began earlier may end later.
            self._files_since = file.saved - _LATE
            if not file.is_large and self._written.get(file.path) != file.sha256:
                if not await asyncio.to_thread(_has, workspace, file):
                    await pulling.pull_file(connection, session, file, workspace, None)
                    # Lines have precedence over many files.
                    await pulling.pull_pieces(connection, session, workspace, JOURNAL)
                self._written[file.path] = file.sha256

    def _open_folder(self) -> Workspace:
        """Open and lock the folder; where another program follows the same session, one with a number."""
        from platformdirs import user_cache_path

        server = hashlib.sha256(self._address.url.encode()).hexdigest()[:12]
        base = user_cache_path("ua-tui") / "team" / server
        for name in numbered(safe_name(self._session_id)):
            folder = base / name
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(WorkspaceError):
                return Workspace.claim(folder)
        raise WorkspaceError(f"cannot make a folder in {base}: remove some there")


def _only(db: Connection) -> Borrow:
    """The same connection for every statement."""
    return lambda: nullcontext(db)


def _has(workspace: Workspace, file: PulledFile) -> bool:
    """Whether the folder has a file already, as from an earlier time."""
    try:
        if workspace.root.size(file.path) != file.size:
            return False
        with workspace.root.opened(file.path) as found:
            return hashlib.file_digest(found, "sha256").hexdigest() == file.sha256
    except WorkspaceError:
        return False
