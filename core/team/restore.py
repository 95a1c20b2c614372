"""Makes a session's folder from PostgreSQL: once, to resume the session here, or continuously, to follow it.

What the database has is not trusted: others may write to it.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from ua_tui.core.errors import TeamError, UniversalAgentError, WorkspaceError
from ua_tui.core.history.headline import time_in
from ua_tui.core.log import log
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import fetch
from ua_tui.core.postgres.problems import is_temporary
from ua_tui.core.postgres.schema import sharing
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.ownership import seal_session
from ua_tui.core.storage.paths import numbered, safe_name
from ua_tui.core.storage.workspace import CONVERSATION, JOURNAL, Workspace, is_record
from ua_tui.core.tasks import end_tasks, pause
from ua_tui.core.team.folder_copy import LARGEST, store_identity
from ua_tui.core.team.records import SessionId
from ua_tui.core.text import clean_line

_POLL_S = 2.0
_ANSWER_S = 30.0
_OVER = ("done", "failed")
_TRANSCRIPT = re.compile(rf"{re.escape(CONVERSATION)}/[0-9A-Za-z][0-9A-Za-z-]{{0,99}}(/[^/.][^/]*)*\.jsonl")
_SESSION = "SELECT id, owner::text, name, state, attempt FROM session WHERE id = %s"
# Not too much at once: many long pieces must not fill the memory. How long one is, the server knows without reading it.
_PIECES = """
SELECT start, data, stored FROM (
    SELECT *, sum(octet_length(data)) OVER (ORDER BY start) - octet_length(data) AS before FROM (
        SELECT start, data, (SELECT start + octet_length(data) FROM piece
            WHERE session = %(session)s AND path = %(path)s ORDER BY start DESC LIMIT 1) AS stored
        FROM piece WHERE session = %(session)s AND path = %(path)s AND start >= coalesce((
            SELECT max(start) FROM piece WHERE session = %(session)s AND path = %(path)s AND start <= %(at)s), 0)
        ORDER BY start LIMIT 500
    ) AS next
) AS counted WHERE before < 16777216 ORDER BY start
"""
_TRANSCRIPTS = """
SELECT DISTINCT path FROM piece WHERE session = %s AND path <> %s AND NOT starts_with(path, '.files/')
"""
# Only content of the session's owner: whoever knows the digest of a private file may have recorded it.
_FILES = """
SELECT a.path, a.sha256, a.size,
    NOT EXISTS (SELECT FROM blob b WHERE b.sha256 = a.sha256 AND b.owner = %s) AS is_large
FROM artifact a WHERE a.session = %s ORDER BY a.saved_at, a.path
"""
_CONTENT = "SELECT data FROM blob WHERE sha256 = %s AND owner = %s"
_LARGE = """
SELECT data FROM piece WHERE session = %s AND path = '.files/' || %s AND start >= %s
    AND octet_length(data) BETWEEN 1 AND 4194304
