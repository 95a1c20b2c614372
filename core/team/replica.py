"""Copies a session to PostgreSQL while it runs: journal, transcripts, files, and the row that shows its state."""

from __future__ import annotations

import asyncio
import hashlib
import os
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import msgspec

from ua_tui.core.bus import Bus
from ua_tui.core.errors import TeamError, UniversalAgentError, WorkspaceError
from ua_tui.core.events.continuation import is_own
from ua_tui.core.events.types import ErrorRaised
from ua_tui.core.log import log
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import (
    CHANNEL,
    Connection,
    answering_within,
    connected,
    rows_of,
    shut_down,
)
from ua_tui.core.postgres.problems import explain, is_temporary, needing_extra
from ua_tui.core.postgres.schema import check_tables
from ua_tui.core.redaction.redactor import Redactor, error_raised
from ua_tui.core.settings.model import Settings
from ua_tui.core.storage.workspace import Workspace, is_record
from ua_tui.core.tasks import end_tasks, pause
from ua_tui.core.team.folder_copy import LARGEST, FolderCopy, Piece, next_identity, store_identity
from ua_tui.core.team.records import SessionId
from ua_tui.core.text import clean_line
from ua_tui.core.view.activity import Activity
from ua_tui.core.view.records import Query
from ua_tui.core.view.session import SessionView

if TYPE_CHECKING:
    from ua_tui.core.session.session import Session


_CLOSE_S = 3.0
"""How long the end of a session waits for its copy, in seconds."""
_LAST_LINE_S = 0.5
_LATER_S = 600.0
"""How long a worker goes on with the copy of a job that has ended."""
_ending: set[asyncio.Task[bool]] = set()
_PAUSE_S, _SHARED_PAUSE_S = 0.1, 0.5
"""Between two writes, so that a change is announced at most so often; the latter for a worker, with many sessions."""
_POLL_S = 0.5
"""How often the folder is looked at while nothing happens."""
_ANSWER_S, _LARGE_S = 12.0, 60.0
_LONGEST_PAUSE_S = 5.0
_TITLE = 200
_SMALL = 5 << 20
"""A file that is not small is copied in pieces, and one that is larger than the largest is only listed."""
_PIECE_SIZE = 4 << 20


async def open_replica(
    settings: Settings,
    workspace: Workspace,
    bus: Bus,
    *,
    resumed: bool = False,
    identity: SessionId | None = None,
    address: Address | None = None,
) -> SessionReplica:
    """Prepare the copy of a session as its settings say; it begins with `start`.

    `identity` says which session of the team it is; without one it is the one that its folder names, or a new one.
    `address` is that of the setting, with connections to share.

    Raises:
        TeamError: the packages for a team are not installed.
        SettingsError: there is no usable address.
    """
    with needing_extra():
        await asyncio.to_thread(import_module, "psycopg")
    address = address or Address.parse(settings.team or "")
    claimed = identity is not None
    if identity is None:
        identity = await asyncio.to_thread(next_identity, workspace)
    else:
        await asyncio.to_thread(store_identity, workspace, identity)
    return SessionReplica(address, identity, workspace, bus, claimed=claimed, resumed=resumed)


class Superseded(TeamError):
    """Another worker continues the session: whoever raised this may write no more of it."""


@dataclass(frozen=True)
class _File:
    """A file to copy: as it was announced, and as it is; `data` is None if it is copied in pieces.

    `changed` is when the content was written, of which it has the digest.
    """

    name: str
    announced: str
    path: str
    sha256: str
    size: int
    data: bytes | None = None
    changed: int = 0


