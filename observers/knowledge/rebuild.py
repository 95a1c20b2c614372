"""Makes the content of the knowledge base again from journals and artifacts, while other programs may use it."""

from __future__ import annotations

import fcntl
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from core.errors import JournalError, KnowledgeError
from core.history.lookup import session_names
from core.knowledge.database import connect, open_writer
from core.knowledge.database_file import sidecars
from core.knowledge.folders import folder_path
from core.knowledge.problems import KnowledgeDamaged, reporting
from core.knowledge.status import read_status
from core.knowledge.store import KnowledgeStore
from core.redaction.redactor import Redactor
from core.storage.workspace import JOURNAL, WORKSPACES
from core.text import clean_line
from observers.knowledge.catch_up import Piece, catch_up, index_piece

__all__ = ["Rebuilt", "rebuild"]

_log = logging.getLogger(__name__)

_LATER_IDS = 1_000_000
"""The numbers of documents begin so far behind earlier ones, so that none means another document than before."""
_PATIENCE_SECONDS, _PAUSE_SECONDS = 5.0, 0.02
"""How long a session is waited for that another program indexes at that moment, and between two tries."""
_LOCK_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """What the file has, and a sentence for each session that could not be read."""

    sessions: int = 0
    documents: int = 0
    passages: int = 0
    problems: tuple[str, ...] = ()


def rebuild(
    database: Path,
    base: Path,
    redactor: Redactor,
    *,
    on_progress: Callable[[int, int], None] = lambda _done, _all: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Rebuilt | None:
    """Read the sessions below `base` and others that the file knows, and replace its content; blocks.

    Other programs may read and write meanwhile, and lose nothing. The content stays as it was if it does not end.

    Args:
        database: the file of the knowledge base.
        base: the folder that holds the folder of the sessions.
        redactor: what masks secrets.
        on_progress: called with the sessions that are done and all that there are.
        stopped: asked between pieces.

    Returns:
        What the file has; None if it was stopped.

    Raises:
        KnowledgeError: the file cannot be written, or another program makes it again at that moment.
    """
    known, last = _known(database)
    folders = [(base / WORKSPACES).resolve() / name for name in session_names(base)]
    folders += [folder for folder in known if folder not in folders and (folder / JOURNAL).is_file()]
    problems: list[str] = []
    with _beside(database) as file:
        with KnowledgeStore(database, file=file) as store:
            store.number_from(last + _LATER_IDS)
            for number, folder in enumerate(folders):
                on_progress(number, len(folders))
                if not _index(store, folder, redactor, problems, stopped):
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


def _remove(file: Path) -> None:
    for each in (file, *sidecars(file)):
        with suppress(FileNotFoundError):
            os.unlink(each)


def _index(
    store: KnowledgeStore,
    folder: Path,
    redactor: Redactor,
    problems: list[str],
    stopped: Callable[[], bool],
) -> bool:
    """Read a session into the store; False if it was stopped."""
    until = time.monotonic() + _PATIENCE_SECONDS
    piece = Piece(more=True)
    while piece.more or (piece.busy and time.monotonic() < until):
        if stopped():
            return False
        try:
            piece = index_piece(store, folder, redactor)
        except JournalError as error:
            problems.append(str(error))
            return True
        except KnowledgeError:
            raise
        except Exception as error:
            # What is in one session must not keep the others from being read.
            _log.exception("%s is not indexed", folder)
            problems.append(f"The session {folder.name} cannot be read: {clean_line(str(error), 300)}")
            return True
        if piece.busy:
            time.sleep(_PAUSE_SECONDS)
    return True


def _replace(database: Path, file: Path) -> None:
    """Replace the content of the database in one transaction, which other programs see as any other."""
    with (
        reporting(database, "replaced"),
        closing(connect(file, "ro")) as made,
        closing(connect(database, "rw")) as old,
    ):
        made.backup(old)
        old.execute("PRAGMA wal_checkpoint(TRUNCATE)")
