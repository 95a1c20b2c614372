"""Makes the content of the knowledge base again from journals and artifacts, while other programs may use it.

A process of its own reads the sessions and prepares their documents, and this one stores them.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ua_tui.core.concurrency.cancellation import Stopped
from ua_tui.core.concurrency.worker import WorkerFailed, WorkerProcess
from ua_tui.core.errors import KnowledgeError
from ua_tui.core.history.lookup import session_names
from ua_tui.core.knowledge.index.database import KnowledgeEmptied, connect, open_writer, reporting
from ua_tui.core.knowledge.index.preparing import Prepared, prepared_groups
from ua_tui.core.knowledge.index.store import KnowledgeStore
from ua_tui.core.knowledge.place import KnowledgePlace, folder_key, folder_path
from ua_tui.core.knowledge.records import Cursor, Facts, IndexedCall
from ua_tui.core.knowledge.status import read_status
from ua_tui.core.postgres.address import Address
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.sqlite import remove_file
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.observers.knowledge.catch_up import catch_up, problem_of
from ua_tui.observers.knowledge.journal import read_batch

if TYPE_CHECKING:
    from ua_tui.core.concurrency.worker_child import TaskContext

_TASK = "ua_tui.observers.knowledge.rebuild:read_sessions"
_MEMORY = 2 << 30
_LOCK_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What the file has, and a sentence for each session that could not be read."""

    sessions: int
    documents: int
    passages: int
    problems: tuple[str, ...]


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
    here = [(base / WORKSPACES).resolve() / name for name in session_names(base)]
    fill = partial(_fill, redactor=redactor, on_progress=on_progress, stopped=stopped)
    try:
        if isinstance(place, Address):
            with KnowledgeStore(place) as store:
                problems = fill(store, here)
        else:
            known = [folder for folder in _known(place) if (folder / JOURNAL).is_file()]
            with _beside(place) as file:
                with KnowledgeStore(place, file=file) as store:
                    problems = fill(store, [*{*here, *known}])
                _replace(place, file)
    except Stopped:
        return None
    with KnowledgeStore(place) as store:
        # What other programs have forgotten since, and what they have stored.
        store.remove_forgotten()
        for _piece in catch_up(store, base, redactor):
            pass
    status = read_status(place)
    documents = sum(status.documents.values())
    return Rebuilt(status.sessions, documents, status.passages, (*problems, *status.problems))


class _Read(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, array_like=True):
    """What was read of a session, which is given by its index, between two cursors; or why it cannot be read."""

    session: int
    before: Cursor = Cursor()
    after: Cursor = Cursor()
    facts: Facts | None = None
    calls: tuple[IndexedCall, ...] = ()
    replaced: tuple[str, ...] = ()
    restarted: bool = False
    groups: list[list[Prepared]] = []
    problem: str = ""

    def store(self, store: KnowledgeStore, folder: Path) -> None:
        """Store it."""
        key = folder_key(store.path, folder)
        # It may have been deleted while it was read.
        if self.restarted or (self.problem and not folder.is_dir()):
            store.remove_session(key)
        elif not self.problem:
            changes = {name: getattr(self, name) for name in ("facts", "calls", "groups", "replaced")}
            store.apply(key, self.before, self.after, **changes)


def _fill(
    store: KnowledgeStore,
    folders: Sequence[Path],
    redactor: Redactor,
    on_progress: Callable[[int, int], None],
    stopped: Callable[[], bool],
) -> list[str]:
    """Store what another process reads in sessions, one batch ahead; returns why some cannot be read.

    The oldest comes first: a search that runs out of time has seen the last passages.
    """
    folders = sorted(folders, key=lambda folder: folder.name)
    problems: list[str] = []
    known, current = store.cursors(), -1

    def store_read(data: bytes) -> None:
        nonlocal current
        if stopped():
            raise Stopped
        read = msgspec.msgpack.decode(data, type=_Read)
        folder = folders[read.session]
        if current < read.session:
            current = read.session
            on_progress(current, len(folders))
            if (key := folder_key(store.path, folder)) in known:
                store.remove_session(key)
        if read.problem and folder.is_dir():
            problems.append(read.problem)
        read.store(store, folder)

    argument = {
        "folders": [os.fspath(folder) for folder in folders],
        "secrets": [value.encode("utf-8", "surrogatepass") for value in sorted(redactor.values)],
    }
    with closing(WorkerProcess(memory=_MEMORY)) as worker:
        try:
            worker.call(_TASK, argument, on_part=store_read)
        except WorkerFailed as error:
            raise KnowledgeError(f"the sessions could not be read ({error}): try again") from error
    # What was forgotten meanwhile, before anybody sees it.
    store.remove_forgotten()
    on_progress(len(folders), len(folders))
    return problems


def _known(database: Path) -> list[Path]:
    """The folders of the sessions that the file knows; makes a missing file."""
    try:
        connection = open_writer(database)
    except KnowledgeEmptied:
        connection = open_writer(database)
    with closing(connection), reporting(database, "read"):
        return [folder_path(database, key) for (key,) in connection.execute("SELECT folder FROM session")]


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
            remove_file(file)
            yield file
        finally:
            remove_file(file)
            with suppress(FileNotFoundError):
                os.unlink(lock)
    finally:
        os.close(descriptor)


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _replace(database: Path, file: Path) -> None:
    """Replace the content of the database in one transaction, which other programs see as any other."""
    with (
        reporting(database, "replaced"),
        closing(connect(file, "rw")) as made,
        closing(connect(database, "rw")) as old,
    ):
        # Parts of the index that were merged have left empty pages.
        made.execute("VACUUM")
        made.backup(old)
        old.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def read_sessions(context: TaskContext, argument: dict[str, Any]) -> None:
    """Read the sessions in `folders`, in order, and send their batches; `secrets` are masked."""
    redactor = Redactor(secret.decode("utf-8", "surrogatepass") for secret in argument["secrets"])
    for number, folder in enumerate(argument["folders"]):
        for read in _batches(number, Path(folder), redactor):
            context.say("part", msgspec.msgpack.encode(read))


def _batches(number: int, folder: Path, redactor: Redactor) -> Iterator[_Read]:
    cursor, more = Cursor(), True
    while more:
        try:
            batch = read_batch(folder, cursor, redactor)
            groups = [*prepared_groups(batch.documents)]
        except Exception as error:
            # What is in one session must not keep the others from being read.
            yield _Read(session=number, problem=problem_of(folder, error))
            return
        found = {name: getattr(batch, name) for name in ("after", "facts", "calls", "replaced", "restarted")}
        yield _Read(session=number, before=cursor, groups=groups, **found)
        cursor, more = batch.after, batch.more or batch.restarted
