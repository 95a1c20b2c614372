"""Writes to the knowledge base, in short transactions that other programs can come between.

Several programs may index the same session. Each applies what it has read from the journal only if the session's cursor
is still where it began to read; otherwise another program was faster, and it reads again.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import msgspec

from core.errors import KnowledgeError
from core.knowledge.chunks import count_words, split_chunks
from core.knowledge.database import (
    PAUSE_SECONDS,
    begin,
    close_writer,
    open_writer,
    remove_damaged,
    set_bulk,
    transaction,
)
from core.knowledge.database_file import identity
from core.knowledge.erasing import erase, remove_some, scrub
from core.knowledge.fingerprints import body_hash, simhash
from core.knowledge.forgotten import Entry, ForgottenList, traces_of
from core.knowledge.problems import DAMAGED, explain, primary_code
from core.knowledge.records import Call, Chunk, Cursor, Document, Facts
from core.net.urls import canonical_url

__all__ = ["KnowledgeStore"]

BATCH_SECONDS = 0.15
"""After this time a transaction ends as soon as it can: other programs shall wait for at most 0.2 s."""
_BULK_SECONDS = 1.0
"""How long a transaction lasts in a file that nobody else uses: each adds a part to the index, to be merged later."""
_GROUP = 200_000
"""Characters of the documents that are prepared and stored together."""
_ROWS = 200
"""Chunks that are stored by one statement, during which other threads run."""

_log = logging.getLogger(__name__)

Row = tuple[int, int, int, int, str]
"""A row of the table `chunk`: its document, its start and end, its fingerprint, and its text."""


class KnowledgeStore:
    """The one writer of a program; all methods block, so call them in a thread, one at a time.

    What is on the list of what was forgotten is not stored.

    Every method raises `KnowledgeError` if the file cannot be read or written. If it is `KnowledgeDamaged`, the file
    was set aside: close the store, and open it again, which makes a new file.
    """

    def __init__(self, path: Path, *, file: Path | None = None) -> None:
        """Open the file of the knowledge base at `path`, or `file`, which is to replace its content."""
        self.path = path
        self._file = path if file is None else file
        self._forgotten = ForgottenList(path)
        self._db = open_writer(self._file)
        self._identity = identity(self._file)
        self._pace = _Pace(least=0.0 if file is None else _BULK_SECONDS)
        self._index = _Index(self._db, is_late=file is not None)
        try:
            if file is not None:
                set_bulk(self._db)
            self._forgotten.refresh()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        with suppress(sqlite3.Error):
            self._end_transaction()
        self._index.close()
        close_writer(self._file, self._db, self._identity)

    def cursors(self) -> dict[str, Cursor]:
        """The sessions by their folders, and how far the journal of each was read."""
        with self._reporting("read"):
            rows = self._db.execute("SELECT folder, seq, place FROM session").fetchall()
        return {folder: Cursor(seq, place) for folder, seq, place in rows}

    def cursor(self, folder: str) -> Cursor:
        """How far the journal of a session was read."""
        with self._reporting("read"):
            row = self._db.execute("SELECT seq, place FROM session WHERE folder = ?", (folder,)).fetchone()
        return Cursor() if row is None else Cursor(*row)

    def passages_of(self, folder: str, tool_use_id: str) -> int:
        """The number of passages that a call of a session has brought."""
        with self._reporting("read"):
            (count,) = self._db.execute(
                "SELECT count(*) FROM session JOIN call ON call.session = session.id"
                " JOIN document ON document.call = call.id JOIN chunk ON chunk.document = document.id"
                " WHERE session.folder = ? AND call.tool_use_id = ?",
                (folder, tool_use_id),
            ).fetchone()
        return int(count)

    def apply(
        self,
        folder: str,
        before: Cursor,
        after: Cursor,
        *,
        facts: Facts | None = None,
        calls: Sequence[Call] = (),
        documents: Iterable[Document] = (),
        replaced: Iterable[str] = (),
    ) -> bool:
        """Store what was read from a session's journal between two cursors.

        It may take several transactions; the cursor moves with the last one, and what a killed program stored before
        is replaced by the next try. Documents are asked for outside of transactions. Of a forgotten session only the
        cursor is stored.

        Args:
            folder: the session's folder, relative to that of the sessions or absolute.
            before: the cursor at which the reading began.
            after: the cursor at which it ended.
            facts: what is known of the session now; None leaves it as it is.
            calls: calls that began or ended.
            documents: new documents; one with the path and the part of an earlier one replaces it.
            replaced: files that were read again: all of their earlier documents are removed.

        Returns:
            Whether it was stored; False if another program moved the cursor.
        """
        with self._reporting("written"):
            self._index.start()
            batch = _Batch(
                self._db, self._index, self._forgotten, self._check_file, self._pace, folder, before
            )
            groups = _groups(documents)
            group: list[_Prepared] | None = next(groups, [])
            is_first = True
            try:
                while group is not None:
                    following = next(groups, None)
                    self._index.finish()
                    with batch:
                        if is_first:
                            batch.start(facts, calls, replaced)
                        batch.put(group)
                        if following is None:
                            batch.move_cursor(after)
                    if following is not None:
                        self._index.start()
                    group, is_first = following, False
            except _Overtaken:
                return False
        return True

    def remove_session(self, folder: str) -> None:
        """Remove everything of a session; a program that is killed meanwhile leaves it to be indexed again."""
        condition = "session IN (SELECT id FROM session WHERE folder = ?)"
        with self._reporting("written"):
            self._end_transaction()
            self._check_file()
            with transaction(self._db):
                self._db.execute("UPDATE session SET seq = 0, place = 0 WHERE folder = ?", (folder,))
            is_left = True
            while is_left:
                erase(self._db, condition, (folder,))
                with transaction(self._db):
                    # Another program may have added something meanwhile.
                    is_left = remove_some(self._db, condition, (folder,))
                    if not is_left:
                        self._db.execute("DELETE FROM session WHERE folder = ?", (folder,))

    def add_forgotten(self, entry: Entry) -> None:
        """Put something on the list of what was forgotten; `finish_forgetting` removes it."""
        self._forgotten.append(entry)

    def finish_forgetting(self) -> bool:
        """Remove what was put on the list since the last time; returns whether no byte of it is left in the file."""
        self._forgotten.refresh()
        pending = self._forgotten.pending
        if not pending:
            return True
        with self._reporting("written"):
            self._remove_forgotten()
            if not scrub(self._db):
                return False
        for entry in pending:
            self._forgotten.append(Entry(id=entry.id, done=True))
        return True

    def remove_forgotten(self) -> None:
        """Remove everything on the list from the file."""
        self._forgotten.refresh()
        with self._reporting("written"):
            if self._remove_forgotten():
                scrub(self._db)

    def number_from(self, number: int) -> None:
        """Give documents numbers from this one on, in a file that has none yet."""
        with self._reporting("written"), transaction(self._db):
            self._db.execute("INSERT INTO sqlite_sequence(name, seq) VALUES ('document', ?)", (number,))

    def _remove_forgotten(self) -> bool:
        """Remove everything on the list; returns whether there were documents of it."""
        self._end_transaction()
        if not len(self._forgotten):
            return False
        self._check_file()
        found = self._forgotten_documents()
        for at in range(0, len(found), 500):
            ids = _json(found[at : at + 500])
            erase(self._db, "id IN (SELECT value FROM json_each(?))", (ids,))
        self._remove_forgotten_names()
        return bool(found)

    def _forgotten_documents(self) -> list[int]:
        rows = self._db.execute(
            "SELECT document.id, session.folder, document.path, document.part, coalesce(source.url, ''), body.hash"
            " FROM document JOIN session ON session.id = document.session JOIN body ON body.id = document.body"
            " LEFT JOIN source ON source.id = document.source"
        )
        return [
            number
            for number, folder, path, part, url, digest in rows
            if self._forgotten.has(traces_of(folder, path, part, url, digest))
        ]

    def _remove_forgotten_names(self) -> None:
        """Remove titles and calls of forgotten sessions, forgotten titles, and forgotten addresses in reports."""
        sessions = [
            number
            for number, folder in self._db.execute("SELECT id, folder FROM session").fetchall()
            if self._forgotten.has_session(folder)
        ]
        sources = [
            number
            for number, url in self._db.execute("SELECT id, url FROM source").fetchall()
            if self._forgotten.has_source(url)
        ]
        titles = [
            number
            for number, title in self._db.execute("SELECT id, title FROM session").fetchall()
            if self._forgotten.has_title(title)
        ]
        with transaction(self._db):
            self._db.execute(
                "UPDATE session SET title = '' WHERE id IN (SELECT value FROM json_each(?))", (_json(titles),)
            )
            self._db.execute(
                "UPDATE session SET title = '', started = NULL WHERE id IN (SELECT value FROM json_each(?))",
                (_json(sessions),),
            )
            for statement, ids in (
                ("DELETE FROM call WHERE session IN (SELECT value FROM json_each(?))", sessions),
                ("DELETE FROM citation WHERE source IN (SELECT value FROM json_each(?))", sources),
                ("DELETE FROM source WHERE id IN (SELECT value FROM json_each(?))", sources),
            ):
                self._db.execute(statement, (_json(ids),))

    def _end_transaction(self) -> None:
        """End the transaction that was left open for further documents."""
        self._index.start()
        self._index.finish()
        if self._db.in_transaction:
            self._db.execute("COMMIT")

    def _check_file(self) -> None:
        """Check that the open file is still the one of its name, within a transaction or before."""
        if identity(self._file) != self._identity:
            raise KnowledgeError(f"the knowledge base {self.path} was replaced by another program")

    @contextmanager
    def _reporting(self, action: str) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            if isinstance(error, sqlite3.Error) and primary_code(error) in DAMAGED:
                raise remove_damaged(self._file, self._db, self._identity, error) from error
            raise explain(self.path, action, error) from error


class _Overtaken(Exception):
    """Another program moved the cursor of the session, or removed it."""


class _Index:
    """Puts chunks into the full-text index: at once, or late, while the next documents are read.

    All chunks must be in it before any are removed.
    """

    def __init__(self, db: sqlite3.Connection, *, is_late: bool) -> None:
        self._db = db
        self._threads = ThreadPoolExecutor(1, "knowledge-index") if is_late else None
        self._last: int | None = None
        self._running: Future[None] | None = None

    def add_after(self, last: int) -> None:
        """Put the chunks with higher numbers than `last` into the index."""
        if self._threads is None:
            self._add(last)
        elif self._last is None:
            self._last = last

    def start(self) -> None:
        """Begin with the chunks that are not in it; the database is in use until `finish` has returned."""
        if self._threads is not None and self._last is not None:
            self._running = self._threads.submit(self._add, self._last)
            self._last = None

    def finish(self) -> None:
        """Wait until it is done."""
        if self._running is not None:
            running, self._running = self._running, None
            running.result()

    def close(self) -> None:
        """End the thread."""
        if self._threads is not None:
            self._threads.shutdown()

    def _add(self, last: int) -> None:
        self._db.execute(
            "INSERT INTO chunk_fts(rowid, title, text, context) SELECT * FROM passage WHERE id > ?", (last,)
        )


@dataclass(slots=True)
class _Pace:
    """How long a transaction lasts at least, and when it began; time of the monotonic clock in seconds."""

    least: float = 0.0
    begun: float = 0.0


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A document with everything that can be computed before it is stored."""

    document: Document
    digest: bytes
    words: int
    chunks: list[tuple[int, int, int, str]]


