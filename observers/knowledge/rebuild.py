"""Makes the content of the knowledge base again from journals and artifacts, while other programs may use it.

A process of its own reads the sessions and prepares their documents, and this one stores them.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from ua_tui.core.concurrency.cancellation import Stopped
from ua_tui.core.concurrency.worker import WorkerFailed, WorkerProcess
from ua_tui.core.errors import JournalError, KnowledgeError
from ua_tui.core.history.lookup import session_names
from ua_tui.core.knowledge.folders import folder_key, folder_path
from ua_tui.core.knowledge.index.database import connect, open_writer
from ua_tui.core.knowledge.index.preparing import Prepared, prepared_groups
from ua_tui.core.knowledge.index.store import KnowledgeStore
from ua_tui.core.knowledge.place import KnowledgePlace
from ua_tui.core.knowledge.problems import KnowledgeDamaged, reporting
from ua_tui.core.knowledge.records import Cursor, Facts, IndexedCall
from ua_tui.core.knowledge.status import read_status
from ua_tui.core.postgres.address import Address
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.sqlite import remove_file
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.core.text import clean_line
from ua_tui.observers.knowledge.catch_up import catch_up, index_session
from ua_tui.observers.knowledge.journal import Batch, read_batch

if TYPE_CHECKING:
    from ua_tui.core.concurrency.worker_child import TaskContext

_TASK = "ua_tui.observers.knowledge.rebuild:read_sessions"
_MEMORY = 2 << 30
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
    folders = [(base / WORKSPACES).resolve() / name for name in session_names(base)]
    work = _Work(redactor, on_progress, stopped, [])
    try:
        if isinstance(place, Address):
            work.read_again(place, folders)
        else:
            work.make_again(place, folders, base)
    except Stopped:
        return None
    status = read_status(place)
    return Rebuilt(
        sessions=status.sessions,
        documents=sum(status.documents.values()),
        passages=status.passages,
        problems=(*work.problems, *status.problems),
    )


class _Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, array_like=True):
    """What is stored at once of a session, which is given by its index in the list of folders.

    Only the last part of a batch moves the cursor, and only the first one has what is not about documents. `restarted`
    says that what was read before of the session is void, and `problem` that it cannot be read.
    """

    session: int
    before: Cursor = Cursor()
    after: Cursor = Cursor()
    group: list[Prepared] = []
    facts: Facts | None = None
    calls: tuple[IndexedCall, ...] = ()
    replaced: tuple[str, ...] = ()
    restarted: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Work:
    redactor: Redactor
    on_progress: Callable[[int, int], None]
    stopped: Callable[[], bool]
    problems: list[str]

    def read_again(self, address: Address, folders: Sequence[Path]) -> None:
        """Remove sessions from the database of a team one by one, and index each again."""
        with KnowledgeStore(address) as store:
            store.remove_forgotten()
            for done, folder in enumerate(_oldest_first(folders)):
                self.on_progress(done, len(folders))
                store.remove_session(folder_key(address, folder))
                for _piece in index_session(store, folder, self.redactor, self.problems):
                    self._check()
        self.on_progress(len(folders), len(folders))

    def make_again(self, database: Path, folders: Sequence[Path], base: Path) -> None:
        """Replace the content of the file by that of a new one, which is made beside it."""
        known = [folder for folder in _known(database) if (folder / JOURNAL).is_file()]
        with _beside(database) as file:
            with KnowledgeStore(database, file=file) as store:
                self._fill(store, _oldest_first({*folders, *known}))
                # What was forgotten meanwhile.
                store.remove_forgotten()
            _replace(database, file)
        with KnowledgeStore(database) as store:
            store.remove_forgotten()
            # What other programs have stored meanwhile is read again.
            for _piece in catch_up(store, base, self.redactor):
                pass

    def _fill(self, store: KnowledgeStore, folders: Sequence[Path]) -> None:
        """Store what another process reads in sessions, which is one part ahead."""
        decoder = msgspec.msgpack.Decoder(_Part)
        current = -1

        def take(data: bytes) -> None:
            nonlocal current
            self._check()
            part = decoder.decode(data)
            while current < part.session:
                current += 1
                self.on_progress(current, len(folders))
            self._store(store, folders[part.session], part)

        argument = {
            "folders": [os.fspath(folder) for folder in folders],
            "secrets": [value.encode("utf-8", "surrogatepass") for value in sorted(self.redactor.values)],
        }
        with closing(WorkerProcess(memory=_MEMORY)) as worker:
            try:
                worker.call(_TASK, argument, on_part=take)
            except WorkerFailed as error:
                raise KnowledgeError(f"the sessions could not be read ({error}): try again") from error
        self.on_progress(len(folders), len(folders))

    def _store(self, store: KnowledgeStore, folder: Path, part: _Part) -> None:
        key = folder_key(store.path, folder)
        # It may have been deleted while it was read.
        if part.restarted or (part.problem and not folder.is_dir()):
            store.remove_session(key)
        elif part.problem:
            self.problems.append(part.problem)
        else:
            store.apply(
                key,
                part.before,
                part.after,
                facts=part.facts,
                calls=part.calls,
                groups=[part.group],
                replaced=part.replaced,
            )

    def _check(self) -> None:
        if self.stopped():
            raise Stopped


def _oldest_first(folders: Iterable[Path]) -> list[Path]:
    """The order in which vectors, which are made of the last passages first, come to the newest sessions first."""
    return sorted(folders, key=lambda folder: folder.name)


def _known(database: Path) -> list[Path]:
    """The folders of the sessions that the file knows; makes a missing file."""
    try:
        connection = open_writer(database)
    except KnowledgeDamaged:
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
        closing(connect(file, "ro")) as made,
        closing(connect(database, "rw")) as old,
    ):
        made.backup(old)
        old.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def read_sessions(context: TaskContext, argument: dict[str, Any]) -> None:
    """Read the sessions in `folders`, in order, and send their parts; `secrets` are masked."""
    redactor = Redactor(secret.decode("utf-8", "surrogatepass") for secret in argument["secrets"])
    for number, folder in enumerate(argument["folders"]):
        for part in _parts(number, Path(folder), redactor):
            context.say("part", msgspec.msgpack.encode(part))


def _parts(number: int, folder: Path, redactor: Redactor) -> Iterator[_Part]:
    cursor, more = Cursor(), True
    try:
        while more:
            batch = read_batch(folder, cursor, redactor)
            yield from _parts_of(number, cursor, batch)
            cursor, more = batch.after, batch.more or batch.restarted
    except JournalError as error:
        yield _Part(session=number, problem=str(error))
    except Exception as error:
        # What is in one session must not keep the others from being read.
        problem = f"The session {folder.name} cannot be read: {clean_line(str(error), 300)}"
        yield _Part(session=number, problem=problem)


def _parts_of(number: int, before: Cursor, batch: Batch) -> Iterator[_Part]:
    empty = _Part(session=number, before=before, after=before)
    if batch.restarted:
        yield replace(empty, restarted=True)
        return
    part = replace(empty, facts=batch.facts, calls=batch.calls, replaced=batch.replaced)
    for group in prepared_groups(batch.documents):
        yield replace(part, group=group)
        part = empty
    yield replace(part, after=batch.after)
