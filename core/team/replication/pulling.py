"""Brings a session from PostgreSQL into a folder. What the database has is not trusted: others may write to it."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ua_tui.core.errors import TeamError, UniversalAgentError
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import answering_within
from ua_tui.core.postgres.schema import check_tables
from ua_tui.core.storage.workspace import JOURNAL, Workspace, is_record
from ua_tui.core.team.replication.folder_copy import journal_line_of, transcript_path
from ua_tui.core.team.replication.large_files import FilePlace, verified
from ua_tui.core.text import clean_line

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.AsyncConnection[Any]
    Borrow = Callable[[], AbstractAsyncContextManager[Connection]]
    """Gives a connection for one statement: while what it has brought is written, others may use it."""

log = logging.getLogger(__name__)

_ANSWER_S = 30.0
_BATCH = 500
_MOST_BYTES = 16 << 20
"""So many bytes of lines are read at once, or one line: many long ones must not fill the memory."""
_LONGEST = 80 << 20
"""A line that is longer is skipped: no session has copied it."""
_CONVERSATION = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{0,99}")


@dataclass(frozen=True, kw_only=True)
class SessionRow:
    """What the database says of a session; `state` is that of its last attempt."""

    id: str
    owner: str
    name: str
    state: str
    attempt: int


@dataclass(frozen=True, kw_only=True)
class PulledFile:
    """A file of a session, and when it was stored; `is_large` says that its content is not in the database."""

    path: str
    sha256: str
    size: int
    is_large: bool
    saved: datetime


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
        found = await db.execute(
            "SELECT id, owner::text, name, state, attempt FROM session WHERE id = %s", (session,)
        )
        row = await found.fetchone()
    if row is None:
        raise TeamError(
            f"the team's database {address} has no session {clean_line(session, 60)!r} for this user"
        )
    return SessionRow(id=row[0], owner=row[1], name=row[2], state=row[3], attempt=row[4])


async def pull_lines(connection: Borrow, session: SessionRow, workspace: Workspace, after: int) -> int:
    """Append the lines of the journal behind the number `after`; returns the number of the last one.

    Raises:
        WorkspaceError: they cannot be written.
    """
    while True:
        async with _asking(connection) as db:
            found = await db.execute(
                _some_of("seq, line", "seq", "line", "journal WHERE session = %s AND seq > %s"),
                (session.id, after),
            )
            rows = await found.fetchall()
        if not rows:
            return after
        lines = [line.encode() for seq, line in rows if _is_line(seq, line)]
        if len(lines) < len(rows):
            log.warning("%d lines of the session's journal are not events: skipped", len(rows) - len(lines))
        await asyncio.to_thread(workspace.root.append_lines, JOURNAL, lines)
        after = rows[-1][0]


async def pull_transcripts(connection: Borrow, session: SessionRow, workspace: Workspace) -> None:
    """Write the transcripts of the session's conversations.

    Raises:
        WorkspaceError: they cannot be written.
    """
    after = 0
    while True:
        async with _asking(connection) as db:
            # Anybody may add entries in their own name; they are not this session's.
            found = await db.execute(
                _some_of(
                    "id, session, subpath, entry",
                    "id",
                    "entry",
                    "entry WHERE project = %s AND owner = %s AND id > %s",
                ),
                (session.id, session.owner, after),
            )
            rows = await found.fetchall()
        if not rows:
            return
        await asyncio.to_thread(_append_entries, workspace, rows)
        after = rows[-1][0]


async def pull_files(
    connection: Borrow, session: SessionRow, since: datetime | None = None
) -> list[PulledFile]:
    """The files of a session that may be written to its folder, those stored first first; only those stored `since`."""
    async with _asking(connection) as db:
        found = await db.execute(
            # Only content of the session's owner: whoever knows the digest of a private file may have recorded it.
            "SELECT a.path, a.sha256, a.size, a.saved_at,"
            " NOT EXISTS (SELECT FROM blob b WHERE b.sha256 = a.sha256 AND b.owner = %s)"
            " FROM artifact a WHERE a.session = %s AND a.saved_at >= coalesce(%s, a.saved_at)"
            " ORDER BY a.saved_at, a.path",
            (session.owner, session.id, since),
        )
        rows = await found.fetchall()
    files = []
    for path, sha256, size, saved, is_large in rows:
        # The session itself writes its records; those of another one could bring it to do anything.
        if is_record(path):
            log.warning("a file of the session is skipped: %s is a record", clean_line(path, 100))
            continue
        files.append(PulledFile(path=path, sha256=sha256, size=size, is_large=is_large, saved=saved))
    return files


async def pull_file(
    connection: Borrow, session: SessionRow, file: PulledFile, workspace: Workspace, place: FilePlace | None
) -> bool:
    """Write a file of a session; returns whether that was possible: its content may be missing, or its path refused."""
    row = None
    # Where the database fails, the file is not missing.
    if not file.is_large:
        async with _asking(connection) as db:
            found = await db.execute(
                "SELECT data FROM blob WHERE sha256 = %s AND owner = %s",
                (file.sha256, session.owner),
            )
            row = await found.fetchone()
    try:
        if is_record(file.path):
            raise TeamError("it is a record of the session")
        if not file.is_large:
            pieces = [bytes(row[0])] if row is not None else []
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


def _some_of(columns: str, number: str, text: str, source: str) -> bytes:
    """The statement that reads the next rows of `source` in the order of `number`, but not too much of their `text`.

    How long a text is, the server knows without reading it.
    """
    shown = columns.replace(text, f"CASE WHEN size <= {_LONGEST} THEN {text} ELSE '' END")
    return (
        f"SELECT {shown} FROM (SELECT *, sum(size) OVER (ORDER BY {number}) - size AS before FROM ("  # noqa: S608
        f"SELECT {columns}, octet_length({text}) AS size FROM {source} ORDER BY {number} LIMIT {_BATCH}"
        f") AS next) AS counted WHERE before < {_MOST_BYTES} ORDER BY {number}"
    ).encode()


def _is_line(seq: int, line: str) -> bool:
    found = journal_line_of(line) if "\n" not in line else None
    return found is not None and found.seq == seq


def _append_entries(workspace: Workspace, rows: Sequence[tuple[int, str, str, str]]) -> None:
    """Append entries to their transcripts, in their order; a name that leads elsewhere is skipped."""
    batch: dict[str, list[bytes]] = {}
    for _, conversation, subpath, entry in rows:
        if _CONVERSATION.fullmatch(conversation) is None or not entry or "\n" in entry:
            log.warning("an entry of the session's transcripts is skipped")
            continue
        batch.setdefault(transcript_path(conversation, subpath), []).append(entry.encode())
    for path, lines in batch.items():
        try:
            workspace.root.append_lines(path, lines)
        except UniversalAgentError as error:
            log.warning("a transcript of the session is skipped: %s", error)