class SessionReplica:
    """Keeps a copy of a session in PostgreSQL.

    The session's own files are the buffer: while the database cannot be reached nothing is lost, and what is missing is
    copied afterwards. Each write checks in its transaction that no other worker continues the session.

    Args:
        address: the database.
        identity: which session it is there.
        workspace: the session's folder.
        bus: is told when the database cannot be used, and again only after it could be; and when another worker
            continues the session.
        claimed: whether whoever gave the identity also gave its attempt, as for a job. Otherwise the session gets a new
            identity if another program continues the one it had.
        resumed: whether the folder has an earlier attempt; without it, what earlier attempts stored is replaced.
        clock: gives the seconds by which the database is asked again.
    """

    def __init__(
        self,
        address: Address,
        identity: SessionId,
        workspace: Workspace,
        bus: Bus,
        *,
        claimed: bool = True,
        resumed: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.identity = identity
        self.is_superseded = False
        self._stopped = False
        self._address = address
        self._workspace = workspace
        self._claimed = claimed
        self._interactive = False
        self._begins = claimed and not resumed and identity.attempt > 1
        self._bus: Bus | None = bus
        self._session: Session | None = None
        self._left_s = _CLOSE_S
        self._stopping: asyncio.Task[None] | None = None
        self._view = SessionView()
        self._begins_after = self._seen = 0
        self._attached: dict[str, str] = {}
        self._folder = FolderCopy(workspace)
        self._row: dict[str, Any] = {}
        self._wake, self._hurry, self._idle = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._is_finishing = self._is_registered = self._is_complete = False
        self._clock = clock
        self._last_write = self._last_look = clock()
        self._is_failing = False
        self._task: asyncio.Task[None] | None = None
        self._connection: Connection | None = None
        self._copied: dict[str, str] = {}
        """The files that are stored, or cannot be read, each with the digest or event that announced it."""
        self._file: _File | None = None
        self._at = 0

    # -- what the session does ----------------------------------------------------------------------

    def line_handler(self, on_line: Callable[[bytes], None] | None = None) -> Callable[[bytes], None]:
        """What the journal calls with every line, which is copied; it calls `on_line`, if there is one."""

        def handle_line(line: bytes) -> None:
            self._idle.clear()
            self._wake.set()
            if on_line is not None:
                on_line(line)

        return handle_line

    def start(self, view: SessionView, session: Session | None = None, *, interactive: bool = False) -> None:
        """Begin to copy, in a task of the running event loop; `view` has all events of the session.

        If another worker continues it, a job ends. A session that a person sees is only interrupted.
        """
        self._view, self._session, self._begins_after = view, session, view.seq
        self._interactive = interactive and not self._claimed
        self._task = asyncio.create_task(self._keep_copying(), name="team: copy")

    async def flush(self, timeout: float) -> bool:
        """Wait until everything up to now is copied; returns False if that took longer, or cannot be done."""
        if self.is_over:
            return False
        self._idle.clear()
        self._hurry.set()
        self._wake.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._idle.wait()
                return not self.is_over
        return False

    async def drain(self, timeout: float) -> bool:
        """Copy the rest at the end of the session, and stop; returns whether everything is copied."""
        self._is_finishing = True
        self._hurry.set()
        self._wake.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=timeout)
            if self._connection is not None:
                shut_down(self._connection)
            self._stop()
            await end_tasks(self._task)
        if not self._is_complete and not self.is_superseded:
            log.warning("the end of the session could not be copied to the team's database")
        return self._is_complete

    async def finish(self) -> None:
        """Copy what there is before the last event of the session, and report what could not be copied."""
        begun = time.monotonic()
        limit = 1.0 if self._is_failing else _CLOSE_S - _LAST_LINE_S
        if not await self.flush(limit) and not self.is_superseded:
            self._report(
                "The end of the session could not be copied to the team's database; the session's folder has "
                "everything, and it is copied when the session is resumed"
            )
        self._bus = None
        self._left_s = max(_CLOSE_S - (time.monotonic() - begun), _LAST_LINE_S)

    async def close(self) -> None:
        """Copy the last event, and stop; what is left of a job then is copied in the background."""
        self._bus = None
        if not self._claimed:
            await self.drain(self._left_s)
            return
        if self._task is not None and self.is_over and not self.is_superseded:
            # What stopped it may be mended by now, and nobody resumes a job that is done.
            self._stopped = False
            self._task = asyncio.create_task(self._keep_copying(), name="team: copy")
        # Many jobs may end while the database is away.
        self._session = None
        ending = asyncio.create_task(self.drain(_LATER_S), name="team: rest")
        _ending.add(ending)
        ending.add_done_callback(_ending.discard)
        if not (await asyncio.wait([ending], timeout=self._left_s))[0]:
            # Nobody waits for it any more: a database that is away is not asked all the time.
            self._hurry.clear()

    def _report(self, message: str) -> None:
        if self._bus is not None:
            self._bus.publish(ErrorRaised(where="team", message=message))

    @property
    def is_over(self) -> bool:
        """Whether nothing is copied any more."""
        return self._stopped or (self._task is not None and self._task.done())

    # -- the loop -----------------------------------------------------------------------------------

    async def _keep_copying(self) -> None:
        """Copy until the session is over, whatever happens to the connection."""
        seconds = 0.1
        while not self._stopped:
            begun = self._clock()
            try:
                self._is_complete = await self._copy()
                return
            except Superseded:
                self._handle_superseded()
            except Exception as error:
                self._handle_failure(error)
            if self._stopped:
                return
            seconds = 0.1 if self._clock() - begun > _LONGEST_PAUSE_S else min(2 * seconds, _LONGEST_PAUSE_S)
            # At the end there is no time to wait for long.
            if await pause(seconds, self._hurry):
                await pause(0.2)
            self._calm_down()

    async def _copy(self) -> bool:
        """Copy until the session is over; returns whether everything is copied."""
        is_registered = False
        while not self._stopped:
            async with connected(self._address) as db:
                self._connection = db
                try:
                    if not is_registered:
                        await self._register(db)
                        is_registered = True
                    if await self._copy_all(db):
                        return not self._stopped
                finally:
                    self._connection = None
            if self._file is None:
                await self._wait_for_change()
        return False

    async def _copy_all(self, db: Connection) -> bool:
        """Copy what there is, and over a connection of its own what comes; returns whether the session is over."""
        while not self._stopped:
            self._wake.clear()
            self._last_look = self._clock()
            if await self._copy_some(db):
                if self._file is None or self._address.connections is None:
                    continue
                # The rest of a large file, once others have had the connection.
                return False
            if self._is_failing:
                self._is_failing = False
                log.warning("the session is copied to the team's database again")
            if not (self._wake.is_set() or self._waiting_files()):
                self._idle.set()
                if self._is_finishing:
                    return True
            if self._address.connections is not None:
                # Others need it meanwhile.
                return False
            await self._wait_for_change()
        return True

    async def _wait_for_change(self) -> None:
        await pause(_POLL_S, self._wake)
        least = _PAUSE_S if self._address.connections is None else _SHARED_PAUSE_S
        await pause(max(0.0, self._last_look + least - self._clock()), self._hurry)
        self._calm_down()

    def _calm_down(self) -> None:
        if not self._is_finishing:
            self._hurry.clear()

    def _handle_failure(self, error: Exception) -> None:
        """Report a failure once; one that stays ends the copy."""
        if not self._is_failing:
            shown = error if isinstance(error, UniversalAgentError) else explain(error, self._address)
            log.warning("the session is not copied to the team's database now: %s", shown)
            if self._bus is not None:
                self._bus.publish(error_raised("team", shown, self._workspace.redactor))
        self._is_failing = True
        if not (is_temporary(error) or isinstance(error, WorkspaceError)):
            log.error("the session is no longer copied to the team's database", exc_info=error)
            self._stop()

    def _stop(self) -> None:
        """Copy nothing more; whoever waits for it is released."""
        self._stopped = True
        for each in (self._wake, self._hurry, self._idle):
            each.set()

    def _handle_superseded(self) -> None:
        self.is_superseded = True
        self._stop()
        self._report("another program continues this session: this one stops, and is no longer copied")
        if (session := self._session) is not None:
            stop = session.interrupt() if self._interactive else session.close("superseded")
            self._stopping = asyncio.create_task(stop, name="team: stop")

    async def _register(self, db: Connection) -> None:
        """Make the row of the session, and find out what is stored."""
        host = socket.gethostname()
        here = {
            "name": self._workspace.session_id,
            "host": host,
            "worker": f"{host}:{os.getpid()}",
            "claimed": self._claimed,
        }
        with answering_within(db, _ANSWER_S):
            await check_tables(db, self._address)
            try:
                await self._change(db, _REGISTER, **here)
            except Superseded:
                if self._claimed or self._is_registered:
                    raise
                # A copy of the folder was resumed elsewhere: this one is another session from here on.
                self.identity = SessionId(id=uuid4().hex)
                await asyncio.to_thread(store_identity, self._workspace, self.identity)
                self._folder = FolderCopy(self._workspace)
                await self._change(db, _REGISTER, **here)
            if self._begins and not self._is_registered:
                # A worker was lost before its session had begun: what it wrote is of another folder.
                await self._change(db, _CLEAR)
            self._copied = dict(await rows_of(db, _FILES, (self.identity.id,)))
            stored = await rows_of(db, _LAST_PIECES, (self.identity.id,))
        while anew := await asyncio.to_thread(self._folder.begin, stored):
            with answering_within(db, _ANSWER_S):
                await self._change(db, _REMOVE, paths=[*anew], starts=[*anew.values()])
                stored = await rows_of(db, _LAST_PIECES, (self.identity.id,))
        self._row, self._file = {}, None
        self._is_registered = True

    async def _copy_some(self, db: Connection) -> bool:
        """Copy some of what is new; returns whether there may be more."""
        pieces = await asyncio.to_thread(self._folder.read)
        # What an earlier attempt did last is over.
        activity = self._view.activity if self._view.seq > self._begins_after else Activity()
        row = state_row(self._view, activity, self._workspace.redactor, self._folder.title)
        before, self._row = self._row, row
        if pieces or row != before or self._clock() - self._last_write >= 10.0:
            await self._write(db, pieces, _ANSWER_S)
        self._folder.advance(pieces)
        return await self._copy_file(db) or bool(pieces)

    async def _write(self, db: Connection, pieces: Sequence[Piece], within: float) -> None:
        """Write pieces of files, and the state."""
        with answering_within(db, within):
            await self._change(
                db,
                _WRITE,
                **self._row,
                paths=[each.path for each in pieces],
                starts=[each.start for each in pieces],
                data=[each.data for each in pieces],
            )
        self._last_write = self._clock()

    async def _change(self, db: Connection, statement: str, **values: Any) -> None:
        """Run one of the statements below, and announce what is new.

        Raises:
            Superseded: another worker continues the session.
        """
        given = msgspec.structs.asdict(self.identity) | {"channel": CHANNEL} | values
        if not await rows_of(db, statement, given):
            raise Superseded("another worker continues this session")

    # -- files --------------------------------------------------------------------------------------

    def _waiting_files(self) -> list[tuple[str, str]]:
        """The files to copy, the one that was saved last at the end, each with what tells versions apart, if known."""
        if self._seen != len(self._view.entries):
            # A person may have changed one since it was attached before.
            self._attached = {
                path: str(note.at) for note in self._view.notes("attached") for path in note.files
            }
            self._seen = len(self._view.entries)
        saved = {each.path: each.sha256 for each in self._view.artifacts.values()}
        return [
            (path, sha256)
            for path, sha256 in (self._attached | saved).items()
            if not is_record(path) and self._copied.get(path) != sha256
        ]

    async def _copy_file(self, db: Connection) -> bool:
        """Copy the next file, or a piece of a large one; returns whether another one may be copied now."""
        waiting = self._waiting_files()
        if not waiting:
            return False
        # While one is copied in pieces, others may be announced, and other versions of it.
        file = self._file
        name, announced = waiting[0] if file is None else (file.name, file.announced)
        try:
            if file is None:
                file = await asyncio.to_thread(self._read_file, name, announced)
            if self._copied.get(name) == file.sha256:
                # It was attached in an earlier attempt.
                self._copied[name] = announced
                return True
            is_in_pieces = file.data is None and file.size <= LARGEST
            if is_in_pieces and self._file is None:
                with answering_within(db, _ANSWER_S):
                    # What was sent before a connection was lost is not sent again.
                    ((self._at,),) = await rows_of(db, _END, (self.identity.id, file.sha256))
            self._file = file
            piece = await asyncio.to_thread(self._read_piece, file) if is_in_pieces else b""
        except WorkspaceError as error:
            log.warning("a file is not copied to the team's database: %s", error)
            self._copied[name], self._file = announced, None
            return True
        if piece:
            # It has a name of its own, as it never changes.
            await self._write(db, [Piece(f".files/{file.sha256}", self._at, piece)], _LARGE_S)
            self._at += len(piece)
            return True
        with answering_within(db, _LARGE_S):
            columns = {name: getattr(file, name) for name in ("path", "sha256", "size", "data")}
            await self._change(db, _ARTIFACT, **columns)
        self._copied[name], self._file = announced, None
        return True

    def _read_piece(self, file: _File) -> bytes:
        with self._workspace.root.opened(file.path) as content:
            content.seek(self._at)
            piece = content.read(_PIECE_SIZE)
            # A part of another content must not get the name of this one: it would stay there.
            if os.fstat(content.fileno()).st_mtime_ns != file.changed:
                raise WorkspaceError(f"{file.path} was changed while it was copied")
            return piece

    def _read_file(self, name: str, announced: str) -> _File:
        """The digest, size and, unless it is large, the content of a file."""
        path = self._workspace.artifact_path(name)
        with self._workspace.root.opened(path) as file:
            data = file.read(_SMALL + 1)
            if len(data) <= _SMALL:
                return _File(name, announced, path, hashlib.sha256(data).hexdigest(), len(data), data)
            file.seek(0)
            changed = os.fstat(file.fileno()).st_mtime_ns
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            found = _File(name, announced, path, digest, file.tell(), changed=changed)
        if found.size > LARGEST:
            log.warning("%s is larger than %d MB: it is not copied", path, LARGEST >> 20)
        return found


