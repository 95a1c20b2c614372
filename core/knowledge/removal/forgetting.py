"""Forgets: removes what a person names from the knowledge base, and remembers by tombstones what must not come back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from ua_tui.core.errors import KnowledgeError, WorkspaceError
from ua_tui.core.knowledge.access import open_database, open_store
from ua_tui.core.knowledge.index.database import reporting
from ua_tui.core.knowledge.place import (
    KnowledgePlace,
    folder_key,
    folder_path,
    is_here,
    is_session,
    version_of,
)
from ua_tui.core.knowledge.removal.forgotten import (
    ForgottenEntry,
    document_tombstone,
    session_tombstone,
    source_tombstone,
    title_tombstone,
)
from ua_tui.core.knowledge.removal.selection import Chosen, read_query, select, titled, with_files
from ua_tui.core.postgres.address import Address
from ua_tui.core.storage.compression import SUFFIX
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.sqlite import files_set_aside
from ua_tui.core.storage.workspace import is_record

_TITLES = 100
_QUICKLY_SCRUBBED = 32 << 20
"""Bytes of a file from which the bytes of a deleted session are removed at once."""

_RECORDS = "the records of the sessions (journal, transcript, conversation) and copies in SAVED_REPORTS still have it"
_FILES = "the files stay where they are; `--files` removes them too"
_AGAIN = "a page that is fetched again is found again, unless its address is forgotten, too (`--source`)"
_SERVER = "the server's log, backups and replicas may have it until they are overwritten"
_ELSEWHERE = "the files of sessions on other machines stay there: run the same command there"
_READ = "another program still reads the knowledge base: the bytes are removed from its file when a session runs next"


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What was removed, or with `dry_run` would be.

    Attributes:
        documents: how many documents.
        passages: how many of their passages.
        titles: the titles of the first hundred documents, each once.
        sessions: the folders of the sessions from which they are, as the file names them.
        files: the paths of the artifacts, with `files`.
        kept: what still has the texts, and problems: sentences for a person.
    """

    documents: int = 0
    passages: int = 0
    titles: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    kept: tuple[str, ...] = ()


def forget(
    place: KnowledgePlace,
    *,
    session: str = "",
    source: str = "",
    match: str = "",
    files: bool = False,
    dry_run: bool = False,
) -> Forgotten:
    """Remove the documents of a session, of an address, or that match a query, so that no byte of them remains; blocks.

    Documents for which all of the given conditions hold are removed. A session or an address that is named alone stays
    forgotten, whatever is found there later. With `files` their files are removed too, and the other documents of these
    files. Journals, transcripts and conversations of sessions stay.

    Args:
        place: where the knowledge base is.
        session: the folder of a session, as the knowledge base names it.
        source: the address of a page.
        match: a query, as `KnowledgeSearch.search` reads it; all of its words must match.
        files: whether the files of the sessions are removed too.
        dry_run: whether nothing is changed.

    Raises:
        KnowledgeError: no condition is given, or the file cannot be read or written.
    """
    session, source, match = session.strip(), source.strip(), match.strip()
    if not session and not source and not match:
        raise KnowledgeError("nothing to forget: name a session, an address, or words")
    query = read_query(match) if match else None
    with closing(open_database(place)) as database, database.reading() as notices:
        if notices is None:
            raise KnowledgeError(f"there is no knowledge base {place}: it is made when a session runs")
        found = select(database, session, source, query)
        if files:
            found = with_files(database, found)
        named = titled(database, found, query) if query is not None else []
        ((passages,),) = database.rows("count_passages", ids=[each.id for each in found])
        known = bool(database.rows("knows", folder=session))
    if session and not known and not os.path.isdir(folder_path(place, session)):
        raise KnowledgeError(f"there is no session {session}: `ua-tui sessions` lists them")
    paths = _files_of(place, found) if files else []
    kept = _what_stays(place, found, files=files)
    if match and found:
        kept.append(_AGAIN)
    if not dry_run:
        entry = _entry(found, named, session, source, match, files=files)
        if entry.tombstones:
            kept += _remove(place, entry)
        paths = [path for path in paths if _remove_file(path, kept)]
    return Forgotten(
        documents=len(found),
        passages=passages,
        titles=tuple(dict.fromkeys(each.title for each in found if each.title))[:_TITLES],
        sessions=tuple(dict.fromkeys(each.folder for each in found)),
        files=tuple(path for path, _ in paths),
        kept=tuple(kept),
    )


