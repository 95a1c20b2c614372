"""Forgets: removes what a person names from the knowledge base, and remembers by hashes what must not come back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self

import msgspec

from ua_tui.core.errors import KnowledgeError, WorkspaceError
from ua_tui.core.knowledge.access import check_packages, open_store
from ua_tui.core.knowledge.folders import folder_key, folder_path, is_here, is_session
from ua_tui.core.knowledge.index.database import open_reader
from ua_tui.core.knowledge.index.database_file import damaged_files, remove_unfinished
from ua_tui.core.knowledge.place import KnowledgePlace, version_of
from ua_tui.core.knowledge.problems import reporting
from ua_tui.core.knowledge.removal.forgotten import (
    Doomed,
    ForgottenEntry,
    place_trace,
    session_trace,
    source_trace,
    text_trace,
    title_trace,
)
from ua_tui.core.knowledge.search.conditions import Scope, conditions_of
from ua_tui.core.knowledge.search.query import SearchQuery, parse_query
from ua_tui.core.knowledge.search.tokens import Tokenizer, quoted
from ua_tui.core.net.urls import canonical_url
from ua_tui.core.postgres.address import Address
from ua_tui.core.storage.compression import SUFFIX
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.workspace import is_record

if TYPE_CHECKING:
    from ua_tui.core.knowledge.postgres.selection import PostgresSelection

_TITLES = 100
_QUICKLY_SCRUBBED = 32 << 20
"""Bytes of a file from which the bytes of a deleted session are removed at once."""

_RECORDS = "the records of the sessions (journal, transcript, conversation) and copies in SAVED_REPORTS still have it"
_HAS = "d.id IN (SELECT chunk.document FROM chunk_fts JOIN chunk ON chunk.id = chunk_fts.rowid WHERE chunk_fts MATCH ?)"
"""Whether a document has a term, given as an expression of FTS5."""
_FILES = "the files stay where they are; `--files` removes them too"
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
    with _selection(place) as chosen:
        query = _read_query(match) if match else None
        found = chosen.select(session, source, query)
        if match and not session:
            found = _joined(
                found, chosen.with_same_texts({each.digest for each in found if text_trace(each.digest)})
            )
        if files:
            found = _joined(
                found, chosen.of_files(sorted({(each.folder, each.path) for each in found if each.path}))
            )
        titles = _titles_with(chosen, found, query)
        passages = chosen.count_passages(each.id for each in found)
        known = chosen.knows(session)
    if session and not known and not os.path.isdir(folder_path(place, session)):
        raise KnowledgeError(f"there is no session {session}: `ua-tui sessions` lists them")
    paths = _files_of(place, found) if files else []
    kept = _what_stays(place, found, files=files)
    if not dry_run:
        entry = _entry(found, titles, session, source, match, files=files)
        if entry.sessions or entry.sources or entry.places:
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
    if isinstance(place, Address):
        check_packages()
        from ua_tui.core.knowledge.postgres.store import PostgresStore

        with PostgresStore(place) as team_store:
            team_store.remove_deleted(key)
        return
    with open_store(place) as store:
        store.add_forgotten(ForgottenEntry(sessions=(session_trace(key),)))
        store.remove_session(key)
        with reporting(place, "read"):
            is_small = os.lstat(place).st_size < _QUICKLY_SCRUBBED
        if is_small:
            store.finish_forgetting()


def _entry(
    found: Sequence[Doomed], titles: Iterable[str], session: str, source: str, match: str, *, files: bool
) -> ForgottenEntry:
    """What is put on the list: a session or an address that is named alone as such, all else document by document."""
    if session and not source and not match:
        return ForgottenEntry(sessions=(session_trace(session),))
    texts = [text_trace(each.digest) for each in found] if match and not session else []
    texts += [title_trace(title) for title in titles]
    places = (
        [place_trace(each.folder, each.path, each.part) for each in found]
        if match or session or files
        else []
    )
    return ForgottenEntry(
        sources=(source_trace(source),) if source and not session and not match else (),
        places=tuple(dict.fromkeys(places)),
        texts=tuple(dict.fromkeys(filter(None, texts))),
    )


def _what_stays(place: KnowledgePlace, found: Sequence[Doomed], *, files: bool) -> list[str]:
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
    # What a killed rebuild has left; one that runs removes what is on the list itself.
    with reporting(database, "written"):
        remove_unfinished(database)
    for damaged in damaged_files(database):
        try:
            os.unlink(damaged)
        except OSError as error:
            yield f"the damaged file {damaged} may still have it and cannot be removed: {error.strerror}"


# -- the selection ------------------------------------------------------------------------------------


def _selection(place: KnowledgePlace) -> _FileSelection | PostgresSelection:
    if isinstance(place, Address):
        check_packages()
        from ua_tui.core.knowledge.postgres.selection import PostgresSelection

        return PostgresSelection(place)
    return _FileSelection(place)


class _FileSelection:
    """Reads the documents of a file; every method raises `KnowledgeError` if it cannot be read."""

    def __init__(self, database: Path) -> None:
        self._path = database
        self._db = open_reader(database)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._db.close()

    def knows(self, session: str) -> bool:
        """Whether there is something of a session."""
        with reporting(self._path, "read"):
            (count,) = self._db.execute(
                "SELECT count(*) FROM session WHERE folder = ?", (session,)
            ).fetchone()
        return bool(count)

    def select(self, session: str, source: str, query: SearchQuery | None) -> list[Doomed]:
        """The documents for which all conditions hold that are given."""
        conditions, values = ["1"], list[object]()
        if session:
            conditions.append("session.folder = ?")
            values.append(session)
        if source:
            conditions.append("d.source IN (SELECT id FROM source WHERE url = ?)")
            values.append(canonical_url(source))
        if query is not None:
            clauses = conditions_of(query, Scope())
            conditions += clauses.clauses
            values += clauses.values
            for terms, condition in ((query.terms, _HAS), (query.without, f"NOT {_HAS}")):
                conditions += [condition] * len(terms)
                values += [quoted(term.text) for term in terms]
        return self._documents(" AND ".join(conditions), values)

    def with_same_texts(self, digests: Iterable[bytes]) -> list[Doomed]:
        """The documents with these texts."""
        return self._documents(
            "hex(body.hash) IN (SELECT upper(value) FROM json_each(?))",
            [_json([each.hex() for each in digests])],
        )

    def of_files(self, places: Iterable[tuple[str, str]]) -> list[Doomed]:
        """The documents of files, which are named by session and path."""
        return self._documents(
            "EXISTS (SELECT 1 FROM json_each(?) WHERE json_extract(value, '$[0]') = session.folder"
            " AND json_extract(value, '$[1]') = d.path)",
            [_json([*places])],
        )

    def titles_of(self, sessions: Iterable[str]) -> list[str]:
        """The titles of sessions, each once."""
        with reporting(self._path, "read"):
            rows = self._db.execute(
                "SELECT DISTINCT title FROM session WHERE title != '' AND folder IN (SELECT value FROM json_each(?))",
                (_json([*sessions]),),
            ).fetchall()
        return [title for (title,) in rows]

    def count_passages(self, ids: Iterable[int]) -> int:
        """How many passages documents have."""
        with reporting(self._path, "read"):
            (count,) = self._db.execute(
                "SELECT count(*) FROM chunk WHERE text != '' AND document IN (SELECT value FROM json_each(?))",
                (_json([*ids]),),
            ).fetchone()
        return int(count)

    def _documents(self, condition: str, values: Sequence[object]) -> list[Doomed]:
        with reporting(self._path, "read"):
            rows = self._db.execute(
                "SELECT d.id, session.folder, d.path, d.part, d.title, body.hash"  # noqa: S608 -- made of constants
                " FROM document AS d JOIN session ON session.id = d.session JOIN body ON body.id = d.body"
                f" WHERE {condition} ORDER BY d.id",
                values,
            ).fetchall()
        return [Doomed(*row) for row in rows]


def _json(value: Sequence[object]) -> str:
    return msgspec.json.encode(value).decode()


def _titles_with(
    chosen: _FileSelection | PostgresSelection, found: Iterable[Doomed], query: SearchQuery | None
) -> list[str]:
    """The titles of the documents' sessions with a word of the query: mostly a title is that of the first question."""
    if query is None:
        return []
    titles = chosen.titles_of(sorted({each.folder for each in found}))
    with closing(Tokenizer()) as tokenizer:
        wanted = {word for words in tokenizer.words([term.text for term in query.terms]) for word in words}
        return [
            title for title, words in zip(titles, tokenizer.words(titles), strict=True) if wanted & {*words}
        ]


def _joined(found: Iterable[Doomed], others: Iterable[Doomed]) -> list[Doomed]:
    return list({each.id: each for each in (*found, *others)}.values())


def _read_query(text: str) -> SearchQuery:
    """A query that says clearly what to forget."""
    query = parse_query(text, datetime.now().astimezone())
    filters = (query.kinds, query.sites, query.sessions, query.tools, query.since, query.until)
    if query.notices:
        raise KnowledgeError(
            f"nothing is forgotten, because the query is not clear: {' '.join(query.notices)}"
        )
    with closing(Tokenizer()) as tokenizer:
        words = tokenizer.words([term.text for term in (*query.terms, *query.without)])
    if not all(words) or not (query.terms or any(map(bool, filters))):
        raise KnowledgeError("nothing is forgotten, because the query has no words, or parts without letters")
    return query


# -- the files ----------------------------------------------------------------------------------------


def _files_of(database: KnowledgePlace, found: Iterable[Doomed]) -> list[tuple[Path, str]]:
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
