"""Brings the knowledge base up to date with journals, in pieces that leave room for other work."""

from __future__ import annotations

import fcntl
import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from ua_tui.core.errors import JournalError, KnowledgeError
from ua_tui.core.history.lookup import named_entries
from ua_tui.core.knowledge.index.store import KnowledgeStore
from ua_tui.core.knowledge.place import folder_key, folder_path
from ua_tui.core.knowledge.records import Cursor, KnowledgeDocument
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.core.text import clean_line
from ua_tui.observers.knowledge.journal import read_batch

_log = logging.getLogger(__name__)


class Piece(msgspec.Struct, frozen=True):
    """What was stored: the calls whose results it is, and whether the journal has more to read.

    If another program indexes the session at that moment, it is `busy`, and nothing was done.
    """

    calls: frozenset[str] = frozenset()
    more: bool = False
    busy: bool = False


def index_piece(store: KnowledgeStore, folder: Path, redactor: Redactor) -> Piece:
    """Read the next part of a session's journal into the store; a session that is gone is removed from a file.

    Raises:
        KnowledgeError: the store cannot be written.
        JournalError: the journal cannot be read.
    """
    key = folder_key(store.path, folder)
    with _claimed(folder) as is_ours:
        if not is_ours:
            return Piece(busy=True)
        try:
            piece = _index(store, folder, key, redactor)
        except JournalError:
            if _is_folder(folder):
                raise
            piece = Piece()
        # It may have been deleted while it was read.
        if not _is_folder(folder):
            if store.follows_folders:
                store.remove_session(key)
            return Piece()
        return piece


def catch_up(
    store: KnowledgeStore, base: Path, redactor: Redactor, *, besides: Path | None = None
) -> Iterator[Piece]:
    """Index what is missing of the sessions below `base`, newest first, and remove those that are gone from a file.

    It ends when everything is there, except for the sessions that other programs index at that moment. The session
    `besides` is left out.

    Raises:
        KnowledgeError: the store cannot be written.
    """
    try:
        names = named_entries(base)
    except OSError as error:
        _log.info("the sessions below %s cannot be listed: %s", base, error.strerror or error)
        return
    # A program that was killed, or that others kept waiting, has left it.
    store.finish_forgetting()
    known = store.cursors()
    sessions = (base / WORKSPACES).resolve()
    # A folder without sessions may be that of a disk that is not mounted.
    for key in known if names and store.follows_folders else ():
        folder = folder_path(store.path, key)
        if folder.parent == sessions and not _is_folder(folder):
            store.remove_session(key)
            yield Piece()
    for name in names:
        folder = sessions / name
        cursor = known.get(folder_key(store.path, folder), Cursor())
        if folder == besides or _size(folder) in (0, cursor.place):
            continue
        piece = Piece(more=True)
        while piece.more:
            try:
                piece = index_piece(store, folder, redactor)
            except KnowledgeError:
                raise
            except Exception as error:
                # What is in one session must not keep the others from being indexed.
                _log.info("not indexed: %s", problem_of(folder, error), exc_info=error)
                break
            yield piece


def problem_of(folder: Path, error: Exception) -> str:
    """Describe why the session in a folder cannot be read."""
    known = isinstance(error, JournalError)
    return str(error) if known else f"The session {folder.name} cannot be read: {clean_line(str(error), 300)}"


def _index(store: KnowledgeStore, folder: Path, key: str, redactor: Redactor) -> Piece:
    before = store.cursor(key)
    batch = read_batch(folder, before, redactor)
    if batch.restarted:
        store.remove_session(key)
        return Piece(more=True)
    if batch.after == before:
        return Piece()
    calls: set[str] = set()

    def documents() -> Iterator[KnowledgeDocument]:
        for document in batch.documents:
            if document.tool_use_id is not None:
                calls.add(document.tool_use_id)
            yield document

    stored = store.apply(
        key,
        before,
        batch.after,
        facts=batch.facts,
        calls=batch.calls,
        documents=documents(),
        replaced=batch.replaced,
    )
    # Another program was faster: the rest is read from where it ended.
    return Piece(frozenset(calls), batch.more) if stored else Piece(more=True)


@contextmanager
def _claimed(folder: Path) -> Iterator[bool]:
    """Keep other programs from indexing a session meanwhile; gives False if one does."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        # What is wrong with it is found when it is read.
        yield True
        return
    is_ours = True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        is_ours = False
    except OSError as error:
        # Without locks the store sees that another program was faster.
        _log.debug("a folder cannot be locked: %s", error)
    try:
        yield is_ours
    finally:
        os.close(descriptor)


def _is_folder(folder: Path) -> bool:
    """Whether there is such a folder; a link is none."""
    try:
        return stat.S_ISDIR(os.lstat(folder).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        # What cannot be examined is not known to be gone.
        return True


def _size(folder: Path) -> int:
    """The bytes of a session's journal; 0 if there is none."""
    try:
        found = os.lstat(folder / JOURNAL)
    except OSError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0