def forget_deleted(place: KnowledgePlace, folder: Path) -> None:
    """Forget a session whose folder was deleted; quick, so what is left in the bytes of a large file is removed later.

    In the database of a team it is only removed, and one of the team stays: the folder was a copy of it.

    Raises:
        KnowledgeError: it cannot be written.
    """
    if version_of(place) is None:
        return
    key = folder_key(place, folder)
    with open_store(place) as store:
        if isinstance(place, Address):
            store.remove_deleted(key)
            return
        store.add_forgotten(ForgottenEntry(tombstones=(session_tombstone(key),)))
        store.remove_session(key)
        with reporting(place, "read"):
            is_small = os.lstat(place).st_size < _QUICKLY_SCRUBBED
        if is_small:
            store.finish_forgetting()


def _entry(
    found: Iterable[Chosen], named: Iterable[str], session: str, source: str, match: str, *, files: bool
) -> ForgottenEntry:
    """What is put on the list: a session or an address that is named alone as such, all else document by document."""
    if session and not source and not match:
        return ForgottenEntry(tombstones=(session_tombstone(session),))
    tombstones = [title_tombstone(folder) for folder in named]
    if source and not session and not match:
        tombstones.append(source_tombstone(source))
    if match or session or files:
        tombstones += [document_tombstone(each.folder, each.path, each.part) for each in found]
    return ForgottenEntry(tombstones=tuple(dict.fromkeys(tombstones)))


def _what_stays(place: KnowledgePlace, found: Sequence[Chosen], *, files: bool) -> list[str]:
    """What still has the texts of documents that are removed."""
    if not found:
        return []
    kept = [_RECORDS] if files or not any(each.path for each in found) else [_FILES, _RECORDS]
    if isinstance(place, Address):
        kept.append(_SERVER)
        if files and any(each.path and not is_here(place, each.folder) for each in found):
            kept.append(_ELSEWHERE)
    return kept


def _remove(place: KnowledgePlace, entry: ForgottenEntry) -> Iterator[str]:
    """Remove from the knowledge base what an entry lists; gives sentences about what is left."""
    with open_store(place) as store:
        store.add_forgotten(entry)
        is_clean = store.finish_forgetting()
    if isinstance(place, Address):
        return
    database = place
    if not is_clean:
        yield _READ
    for damaged in files_set_aside(database):
        try:
            os.unlink(damaged)
        except OSError as error:
            yield f"the damaged file {damaged} may still have it and cannot be removed: {error.strerror}"


# -- the files ----------------------------------------------------------------------------------------


def _files_of(database: KnowledgePlace, found: Iterable[Chosen]) -> list[tuple[Path, str]]:
    """The files of documents that are there, each with its path in its session."""
    places = sorted({(each.folder, each.path) for each in found if each.path and not is_record(each.path)})
    files = []
    for folder, path in places:
        if not is_here(database, folder):
            continue
        place = folder_path(database, folder)
        # A database that somebody else made may name any folder.
        if not is_session(place):
            continue
        for name in (path, path + SUFFIX):
            if os.path.lexists(place / name):
                files.append((place / name, name))
    return files


def _remove_file(file: tuple[Path, str], kept: list[str]) -> bool:
    path, name = file
    try:
        Root(Path(str(path).removesuffix(name))).remove(name)
    except WorkspaceError as error:
        kept.append(f"{path} could not be removed: {error}")
        return False
    return True
