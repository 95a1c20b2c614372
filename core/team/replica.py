"""Copies a session to PostgreSQL while it runs: journal, transcripts, files, and the row that shows its state."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ua_tui.core.concurrency.threads import apart
from ua_tui.core.errors import TeamError, UniversalAgentError, WorkspaceError
from ua_tui.core.events.types import Event
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import answering_within, connected, shut_down
from ua_tui.core.postgres.problems import explain, is_temporary
from ua_tui.core.postgres.schema import check_tables
from ua_tui.core.session.resume import PreviousState
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.team.records import SessionId
from ua_tui.core.team.replication import rows
from ua_tui.core.team.replication.folder_copy import FolderCopy, new_identity, store_identity
from ua_tui.core.team.replication.large_files import LARGE, FilePlace, open_place
from ua_tui.core.team.replication.live_state import LiveState, StateRow
from ua_tui.core.team.replication.rows import Superseded

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.AsyncConnection[Any]

log = logging.getLogger(__name__)

_PAUSE_S, _SHARED_PAUSE_S = 0.1, 0.5
"""Between two writes, so that a change is announced at most so often; the latter for a worker, with many sessions."""
_POLL_S = 0.5
"""How often the folder is looked at while nothing happens."""
_ANSWER_S = 12.0
_LONGEST_PAUSE_S = 5.0
_IDLE_S = 30.0


class SessionReplica:
    """Keeps a copy of a session in PostgreSQL.

    The session's own files are the buffer: while the database cannot be reached nothing is lost, and what is missing is
    copied afterwards. Each write checks in its transaction that no other worker continues the session.

    Args:
        address: the database.
        identity: which session it is there.
        workspace: the session's folder.
        claimed: whether whoever gave the identity also gave its attempt, as for a job. Otherwise the session gets a new
            identity if another program continues the one it had.
        place: where files above 5 MB go, as in the setting `team_artifacts`; without one they are only listed.
        previous: the state of a session that is resumed; without it, what earlier attempts stored is replaced.
        ended: whether the session is over, and only what could not be copied before is copied.
        report: called once when the database cannot be used, and again only after it could be.
        on_superseded: called when another worker continues the session; nothing is written after that.
        clock: gives the seconds by which the database is asked again.
    """

    def __init__(
        self,
        address: Address,
        identity: SessionId,
        workspace: Workspace,
        *,
        claimed: bool = True,
        place: Path | str | None = None,
        previous: PreviousState | None = None,
        ended: bool = False,
        report: Callable[[Exception], object] = lambda _error: None,
        on_superseded: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.identity = identity
        self.is_superseded = False
        self._stopped = False
        self._address = address
        self._workspace = workspace
        self._claimed = claimed
        self._begins = claimed and previous is None and identity.attempt > 1 and not ended
        self._place = place
        self._report = report
        self._on_superseded = on_superseded
        self._state = LiveState(workspace.redactor, previous=previous)
        self._folder = FolderCopy(workspace, identity.id)
        self._row = StateRow()
        self._wake = asyncio.Event()
        self._file_wake = asyncio.Event()
        self._registered = asyncio.Event()
        self._finishing, self._urgent = asyncio.Event(), asyncio.Event()
        self._lines_done = asyncio.Event()
        self._files_done = asyncio.Event()
        self._clock = clock
        self._last_write = self._last_look = clock()
        self._transcripts_at = 0.0
        self._failing: set[str] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._connections: set[Connection] = set()
        self._stored: dict[str, str] = {}

    # -- what the session does ----------------------------------------------------------------------

    def handle_event(self, event: Event) -> None:
        """Follow an event of the session; subscribe it to the bus."""
        # What it changes is copied with the line of the journal.
        self._state.handle_event(event)

    def handle_line(self, _line: bytes) -> None:
        """A line of the journal was written: copy it."""
        self._note_change()

    def start(self) -> None:
        """Begin to copy, in tasks of the running event loop."""
        self._tasks = [
            asyncio.create_task(self._keep_copying("lines", self._copy_lines), name="team: journal"),
            asyncio.create_task(self._keep_copying("files", self._copy_files), name="team: files"),
        ]

    async def flush(self, timeout: float) -> bool:
        """Wait until everything up to now is copied; returns False if that took longer, or cannot be done."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while not self.is_over:
                    self._transcripts_at = 0.0
                    self._urgent.set()
                    self._note_change()
                    await self._lines_done.wait()
                    if not self._folder.files:
                        return True
                    await self._files_done.wait()
        return False

    async def drain(self, timeout: float) -> str:
        """Copy the rest at the end of the session, and stop; returns what could not be copied, empty if nothing."""
        self._finishing.set()
        self._urgent.set()
        self._note_change()
        self._file_wake.set()
        _, waiting = await asyncio.wait(self._tasks, timeout=timeout) if self._tasks else (set(), set())
        for connection in list(self._connections):
            shut_down(connection)
        # In Python 3.11 `wait_for` loses a cancellation that comes when what it waits for is there.
        self._stop()
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return await asyncio.to_thread(self.describe_rest)

    @property
    def is_failing(self) -> bool:
        """Whether the database could not be used when it was tried last."""
        return bool(self._failing)

    @property
    def is_over(self) -> bool:
        """Whether nothing is copied any more."""
        return self._stopped or (bool(self._tasks) and self._tasks[0].done())

    def _note_change(self) -> None:
        self._lines_done.clear()
        self._wake.set()

    def describe_rest(self) -> str:
        """What is not copied, such as `12 events and 1 file`; it reads the journal: call it in a thread."""
        lines, files = self._folder.waiting_lines(), len(self._folder.files)
        parts = [f"{lines:,} events" if lines > 1 else "1 event"] if lines else []
        parts += [f"{files:,} files" if files > 1 else "1 file"] if files else []
        return " and ".join(parts)

    # -- connections --------------------------------------------------------------------------------

    async def _keep_copying(self, what: str, copy: Callable[[], Any]) -> None:
        """Copy until the session is over, whatever happens to the connection."""
        pause = 0.1
        while not self._stopped:
            begun = self._clock()
            try:
                await copy()
                return
            except Superseded:
                self._handle_superseded()
            except Exception as error:
                if not self._handle_failure(what, error):
                    self._stop()
            if self._stopped:
                return
            pause = 0.1 if self._clock() - begun > _LONGEST_PAUSE_S else min(2 * pause, _LONGEST_PAUSE_S)
            with suppress(TimeoutError):
                # At the end there is no time to wait for long.
                await asyncio.wait_for(self._finishing.wait(), pause)
                await asyncio.sleep(0.2)

    def _handle_failure(self, what: str, error: Exception) -> bool:
        """Report a failure once; returns whether to try again."""
        again = (
            is_temporary(error)
            or isinstance(error, WorkspaceError)
            or (what == "files" and isinstance(error, UniversalAgentError))
        )
        if not again:
            log.error("the session is no longer copied to the team's database", exc_info=error)
        if not self._failing:
            shown = error if isinstance(error, UniversalAgentError) else explain(error, self._address)
            log.warning("the session is not copied to the team's database now: %s", shown)
            self._report(shown)
        self._failing.add(what)
        return again

    def _note_success(self, what: str) -> None:
        """There is nothing left that failed."""
        if what in self._failing:
            self._failing.discard(what)
            if not self._failing:
                log.warning("the session is copied to the team's database again")

    def _stop(self) -> None:
        """Copy nothing more; whoever waits for it is released."""
        self._stopped = True
        for each in (self._registered, self._wake, self._file_wake, self._lines_done, self._files_done):
            each.set()

    def _handle_superseded(self) -> None:
        if not self.is_superseded:
            self.is_superseded = True
            self._stop()
            log.warning(
                "another worker continues this session: nothing more is copied to the team's database"
            )
            self._on_superseded()

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Connection]:
        async with connected(self._address) as db:
            self._connections.add(db)
            try:
                yield db
            finally:
                self._connections.discard(db)

    # -- lines and transcripts ----------------------------------------------------------------------

    async def _copy_lines(self) -> None:
        is_registered = False
        while not self._stopped:
            async with self._connected() as db:
                if not is_registered:
                    with answering_within(db, _ANSWER_S):
                        await self._register(db)
                    is_registered = True
                while not self._stopped:
                    self._wake.clear()
                    self._last_look = self._clock()
                    if await self._copy_new(db):
                        continue
                    self._note_success("lines")
                    if not self._wake.is_set():
                        self._lines_done.set()
                        if self._finishing.is_set():
                            return
                    if self._address.connections is not None:
                        # Others need it meanwhile.
                        break
                    await self._wait_for_change()
            await self._wait_for_change()

    async def _wait_for_change(self) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), _POLL_S)
        pause = _PAUSE_S if self._address.connections is None else _SHARED_PAUSE_S
        rest = self._last_look + pause - self._clock()
        if rest > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._urgent.wait(), rest)
        if not self._finishing.is_set():
            self._urgent.clear()

    async def _register(self, db: Connection) -> None:
        """Make the row of the session, and find out what is stored.

        A server that crashed may have lost what it had confirmed, if its `synchronous_commit` is off.
        """
        await check_tables(db, self._address)
        host = socket.gethostname()
        names = {"name": self._workspace.session_id, "host": host, "worker": f"{host}:{os.getpid()}"}
        try:
            await rows.register(db, self.identity, claimed=self._claimed, **names)
        except Superseded:
            if self._claimed or self._registered.is_set():
                raise
            # A copy of the folder was resumed elsewhere: this one is another session from here on.
            self.identity = new_identity()
            await asyncio.to_thread(store_identity, self._workspace, self.identity)
            self._folder = FolderCopy(self._workspace, self.identity.id)
            await rows.register(db, self.identity, claimed=False, **names)
        if self._begins and not self._registered.is_set():
            # A worker was lost before its session had begun: its lines have the numbers of other events.
            await rows.clear(db, self.identity)
        self._stored = await rows.known_artifacts(db, self.identity.id)
        stored = await rows.last_seq(db, self.identity.id)
        await asyncio.to_thread(self._folder.check_positions, stored)
        self._row = StateRow(state="unknown")
        self._registered.set()

    async def _copy_new(self, db: Connection) -> bool:
        """Copy a piece of what is new; returns whether there may be more."""
        more = await self._copy_transcripts(db)
        lines, end = await asyncio.to_thread(self._folder.read_lines)
        self._state.set_title(self._folder.title)
        if self._folder.files:
            self._files_done.clear()
            self._file_wake.set()
        row = self._state.row
        due = self._clock() - self._last_write >= 10.0
        if lines or row != self._row or due:
            with answering_within(db, _ANSWER_S):
                await rows.write_lines(db, self.identity, row, lines)
            self._last_write = self._clock()
            self._row = row
        return self._folder.advance(end) or more

    async def _copy_transcripts(self, db: Connection) -> bool:
        now, key = self._clock(), self.identity
        if now - self._transcripts_at < 0.25 and not self._finishing.is_set():
            return False
        self._transcripts_at = now
        for tail in await asyncio.to_thread(self._folder.unaligned):
            with answering_within(db, _ANSWER_S):
                last, behind = await rows.transcript_end(db, key, tail.key)
            await asyncio.to_thread(tail.align, last, behind)
        more = False
        for tail, entries, end in await asyncio.to_thread(lambda: list(self._folder.read_entries())):
            if entries:
                with answering_within(db, _ANSWER_S):
                    await rows.append_entries(db, key, tail.key, entries)
            more = tail.advance(end) or more
        return more

    # -- files --------------------------------------------------------------------------------------

    async def _copy_files(self) -> None:
        await self._registered.wait()
        place = await asyncio.to_thread(open_place, self._place)
        while not self._stopped:
            if self._folder.files:
                await self._copy_waiting_files(place)
            self._files_done.set()
            if self._finishing.is_set() and (self._lines_done.is_set() or self.is_over):
                return
            self._file_wake.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._file_wake.wait(), 0.05 if self._finishing.is_set() else _IDLE_S)

    async def _copy_waiting_files(self, place: FilePlace | None) -> None:
        while not self._stopped and self._folder.files:
            failure: TeamError | None = None
            for path, sha256 in list(self._folder.files.items()):
                if not sha256 or self._stored.get(path) != sha256:
                    try:
                        await self._copy_file(place, path)
                    except Superseded:
                        raise
                    except TeamError as error:
                        # The place of large files cannot be used: others are copied meanwhile.
                        failure = error
                        continue
                # It may have been saved again meanwhile.
                if self._folder.files.get(path) == sha256:
                    del self._folder.files[path]
            if failure is not None:
                raise failure
            self._note_success("files")

    async def _copy_file(self, place: FilePlace | None, path: str) -> None:
        try:
            path, sha256, size, data = await asyncio.to_thread(self._read_file, path)
            url = None
            if data is None:
                # The end of the program does not wait for it.
                url = await apart(partial(self._store_large, place, path, sha256, size))
        except WorkspaceError as error:
            log.warning("a file is not copied to the team's database: %s", error)
            return
        async with self._connected() as db:
            with answering_within(db, 60.0):
                await rows.add_artifact(
                    db, self.identity, path=path, sha256=sha256, size=size, place=url, data=data
                )
        self._stored[path] = sha256

    def _read_file(self, path: str) -> tuple[str, str, int, bytes | None]:
        """The path, digest, size and, unless it is large, the content of a file."""
        path = self._workspace.artifact_path(path)
        with self._workspace.root.opened(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size <= LARGE:
                data = file.read(LARGE + 1)
                if len(data) <= LARGE:
                    return path, hashlib.sha256(data).hexdigest(), len(data), data
                file.seek(0)
            return path, hashlib.file_digest(file, "sha256").hexdigest(), file.tell(), None

    def _store_large(self, place: FilePlace | None, path: str, sha256: str, size: int) -> str | None:
        if place is None:
            log.warning("%s is larger than 5 MB, and no `team_artifacts` is set: it is not copied", path)
            return None
        with self._workspace.root.opened(path) as file:
            place.store(sha256, file, size)
        return place.url(sha256)