def state_row(view: SessionView, activity: Activity, redactor: Redactor, named: str = "") -> dict[str, Any]:
    """The columns of a session's row that change while it runs; without secrets.

    An earlier title has precedence over `title` unless the session was `named` by a person.
    """
    queries = (entry.text for entry in view.entries.values() if isinstance(entry, Query))
    title = named or next((text for text in queries if not is_own(text)), "")
    return {
        "state": "needs_you" if activity.needs_person else activity.state or "starting",
        # Cut first: a query may have a megabyte.
        "title": clean_line(redactor.redact(clean_line(title, 4 * _TITLE)), _TITLE),
        "titled": bool(named),
        "activity": activity.text(redactor.redact_value),
        "cost_usd": view.costs.total,
    }


# The files that are stored: their paths, each with its SHA-256. Earlier versions only listed those above 5 MB.
_FILES = """
    SELECT path, sha256 FROM artifact a WHERE session = %s AND (size NOT BETWEEN 5242881 AND 67108864 OR size = (
        SELECT sum(octet_length(data)) FROM piece p WHERE p.session = a.session AND p.path = '.files/' || a.sha256))
"""
# Up to where the content of a large file is stored: its pieces are stored one after the other.
_END = "SELECT coalesce(max(start + octet_length(data)), 0) FROM piece WHERE session = %s AND path = '.files/' || %s"
# The last piece of each file that only grows.
_LAST_PIECES = """
    SELECT DISTINCT ON (path) path, start, start + octet_length(data) AS end, encode(sha256(data), 'hex') AS sha256
    FROM piece WHERE session = %s AND NOT starts_with(path, '.files/') ORDER BY path, start DESC
"""
# Whoever takes the session over waits until what follows is done, or it finds no row.
_MINE = "WITH mine AS (SELECT id, owner FROM session WHERE id = %(id)s AND attempt = %(attempt)s FOR SHARE)"
# Removes the files of earlier attempts, as the session begins again.
_CLEAR = f"""
    {_MINE}, files AS (
        DELETE FROM artifact USING mine WHERE session = mine.id
    ), pieces AS (
        DELETE FROM piece USING mine WHERE session = mine.id
    )
    SELECT 1 FROM mine
"""  # noqa: S608 -- made of constants
# Removes what is stored of some files from there on, which is copied anew.
_REMOVE = f"""
    {_MINE}, pieces AS (
        DELETE FROM piece p USING mine, unnest(%(paths)s::text[], %(starts)s::bigint[]) AS anew (path, start)
        WHERE p.session = mine.id AND p.path = anew.path AND p.start >= anew.start
    )
    SELECT 1 FROM mine
"""  # noqa: S608 -- made of constants
# Makes the session's row, or makes it that of this attempt. One that was `claimed`, as a job is, has its attempt from
# whoever gave the claim. Otherwise two programs may have resumed copies of one folder: the first one has the attempt.
_REGISTER = """
    INSERT INTO session AS s (id, job, owner, shared, name, host, worker, attempt, state)
    VALUES (%(id)s, %(job)s, coalesce(%(owner)s, current_user), %(shared)s, %(name)s, %(host)s, %(worker)s,
        %(attempt)s, 'starting')
    ON CONFLICT (id) DO UPDATE SET
        name = EXCLUDED.name, host = EXCLUDED.host, attempt = EXCLUDED.attempt,
        worker = CASE WHEN %(claimed)s AND s.worker <> '' THEN s.worker ELSE EXCLUDED.worker END,
        state = CASE WHEN s.attempt = EXCLUDED.attempt THEN s.state ELSE 'starting' END,
        seen_at = now(), finished_at = NULL
    WHERE s.attempt < EXCLUDED.attempt
        OR (s.attempt = EXCLUDED.attempt AND (%(claimed)s OR s.worker = EXCLUDED.worker))
    RETURNING 1
"""
# Writes pieces of files and the state, in one round trip. The row is locked by its update: a takeover waits for that,
# or this statement finds the attempt of the takeover.
_WRITE = """
    WITH mine AS (
        UPDATE session SET state = %(state)s, activity = %(activity)s,
            title = CASE WHEN %(titled)s THEN %(title)s ELSE coalesce(nullif(title, ''), %(title)s) END,
            cost_usd = %(cost_usd)s, seen_at = now(),
            finished_at = CASE WHEN %(state)s IN ('done', 'failed') THEN coalesce(finished_at, now()) END
        WHERE id = %(id)s AND attempt = %(attempt)s RETURNING id
    ), new AS (
        INSERT INTO piece (session, path, start, data) SELECT mine.id, p.path, p.start, p.data
        FROM mine, unnest(%(paths)s::text[], %(starts)s::bigint[], %(data)s::bytea[]) AS p (path, start, data)
        ON CONFLICT DO NOTHING
    )
    SELECT pg_notify(%(channel)s, 'session ' || id) FROM mine
"""
# Records a file of the session, with its content if it is small; a large content that it had is removed.
_ARTIFACT = f"""
    {_MINE}, content AS (
        INSERT INTO blob (owner, sha256, data)
        SELECT owner, %(sha256)s, %(data)s::bytea FROM mine
        WHERE %(data)s::bytea IS NOT NULL
        ON CONFLICT (owner, sha256) DO NOTHING
    ), replaced AS (
        DELETE FROM piece p USING mine, artifact a
        WHERE a.session = mine.id AND a.path = %(path)s AND a.sha256 <> %(sha256)s
            AND p.session = mine.id AND p.path = '.files/' || a.sha256
            AND NOT EXISTS (
                SELECT FROM artifact b WHERE b.session = a.session AND b.sha256 = a.sha256 AND b.path <> a.path)
    ), file AS (
        INSERT INTO artifact (session, path, sha256, size) SELECT id, %(path)s, %(sha256)s, %(size)s FROM mine
        ON CONFLICT (session, path) DO UPDATE SET sha256 = EXCLUDED.sha256, size = EXCLUDED.size, saved_at = now()
    )
    SELECT pg_notify(%(channel)s, 'session ' || id) FROM mine
"""  # noqa: S608 -- made of constants
