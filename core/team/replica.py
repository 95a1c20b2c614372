"""Copies a session to PostgreSQL while it runs: journal, transcripts, files, and the row that shows its state."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
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
from ua_tui.core.tasks import end_tasks, pause
from ua_tui.core.team.records import SessionId
from ua_tui.core.team.replication import rows
from ua_tui.core.team.replication.folder_copy import FolderCopy, new_identity, store_identity
from ua_tui.core.team.replication.large_files import LARGE, open_place
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


@dataclass(frozen=True)
class _File:
    """A file to copy: as it was announced, and as it is; `data` is None if it is large, `place` is where it is then."""

    name: str
    announced: str
    path: str
    sha256: str
    size: int
    data: bytes | None = None
    place: str | None = None


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
        self._folder = FolderCopy(workspace)
        self._row = StateRow()
        self._wake, self._hurry, self._idle = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._is_finishing = self._is_registered = False
        self._clock = clock
        self._last_write = self._last_look = clock()
        self._failing: set[str] = set()
        self._task: asyncio.Task[None] | None = None
        self._connection: Connection | None = None
        self._stored: dict[str, str] = {}
        self._storing: asyncio.Task[_File] | None = None
        self._large: set[str] = set()
        self._store_again = 0.0

    # -- what the session does ----------------------------------------------------------------------

    def handle_event(self, event: Event) -> None:
        """Follow an event of the session; subscribe it to the bus."""
        # What it changes is copied with the line of the journal.
        self._state.handle_event(event)

    def handle_line(self, _line: bytes) -> None:
        """A line of the journal was written: copy it."""
        self._idle.clear()
        self._wake.set()

    def start(self) -> None:
        """Begin to copy, in a task of the running event loop."""
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

    async def drain(self, timeout: float) -> str:
        """Copy the rest at the end of the session, and stop; returns what could not be copied, empty if nothing."""
        self._is_finishing = True
        self._hurry.set()
        self._wake.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=timeout)
            if self._connection is not None:
                shut_down(self._connection)
            self._stop()
            await end_tasks(self._task, *([self._storing] if self._storing is not None else []))
        return await asyncio.to_thread(self.describe_rest)

    @property
    def is_failing(self) -> bool:
        """Whether the database could not be used when it was tried last."""
        return bool(self._failing)

    @property
    def is_over(self) -> bool:
        """Whether nothing is copied any more."""
        return self._stopped or (self._task is not None and self._task.done())

    def describe_rest(self) -> str:
        """What is not copied, such as `12 events and 1 file`; it reads the journal: call it in a thread."""
        lines, files = self._folder.waiting_lines(), len(self._folder.files)
        parts = [f"{lines:,} events" if lines > 1 else "1 event"] if lines else []
        parts += [f"{files:,} files" if files > 1 else "1 file"] if files else []
        return " and ".join(parts)

    # -- the loop -----------------------------------------------------------------------------------

    async def _keep_copying(self) -> None:
        """Copy until the session is over, whatever happens to the connection."""
        seconds = 0.1
        while not self._stopped:
            begun = self._clock()
            try:
                await self._copy()
                return
            except Superseded:
                self._handle_superseded()
            except Exception as error:
                if not self._handle_failure("lines", error):
                    self._stop()
            if self._stopped:
                return
            seconds = 0.1 if self._clock() - begun > _LONGEST_PAUSE_S else min(2 * seconds, _LONGEST_PAUSE_S)
            # At the end there is no time to wait for long.
            if await pause(seconds, self._hurry):
                await pause(0.2)
            self._calm_down()

    async def _copy(self) -> None:
        is_registered = False
        while not self._stopped:
            async with connected(self._address) as db:
                self._connection = db
                try:
                    if not is_registered:
                        await self._register(db)
                        is_registered = True
                    if await self._copy_all(db):
                        return
                finally:
                    self._connection = None
            await self._wait_for_change()

    async def _copy_all(self, db: Connection) -> bool:
        """Copy what there is, and over a connection of its own what comes; returns whether the session is over."""
        while not self._stopped:
            self._wake.clear()
            self._last_look = self._clock()
            if await self._copy_some(db):
                continue
            self._note_success("lines")
            if not (self._wake.is_set() or self._folder.files):
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
        for each in (self._wake, self._hurry, self._idle):
            each.set()

    def _handle_superseded(self) -> None:
        if not self.is_superseded:
            self.is_superseded = True
            self._stop()
            log.warning(
                "another worker continues this session: nothing more is copied to the team's database"
            )
            self._on_superseded()

    async def _register(self, db: Connection) -> None:
        """Make the row of the session, and find out what is stored.

        A server that crashed may have lost what it had confirmed, if its `synchronous_commit` is off.
        """
        host = socket.gethostname()
        names = {"name": self._workspace.session_id, "host": host, "worker": f"{host}:{os.getpid()}"}
        with answering_within(db, _ANSWER_S):
            await check_tables(db, self._address)
            try:
                await rows.register(db, self.identity, claimed=self._claimed, **names)
            except Superseded:
                if self._claimed or self._is_registered:
                    raise
                # A copy of the folder was resumed elsewhere: this one is another session from here on.
                self.identity = new_identity()
                await asyncio.to_thread(store_identity, self._workspace, self.identity)
                self._folder = FolderCopy(self._workspace)
                await rows.register(db, self.identity, claimed=False, **names)
            if self._begins and not self._is_registered:
                # A worker was lost before its session had begun: what it wrote is of another folder.
                await rows.clear(db, self.identity)
            self._stored = await rows.known_artifacts(db, self.identity.id)
            stored = await rows.last_pieces(db, self.identity.id)
        while anew := await asyncio.to_thread(self._folder.begin, stored):
            with answering_within(db, _ANSWER_S):
                await rows.remove_pieces(db, self.identity, anew)
                stored = await rows.last_pieces(db, self.identity.id)
        self._row = StateRow(state="unknown")
        self._is_registered = True

    async def _copy_some(self, db: Connection) -> bool:
        """Copy some of what is new; returns whether there may be more."""
        pieces = await asyncio.to_thread(self._folder.read)
        self._state.set_title(self._folder.title)
        row = self._state.row
        if pieces or row != self._row or self._clock() - self._last_write >= 10.0:
            with answering_within(db, _ANSWER_S):
                await rows.write(db, self.identity, row, pieces)
            self._last_write = self._clock()
            self._row = row
        await asyncio.to_thread(self._folder.advance, pieces)
        return await self._copy_file(db) or bool(pieces)

    # -- files --------------------------------------------------------------------------------------

    async def _copy_file(self, db: Connection) -> bool:
        """Copy the next file; returns whether another one may be copied now. A large one is stored meanwhile."""
        if self._storing is not None and self._storing.done():
            storing, self._storing = self._storing, None
            try:
                await self._add_file(db, storing.result())
            except Superseded:
                raise
            except (TeamError, WorkspaceError) as error:
                # The place of large files cannot be used: others are copied meanwhile.
                self._handle_failure("files", error)
                self._store_again = self._clock() + _LONGEST_PAUSE_S
        for path, sha256 in list(self._folder.files.items()):
            if sha256 and self._stored.get(path) == sha256:
                del self._folder.files[path]
                continue
            if path in self._large and (self._storing is not None or self._clock() < self._store_again):
                continue
            try:
                file = await asyncio.to_thread(self._read_file, path, sha256)
            except WorkspaceError as error:
                log.warning("a file is not copied to the team's database: %s", error)
                del self._folder.files[path]
                continue
            if file.data is not None:
                await self._add_file(db, file)
                return True
            self._large.add(path)
            if self._storing is None:
                self._storing = asyncio.create_task(self._store(file), name="team: large file")
                self._storing.add_done_callback(lambda _: self._wake.set())
        return False

    async def _add_file(self, db: Connection, file: _File) -> None:
        columns = {name: getattr(file, name) for name in ("path", "sha256", "size", "place", "data")}
        with answering_within(db, 60.0):
            await rows.add_artifact(db, self.identity, **columns)
        self._stored[file.path] = file.sha256
        # It may have been saved again meanwhile.
        if self._folder.files.get(file.name) == file.announced:
            del self._folder.files[file.name]
        if not self._folder.files:
            self._note_success("files")

    def _read_file(self, name: str, announced: str) -> _File:
        """The digest, size and, unless it is large, the content of a file."""
        path = self._workspace.artifact_path(name)
        with self._workspace.root.opened(path) as file:
            data = file.read(LARGE + 1)
            if len(data) <= LARGE:
                return _File(name, announced, path, hashlib.sha256(data).hexdigest(), len(data), data)
            file.seek(0)
            return _File(name, announced, path, hashlib.file_digest(file, "sha256").hexdigest(), file.tell())

    async def _store(self, file: _File) -> _File:
        # The end of the program does not wait for it.
        return replace(file, place=await apart(partial(self._store_large, file)))

    def _store_large(self, file: _File) -> str | None:
        if (place := open_place(self._place)) is None:
            log.warning("%s is larger than 5 MB, and no `team_artifacts` is set: it is not copied", file.path)
            return None
        with self._workspace.root.opened(file.path) as content:
            place.store(file.sha256, content, file.size)
        return place.url(file.sha256)
