"""Brings a session from PostgreSQL into a folder. What the database has is not trusted: others may write to it."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from typing import NamedTuple

from ua_tui.core.errors import TeamError, UniversalAgentError, WorkspaceError
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import Connection, answering_within, rows_of
from ua_tui.core.postgres.schema import check_tables
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.workspace import CONVERSATION, JOURNAL, Workspace, is_record
from ua_tui.core.team.replication.large_files import FilePlace, verified
from ua_tui.core.text import clean_line

log = logging.getLogger(__name__)

Borrow = Callable[[], AbstractAsyncContextManager[Connection]]
"""Gives a connection for one statement: while what it has brought is written, others may use it."""
_ANSWER_S = 30.0
_TRANSCRIPT = re.compile(rf"{re.escape(CONVERSATION)}/[0-9A-Za-z][0-9A-Za-z-]{{0,99}}(/[^/.][^/]*)*\.jsonl")
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


class SessionRow(NamedTuple):
    """What the database says of a session; `state` is that of its last attempt."""

    id: str
    owner: str
    name: str
    state: str
    attempt: int


class PulledFile(NamedTuple):
    """A file of a session, and when it was stored; `is_large` says that its content is not in the database."""

    path: str
    sha256: str
    size: int
    saved: datetime
    is_large: bool


@asynccontextmanager
async def _asking(connection: Borrow) -> AsyncIterator[Connection]:
    async with connection() as db:
        with answering_within(db, _ANSWER_S):
            yield db


async def read_session(connection: Borrow, session: str, address: Address) -> SessionRow:
    """Read the row of a session.

    Raises:
        TeamError: there is none that this user may see, or the tables are of another version.
    """
    async with _asking(connection) as db:
        await check_tables(db, address)
        rows = await rows_of(
            db, "SELECT id, owner::text, name, state, attempt FROM session WHERE id = %s", (session,)
        )
    if not rows:
        raise TeamError(
            f"the team's database {address} has no session {clean_line(session, 60)!r} for this user"
        )
    return SessionRow(*rows[0])


async def pull_pieces(connection: Borrow, session: SessionRow, workspace: Workspace, path: str) -> None:
    """Append what is new of a file that only grows; a file that the session has begun anew is made anew.

    Raises:
        WorkspaceError: it cannot be written.
    """
    root = workspace.root
    at = await asyncio.to_thread(_end_of, root, path)
    known, rest = at, b""
    while True:
        async with _asking(connection) as db:
            # First with the piece before the end, which shows whether the file is still that of the session.
            given = {"session": session.id, "path": path, "at": at - bool(known)}
            rows = await rows_of(db, _PIECES, given)
        if known and (not rows or not await asyncio.to_thread(_agrees, root, path, at, rows[0])):
            await asyncio.to_thread(root.remove, path)
            at = known = 0
            continue
        may_end = not known or at >= rows[0][2]
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


async def pull_transcripts(connection: Borrow, session: SessionRow, workspace: Workspace) -> None:
    """Write the transcripts of the session's conversations; a name that leads elsewhere is skipped."""
    async with _asking(connection) as db:
        paths = await rows_of(
            db, "SELECT DISTINCT path FROM piece WHERE session = %s AND path <> %s", (session.id, JOURNAL)
        )
    for (path,) in paths:
        if _TRANSCRIPT.fullmatch(path) is None:
            log.warning("%s of the session is skipped: it is no transcript", clean_line(path, 100))
            continue
        try:
            await pull_pieces(connection, session, workspace, path)
        except WorkspaceError as error:
            log.warning("%s of the session is skipped: %s", clean_line(path, 100), error)


async def pull_files(
    connection: Borrow, session: SessionRow, since: datetime | None = None
) -> list[PulledFile]:
    """The files of a session that may be written to its folder, those stored first first; only those stored `since`."""
    async with _asking(connection) as db:
        rows = await rows_of(
            db,
            # Only content of the session's owner: whoever knows the digest of a private file may have recorded it.
            "SELECT a.path, a.sha256, a.size, a.saved_at,"
            " NOT EXISTS (SELECT FROM blob b WHERE b.sha256 = a.sha256 AND b.owner = %s) AS is_large"
            " FROM artifact a WHERE a.session = %s AND a.saved_at >= coalesce(%s, a.saved_at)"
            " ORDER BY a.saved_at, a.path",
            (session.owner, session.id, since),
        )
    files = [PulledFile(*row) for row in rows]
    # The session itself writes its records; those of another one could bring it to do anything.
    for file in (each for each in files if is_record(each.path)):
        log.warning("a file of the session is skipped: %s is a record", clean_line(file.path, 100))
    return [each for each in files if not is_record(each.path)]


async def pull_file(
    connection: Borrow, session: SessionRow, file: PulledFile, workspace: Workspace, place: FilePlace | None
) -> bool:
    """Write a file of a session; returns whether that was possible: its content may be missing, or its path refused."""
    content = []
    # Where the database fails, the file is not missing.
    if not file.is_large:
        async with _asking(connection) as db:
            statement = "SELECT data FROM blob WHERE sha256 = %s AND owner = %s"
            content = await rows_of(db, statement, (file.sha256, session.owner))
    try:
        if not file.is_large:
            pieces = [bytes(data) for (data,) in content]
            await asyncio.to_thread(workspace.root.write_chunks, file.path, verified(pieces, file.sha256))
        elif place is not None:
            # Where the row says it is does not matter: it could name any file of this machine.
            await asyncio.to_thread(
                lambda: workspace.root.write_chunks(file.path, verified(place.read(file.sha256), file.sha256))
            )
        else:
            raise TeamError("it is large, and no `team_artifacts` is set here")
    except UniversalAgentError as error:
        log.warning("the file %s of the session is missing: %s", clean_line(file.path, 100), error)
        return False
    return True


def _agrees(root: Root, path: str, end: int, row: tuple[int, bytes, int]) -> bool:
    """Whether a file up to its end is what is stored, as far as a piece says it."""
    start, data, stored = row
    known = data[: max(0, end - start)]
    with root.opened(path) as file:
        file.seek(start)
        return stored >= end and file.read(len(known)) == known


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