ORDER BY start LIMIT 4
"""


async def restored_workspace(address: Address, session_id: str, base: Path) -> Workspace:
    """Make the folder of a session below `base` from what the database has, so that it can be resumed.

    It gets the name that it had, or one with a number if that is taken here. It is still locked: to a program that
    starts it looks like that of a session that was killed, whose files it would write again.

    Raises:
        TeamError: the database cannot be used, or has no such session.
        WorkspaceError: the folder cannot be written.
    """
    # While what one statement has brought is written, others may use the connection.
    async with sharing(address, 1) as shared:
        session = await _read_session(shared, session_id)
        began = time_in(session.name) or datetime.now().astimezone()
        workspace = await asyncio.to_thread(Workspace.create, base, began)
        try:
            pull = _Pull(shared, session, workspace)
            await pull.pieces(JOURNAL)
            if not workspace.exists(JOURNAL):
                raise TeamError(f"the session {session.name!r} has no journal in the team's database")
            await pull.transcripts()
            await pull.files(large=True)
            # Resumed by a person, it continues as the same session of the team.
            identity = SessionId(id=session.id, attempt=session.attempt)
            await asyncio.to_thread(store_identity, workspace, identity)
            await asyncio.to_thread(seal_session, workspace.root)
        except BaseException:
            # A part of a session would be taken for all of it.
            await asyncio.to_thread(workspace.discard)
            raise
    return workspace


class SessionMirror:
    """A folder in the user's cache that follows a session which runs elsewhere, for a screen that shows it.

    It holds the lock of the folder as long as the session runs, so that it counts as running elsewhere. Large files are
    not brought. It can be started again after a failure.
    """

    def __init__(self, address: Address, session_id: str) -> None:
        self._address = address
        self._session_id = session_id
        self._resources = AsyncExitStack()
        self._changed = asyncio.Event()

    async def start(self) -> Path:
        """Bring what there is, and begin to follow; returns the folder.

        Raises:
            TeamError: the database cannot be used, or has no such session.
            WorkspaceError: the folder cannot be written.
        """
        async with AsyncExitStack() as stack:
            shared = await stack.enter_async_context(sharing(self._address, 1))
            session = await _read_session(shared, self._session_id)
            workspace = await asyncio.to_thread(self._open_folder)
            stack.callback(workspace.close)
            pull = _Pull(shared, session, workspace)
            await pull.pieces(JOURNAL)
            if session.state in _OVER:
                workspace.close()
            assert shared.connections is not None
            stack.callback(shared.connections.listener.subscribe(self._handle_notice))
            following = asyncio.create_task(self._follow(pull), name="team: mirror")
            stack.push_async_callback(end_tasks, following)
            if self._address.connections is None:
                # A statement that the network swallows would be waited for.
                stack.callback(shared.connections.shut_down)
            self._resources = stack.pop_all()
        return workspace.path

    async def close(self) -> None:
        """Stop following; the folder stays."""
        await self._resources.aclose()

    def _handle_notice(self, payload: str) -> None:
        if payload in ("", f"session {self._session_id}"):
            self._changed.set()

    async def _follow(self, pull: _Pull) -> None:
        """Bring what is new until it is cancelled, or until there is no use in trying again."""
        while True:
            self._changed.clear()
            try:
                pull.session = await _read_session(pull.address, self._session_id)
                await pull.pieces(JOURNAL)
                await pull.files()
                # Somebody may resume it. Not in a thread, which would go on when this is cancelled.
                (pull.workspace.close if pull.session.state in _OVER else pull.workspace.lock)()
            except (UniversalAgentError, OSError) as error:
                if not is_temporary(error) and not isinstance(error, WorkspaceError):
                    log.warning("the session is no longer followed: %s", error)
                    return
            await pause(_POLL_S, self._changed)
            await pause(0.05)

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
        raise WorkspaceError(f"cannot make a folder in {base}: it has too many; remove some of them")


async def _read_session(address: Address, session: str) -> Any:
    """The row of a session; its state is that of its last attempt.

    Raises:
        TeamError: there is none that this user may see.
    """
    if rows := await fetch(address, _SESSION, (session,)):
        return rows[0]
    raise TeamError(f"the team's database {address} has no session {clean_line(session, 60)!r} for this user")


@dataclass
class _Pull:
    """Brings what is new of a session into a folder."""

    address: Address
    session: Any
    workspace: Workspace
    _written: dict[str, str] = field(default_factory=dict)

    async def pieces(self, path: str) -> None:
        """Append what is new of a file that only grows; a file that the session has begun anew is made anew.

        Raises:
            WorkspaceError: it cannot be written.
        """
        root = self.workspace.root
        at = await asyncio.to_thread(_end_of, root, path)
        known, rest = at, b""
        while True:
            # First with the piece before the end, which shows whether the file is still that of the session.
            given = {"session": self.session.id, "path": path, "at": at - bool(known)}
            rows = await self._fetch(_PIECES, given)
            if known and (not rows or not await asyncio.to_thread(_agrees, root, path, at, rows[0])):
                await asyncio.to_thread(root.remove, path)
                at = known = 0
                continue
            may_end = not known or at >= rows[0].stored
            known = 0
            begun = at
            for start, data, _ in rows:
                # Whoever may write to the database may have added one that does not follow.
                if start <= at < start + len(data):
                    rest += data[at - start :]
                    at = start + len(data)
            lines, newline, rest = rest.rpartition(b"\n")
            if newline:
                await asyncio.to_thread(root.append_lines, path, lines.split(b"\n"))
            if at == begun and may_end:
                return

    async def transcripts(self) -> None:
        """Write the transcripts of the session's conversations; a name that leads elsewhere is skipped."""
        for (path,) in await self._fetch(_TRANSCRIPTS, (self.session.id, JOURNAL)):
            try:
                if _TRANSCRIPT.fullmatch(path) is None:
                    raise WorkspaceError("it is not a transcript")
                await self.pieces(path)
            except WorkspaceError as error:
                log.warning("%s of the session is skipped: %s", clean_line(path, 100), error)

    async def files(self, *, large: bool = False) -> None:
        """Write the files that were stored since the last time, those stored first first; `large` ones if wanted."""
        for file in await self._fetch(_FILES, (self.session.owner, self.session.id)):
            if self._written.get(file.path) == file.sha256 or (file.is_large and not large):
                continue
            if is_record(file.path):
                # The session itself writes its records; those of another one could bring it to do anything.
                log.warning("a file of the session is skipped: %s is a record", clean_line(file.path, 100))
            elif not await asyncio.to_thread(_has, self.workspace.root, file):
                await self._file(file)
                if not large:
                    # Lines have precedence over many files.
                    await self.pieces(JOURNAL)
            self._written[file.path] = file.sha256

    async def _file(self, file: Any) -> None:
        """Write a file of the session, unless its content is missing or its path refused."""
        pieces = [] if file.is_large else await self._fetch(_CONTENT, (file.sha256, self.session.owner))
        at, end = 0, file.size if file.is_large and file.size <= LARGEST else 0
        # Where the database fails, the file is not missing. Its owner may have written what has no end.
        while at < end and (rows := await self._fetch(_LARGE, (self.session.id, file.sha256, at))):
            pieces += rows
            at += sum(len(data) for (data,) in rows)
        try:
            write = self.workspace.root.write_chunks
            await asyncio.to_thread(write, file.path, _verified((data for (data,) in pieces), file.sha256))
        except UniversalAgentError as error:
            log.warning("the file %s of the session is missing: %s", clean_line(file.path, 100), error)

    async def _fetch(self, statement: str, values: Any) -> list[Any]:
        return await fetch(self.address, statement, values, within=_ANSWER_S)


def _verified(pieces: Iterable[bytes], sha256: str) -> Iterator[bytes]:
    """Pass on a file piece by piece; raises a `TeamError` at its end if it is another one."""
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
        yield piece
    if digest.hexdigest() != sha256:
        raise TeamError("its content is not what was stored")


def _agrees(root: Root, path: str, end: int, row: Any) -> bool:
    """Whether a file up to its end is what is stored, as far as a piece says it."""
    known: bytes = row.data[: max(0, end - row.start)]
    with root.opened(path) as file:
        file.seek(row.start)
        return file.read(len(known)) == known and bool(row.stored >= end)


def _end_of(root: Root, path: str) -> int:
    """How much of a file there is; one that was cut off is made again."""
    if not root.exists(path):
        return 0
    with root.opened(path) as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 1))
        if file.read() == b"\n":
            return size
    root.remove(path)
    return 0


def _has(root: Root, file: Any) -> bool:
    """Whether the folder has a file already, as from an earlier time."""
    with suppress(WorkspaceError), root.opened(file.path) as found:
        return bool(hashlib.file_digest(found, "sha256").hexdigest() == file.sha256)
    return False
