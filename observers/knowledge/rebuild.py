"""Makes the content of the knowledge base again from journals and artifacts, while other programs may use it."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Full, Queue

import msgspec

from ua_tui.core.concurrency.cancellation import Stop, Stopped
from ua_tui.core.concurrency.threads import in_context
from ua_tui.core.concurrency.worker import WorkerFailed, WorkerProcess
from ua_tui.core.errors import JournalError, KnowledgeError
from ua_tui.core.history.lookup import session_names
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.folders import folder_key, folder_path
from ua_tui.core.knowledge.index.database import connect, open_writer
from ua_tui.core.knowledge.index.preparing import Prepared
from ua_tui.core.knowledge.index.store import KnowledgeStore
from ua_tui.core.knowledge.place import KnowledgePlace
from ua_tui.core.knowledge.problems import KnowledgeDamaged, reporting
from ua_tui.core.knowledge.status import read_status
from ua_tui.core.postgres.address import Address
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.sqlite import sidecars
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.observers.knowledge.catch_up import catch_up, index_piece
from ua_tui.observers.knowledge.reading_child import Part

_LATER_IDS = 1_000_000
"""The numbers of documents begin so far behind earlier ones, so that none means another document than before."""
_TASK = "ua_tui.observers.knowledge.reading_child:read_sessions"
_MEMORY = 2 << 30
_AHEAD = 8
"""Parts of sessions that are read before the earlier ones are stored."""
_POLL_SECONDS = 0.1
_LOCK_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """What the file has, and a sentence for each session that could not be read."""

    sessions: int = 0
    documents: int = 0
    passages: int = 0
    problems: tuple[str, ...] = ()


def rebuild(
    place: KnowledgePlace,
    base: Path,
    redactor: Redactor,
    *,
    on_progress: Callable[[int, int], None] = lambda _done, _all: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Rebuilt | None:
    """Read the sessions below `base` and others that the file knows, and replace its content; blocks.

    Other programs may read and write meanwhile, and lose nothing. The content stays as it was if it does not end.

    Args:
        place: where the knowledge base is. In the database of a team the sessions of this machine are read again.
        base: the folder that holds the folder of the sessions.
        redactor: what masks secrets.
        on_progress: called with the sessions that are done and all that there are.
        stopped: asked between pieces.

    Returns:
        What the file has; None if it was stopped.

    Raises:
        KnowledgeError: the file cannot be written, the sessions cannot be read, or another program makes the file
            again at that moment.
    """
    if isinstance(place, Address):
        return _read_again(place, base, redactor, on_progress, stopped)
    database = place
    known, last = _known(database)
    folders = [(base / WORKSPACES).resolve() / name for name in session_names(base)]
    folders += [folder for folder in known if folder not in folders and (folder / JOURNAL).is_file()]
    problems: list[str] = []
    with _beside(database) as file:
        with KnowledgeStore(database, file=file) as store:
            store.number_from(last + _LATER_IDS)
            with _Reading(folders, redactor, stopped) as parts:
                try:
                    _store(store, folders, parts, problems, on_progress)
                except Stopped:
                    return None
            on_progress(len(folders), len(folders))
            # What was forgotten meanwhile.
            store.remove_forgotten()
        _replace(database, file)
    with KnowledgeStore(database) as store:
        store.remove_forgotten()
        # What other programs have stored meanwhile is read again.
        for _piece in catch_up(store, base, redactor):
            pass
    status = read_status(database)
    return Rebuilt(
        sessions=status.sessions,
        documents=sum(status.documents.values()),
        passages=status.passages,
        problems=(*problems, *status.problems),
    )


def _read_again(
    address: Address,
    base: Path,
    redactor: Redactor,
    on_progress: Callable[[int, int], None],
    stopped: Callable[[], bool],
) -> Rebuilt | None:
    """Remove the sessions below `base` from the database of a team one by one, and index each again."""
    names = session_names(base)
    problems: list[str] = []
    with open_store(address) as store:
        store.remove_forgotten()
        for done, name in enumerate(names):
            on_progress(done, len(names))
            folder = (base / WORKSPACES).resolve() / name
            store.remove_session(folder_key(address, folder))
            more = True
            while more:
                if stopped():
                    return None
                try:
                    more = index_piece(store, folder, redactor).more
                except JournalError as error:
                    problems.append(str(error))
                    more = False
        on_progress(len(names), len(names))
    status = read_status(address)
    return Rebuilt(
        sessions=status.sessions,
        documents=sum(status.documents.values()),
        passages=status.passages,
        problems=(*problems, *status.problems),
    )


def _known(database: Path) -> tuple[list[Path], int]:
    """The folders of the sessions that the file knows, and the number of its last document; makes a missing file."""
    try:
        connection = open_writer(database)
    except KnowledgeDamaged:
        connection = open_writer(database)
    with closing(connection), reporting(database, "read"):
        folders = [folder_path(database, key) for (key,) in connection.execute("SELECT folder FROM session")]
        (last,) = connection.execute(
            "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'document'"
        ).fetchone()
    return folders, int(last)


@contextmanager
def _beside(database: Path) -> Iterator[Path]:
    """The place of a file beside the database, which is removed at the end; only one program has it at a time."""
    file = database.with_name(f"{database.name}.new")
    lock = file.with_name(f"{file.name}.lock")
    with reporting(database, "made again"):
        descriptor = os.open(lock, _LOCK_FLAGS, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The program that had it may have removed it, and a third one made another.
            if not _is_at(lock, descriptor):
                raise BlockingIOError
        except BlockingIOError as error:
            raise KnowledgeError(
                f"another program makes the knowledge base {database} again: wait until it has finished"
            ) from error
        try:
            _remove(file)
            yield file
        finally:
            _remove(file)
            with suppress(FileNotFoundError):
                os.unlink(lock)
    finally:
        os.close(descriptor)


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _remove(file: Path) -> None:
    for each in (file, *sidecars(file)):
        with suppress(FileNotFoundError):
            os.unlink(each)


class _Reading:
    """The parts of the sessions in `folders`, which another process reads some parts ahead.

    Raises:
        KnowledgeError: that process cannot be started, or ended early; raised by the iteration.
        Stopped: `stopped` returned true; raised by the iteration.
    """

    def __init__(self, folders: Sequence[Path], redactor: Redactor, stopped: Callable[[], bool]) -> None:
        self._argument = {
            "folders": [os.fspath(folder) for folder in folders],
            "secrets": [value.encode("utf-8", "surrogatepass") for value in sorted(redactor.values)],
        }
        self._stopped = stopped
        self._stop = Stop()
        self._worker = WorkerProcess(memory=_MEMORY)
        self._parts: Queue[bytes | WorkerFailed | None] = Queue(_AHEAD)
        self._thread = threading.Thread(target=in_context(self._read), name="knowledge-reading", daemon=True)

    def __enter__(self) -> Iterator[Part]:
        self._thread.start()
        return self._decoded()

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._worker.close()
        self._thread.join()

    def _decoded(self) -> Iterator[Part]:
        decoder = msgspec.msgpack.Decoder(Part)
        while True:
            if self._stopped():
                raise Stopped
            try:
                part = self._parts.get(timeout=_POLL_SECONDS)
            except Empty:
                continue
            if isinstance(part, WorkerFailed):
                raise KnowledgeError(f"the sessions could not be read ({part}): try again") from part
            if part is None:
                return
            yield decoder.decode(part)

    def _read(self) -> None:
        with suppress(Stopped):
            try:
                self._worker.call(_TASK, self._argument, on_part=self._put)
            except WorkerFailed as error:
                self._put(error)
            else:
                self._put(None)

    def _put(self, part: bytes | WorkerFailed | None) -> None:
        while True:
            self._stop.check()
            with suppress(Full):
                self._parts.put(part, timeout=_POLL_SECONDS)
                return


class _Unreadable(Exception):
    """A session cannot be read any further; the message says why."""


def _store(
    store: KnowledgeStore,
    folders: Sequence[Path],
    parts: Iterator[Part],
    problems: list[str],
    on_progress: Callable[[int, int], None],
) -> None:
    current = -1
    for part in parts:
        while current < part.session:
            current += 1
            on_progress(current, len(folders))
        folder = folders[part.session]
        key = folder_key(store.path, folder)
        try:
            if part.restarted:
                store.remove_session(key)
            elif part.is_first:
                store.apply(
                    key,
                    part.before,
                    part.after,
                    facts=part.facts,
                    calls=part.calls,
                    groups=_groups(parts),
                    replaced=part.replaced,
                )
            elif part.problem:
                raise _Unreadable(part.problem)
        except _Unreadable as error:
            if folder.is_dir():
                problems.append(str(error))
            else:
                # It was deleted while it was read.
                store.remove_session(key)


def _groups(parts: Iterator[Part]) -> Iterator[list[Prepared]]:
    """Give the documents of a batch, up to its last part."""
    for part in parts:
        if part.problem:
            raise _Unreadable(part.problem)
        if part.is_last:
            return
        yield part.group


def _replace(database: Path, file: Path) -> None:
    """Replace the content of the database in one transaction, which other programs see as any other."""
    with (
        reporting(database, "replaced"),
        closing(connect(file, "ro")) as made,
        closing(connect(database, "rw")) as old,
    ):
        made.backup(old)
        old.execute("PRAGMA wal_checkpoint(TRUNCATE)")
