"""Brings the knowledge base up to date with journals, in pieces that leave room for other work."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from ua_tui.core.errors import JournalError, KnowledgeError
from ua_tui.core.history.lookup import named_entries
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.index.database import emptied
from ua_tui.core.knowledge.index.store import KnowledgeStore
from ua_tui.core.knowledge.place import KnowledgePlace, folder_key, folder_path, journal_size
from ua_tui.core.knowledge.records import Cursor
from ua_tui.core.log import log
from ua_tui.core.postgres.address import Address
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.text import clean_line
from ua_tui.observers.knowledge.journal import read_batch


def index_piece(store: KnowledgeStore, folder: Path, redactor: Redactor) -> bool | None:
    """Read the next part of a session's journal into the store; a session that is gone is removed from a file.

    Returns:
        Whether the journal has more to read; None if another program indexed it meanwhile.

    Raises:
        KnowledgeError: the store cannot be written.
        JournalError: the journal cannot be read.
    """
    key = folder_key(store.path, folder)
    try:
        before = store.cursor(key)
        batch = read_batch(folder, before, redactor, lambda: store.rows("found_pages", folder=key))
        if batch is None:
            store.remove_session(key)
            return True
        if batch.after != before and not store.apply(key, before, batch):
            return None
    except JournalError:
        if _is_folder(folder):
            raise
    else:
        # It may have been deleted while it was read.
        if _is_folder(folder):
            return batch.more
    if store.follows_folders:
        store.remove_session(key)
    return False


def catch_up(
    store: KnowledgeStore,
    base: Path,
    redactor: Redactor,
    *,
    oldest_first: bool = False,
    on_problem: Callable[[str], object] = log.info,
) -> Iterator[tuple[int, int]]:
    """Index what is missing of the sessions below `base`, newest first, and remove those that are gone from a file.

    It gives way after each piece, with how many sessions are done and how many there are, and ends when everything is
    there, except for the sessions that other programs index at that moment. `on_problem` is given a sentence for each
    session that cannot be read.

    Raises:
        KnowledgeError: the store cannot be written.
    """
    try:
        names = named_entries(base)
    except OSError as error:
        log.info("the sessions below %s cannot be listed: %s", base, error.strerror or error)
        return
    # A program that was killed, or that others kept waiting, has left it.
    store.finish_forgetting()
    known = store.cursors()
    sessions = (base / WORKSPACES).resolve()
    # Those that are elsewhere have not been read since the file was emptied.
    unread = [folder_path(store.path, key) for key, cursor in known.items() if cursor == Cursor()]
    elsewhere = [
        each for each in unread if each and each.parent != sessions and journal_size(each) is not None
    ]
    folders = [*(sessions / name for name in names), *elsewhere]
    # A folder without sessions may be that of a disk that is not mounted.
    for key in known if names and store.follows_folders else ():
        folder = folder_path(store.path, key)
        if folder is not None and folder.parent == sessions and not _is_folder(folder):
            store.remove_session(key)
            yield 0, len(folders)
    for number, folder in enumerate(reversed(folders) if oldest_first else folders):
        cursor = known.get(folder_key(store.path, folder), Cursor())
        more: bool | None = journal_size(folder) not in (None, 0, cursor.place)
        while more:
            try:
                more = index_piece(store, folder, redactor)
            except KnowledgeError:
                raise
            except Exception as error:
                reason = f"the session {folder.name} cannot be read: {clean_line(str(error), 300)}"
                on_problem(str(error) if isinstance(error, JournalError) else reason)
                break
            yield number + (not more), len(folders)


def update(
    place: KnowledgePlace,
    base: Path,
    redactor: Redactor,
    on_progress: Callable[[int, int], object] = lambda _done, _all: None,
    *,
    again: bool = False,
) -> list[str]:
    """Read what is missing of the sessions below `base`, as `catch_up` does, into the knowledge base; blocks.

    With `again` a file is emptied first, and read again are also the other sessions that it knew; in the database of a
    team it is the sessions of this machine. Other programs may read and write meanwhile, and lose nothing; what is
    missing if it does not end is read the next time. `on_progress` is given what `catch_up` gives.

    Returns:
        A sentence for each session that cannot be read.

    Raises:
        KnowledgeError: the knowledge base cannot be written.
    """
    problems: list[str] = []
    if again and not isinstance(place, Address):
        emptied(place)
    with open_store(place) as store:
        if again:
            store.rows("begin_rebuild")
        for key in store.cursors() if again and isinstance(place, Address) else ():
            folder = folder_path(place, key)
            if folder is not None and folder.parent == (base / WORKSPACES).resolve():
                store.remove_session(key)
        # The oldest first: a search that runs out of time has seen the last passages.
        for piece in catch_up(store, base, redactor, oldest_first=again, on_problem=problems.append):
            on_progress(*piece)
        if again:
            # The parts of the index that were merged meanwhile have left free space, which does no harm.
            with suppress(KnowledgeError):
                store.scrub()
    return problems


def _is_folder(folder: Path) -> bool:
    """Whether there is such a folder; a link is none."""
    try:
        return stat.S_ISDIR(os.lstat(folder).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        # What cannot be examined is not known to be gone.
        return True