def _groups(documents: Iterable[Document]) -> Iterator[list[_Prepared]]:
    """Prepare documents, and give those together that are stored in one transaction."""
    group: list[_Prepared] = []
    size = 0
    for document in documents:
        prepared = _prepare(document)
        group.append(prepared)
        size += len(document.text) + 500
        if size > _GROUP:
            yield group
            group, size = [], 0
    if group:
        yield group


def _prepare(document: Document) -> _Prepared:
    # A document without a text is found by its title.
    chunks = [*split_chunks(document.text)] or [Chunk(0, 0, "")]
    return _Prepared(
        document,
        body_hash(document.text),
        count_words(document.text),
        [(chunk.start, chunk.end, simhash(chunk.text), _storable(chunk.text)) for chunk in chunks],
    )


class _Batch:
    """Everything of one `apply`, in transactions that end after `BATCH_SECONDS`; each `with` is at least one."""

    def __init__(
        self,
        db: sqlite3.Connection,
        index: _Index,
        forgotten: ForgottenList,
        check_file: Callable[[], None],
        pace: _Pace,
        folder: str,
        before: Cursor,
    ) -> None:
        self._db = db
        self._index = index
        self._forgotten = forgotten
        self._check_file = check_file
        self._pace = pace
        self._folder = folder
        self._before = before
        self._session = 0
        self._is_forgotten = False

    def __enter__(self) -> None:
        if not self._db.in_transaction:
            begin(self._db)
            self._pace.begun = time.monotonic()
        try:
            self._check_file()
            # Whoever forgets something adds it to the list first, and removes it in a transaction.
            self._forgotten.refresh()
            self._is_forgotten = self._forgotten.has_session(self._folder)
            self._session = self._find_session()
        except BaseException:
            self._db.execute("ROLLBACK")
            raise

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        if kind is None and time.monotonic() - self._pace.begun < self._pace.least:
            return
        try:
            if kind is None:
                self._db.execute("COMMIT")
        finally:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")

    def start(self, facts: Facts | None, calls: Sequence[Call], replaced: Iterable[str]) -> None:
        """Store what is known of the session and of calls, and remove the documents of files."""
        if self._is_forgotten:
            return
        if facts is not None:
            title = _storable(facts.title)
            title = "" if self._forgotten.has_title(title) else title
            self._db.execute(
                "UPDATE session SET started = ?, title = ?, state = ?, demo = ? WHERE id = ?",
                (facts.started, title, facts.state, facts.demo, self._session),
            )
        for call in calls:
            self._put_call(call)
        for path in replaced:
            self._remove("session = ? AND path = ?", (self._session, _storable(path)))

    def put(self, group: Sequence[_Prepared]) -> None:
        """Store documents; those that are there already are replaced, and forgotten ones skipped."""
        rows: list[Row] = []
        # Of two documents in the same place the last one stays.
        for prepared in {_place(each.document): each for each in group}.values():
            if self._is_forgotten or self._has_forgotten(prepared):
                continue
            number = self._put_document(prepared)
            for chunk in prepared.chunks:
                rows.append((number, *chunk))
                if len(rows) >= _ROWS:
                    self._put_chunks(rows)
                    rows.clear()
                    self._breathe()
        self._put_chunks(rows)

    def move_cursor(self, after: Cursor) -> None:
        """Store how far the journal was read."""
        self._db.execute(
            "UPDATE session SET seq = ?, place = ? WHERE id = ?", (after.seq, after.place, self._session)
        )

    def _has_forgotten(self, prepared: _Prepared) -> bool:
        document = prepared.document
        # Mostly nothing is forgotten, and the hashes would cost more than the check.
        return len(self._forgotten) > 0 and self._forgotten.has(
            traces_of(self._folder, document.path, document.part, document.url, prepared.digest)
        )

    def _breathe(self) -> None:
        """Let other programs write, if they have waited."""
        if time.monotonic() - self._pace.begun > BATCH_SECONDS + self._pace.least:
            self.__exit__(None)
            time.sleep(PAUSE_SECONDS)
            self.__enter__()

    def _find_session(self) -> int:
        row = self._db.execute(
            "SELECT id, seq, place FROM session WHERE folder = ?", (self._folder,)
        ).fetchone()
        if row is None and self._before == Cursor() and not self._session:
            return self._db.execute("INSERT INTO session(folder) VALUES (?)", (self._folder,)).lastrowid or 0
        if row is None or Cursor(row[1], row[2]) != self._before:
            raise _Overtaken
        return int(row[0])

    def _put_call(self, call: Call) -> None:
        self._db.execute(
            "INSERT INTO call(session, tool_use_id, parent, tool, slug, started, ms, status)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT(session, tool_use_id) DO UPDATE SET ms = excluded.ms, status = excluded.status",
            (self._session, call.tool_use_id, call.parent, call.tool, call.slug, call.started, call.ms,
             call.status),
        )  # fmt: skip

    def _put_document(self, prepared: _Prepared) -> int:
        document = prepared.document
        path = _storable(document.path)
        self._remove(
            "session = ? AND path = ? AND part = ?",
            (self._session, path, document.part),
        )
        number = self._db.execute(
            "INSERT INTO document(kind, session, call, source, body, path, part, title, context, author, date,"
            " made_at, trust, partial) VALUES (?, ?, (SELECT id FROM call WHERE session = ? AND tool_use_id = ?),"
            " ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (document.kind, self._session, self._session, document.tool_use_id, self._source(document.url),
             self._body(prepared), path, document.part, _storable(document.title), _storable(document.context),
             _storable(document.author), _storable(document.date), document.made_at, document.trust,
             document.partial),
        ).lastrowid  # fmt: skip
        assert number is not None
        for url in document.cites:
            source = self._source(url)
            if source is not None:
                self._db.execute(
                    "INSERT OR IGNORE INTO citation(document, source) VALUES (?, ?)", (number, source)
                )
        return number

    def _put_chunks(self, rows: Sequence[Row]) -> None:
        if not rows:
            return
        (last,) = self._db.execute("SELECT coalesce(max(id), 0) FROM chunk").fetchone()
        try:
            # One statement for all: between two, this thread would wait for others that run.
            self._db.execute(
                """INSERT INTO chunk(document, start, "end", simhash, text)
                SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
                    json_extract(value, '$[3]'), json_extract(value, '$[4]') FROM json_each(?)""",
                (_json(rows),),
            )
        except sqlite3.IntegrityError as error:
            # Between two transactions another program replaced the document.
            raise _Overtaken from error
        self._index.add_after(last)

    def _remove(self, condition: str, values: Sequence[object]) -> None:
        while remove_some(self._db, condition, values):
            self._breathe()

    def _body(self, prepared: _Prepared) -> int:
        return self._add_or_find(
            "INSERT OR IGNORE INTO body(hash, words) VALUES (?, ?)",
            "SELECT id FROM body WHERE hash = ?",
            (prepared.digest, prepared.words),
        )

    def _source(self, url: str) -> int | None:
        """The number of an address; None for none, and for a forgotten one."""
        if not url or self._forgotten.has_source(url):
            return None
        key, host = _address(url)
        return self._add_or_find(
            "INSERT OR IGNORE INTO source(url, site) VALUES (?, ?)",
            "SELECT id FROM source WHERE url = ?",
            (key, host),
        )

    def _add_or_find(self, add: str, find: str, values: tuple[object, object]) -> int:
        """The number of a row, which is added if there is none with the first of the values."""
        added = self._db.execute(add, values)
        if added.rowcount == 1 and added.lastrowid is not None:
            return added.lastrowid
        return int(self._db.execute(find, values[:1]).fetchone()[0])


def _place(document: Document) -> tuple[str, int]:
    return _storable(document.path), document.part


@lru_cache(maxsize=1_000)
def _address(url: str) -> tuple[str, str]:
    """An address as it is stored, and its host; a session names most of its addresses several times."""
    key = _storable(canonical_url(url))
    return key, _host(key)


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _storable(text: str) -> str:
    """A text as the database can hold it; its length does not change."""
    text = text.replace("\0", "?")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _json(value: Sequence[object]) -> str:
    return msgspec.json.encode(value).decode()
