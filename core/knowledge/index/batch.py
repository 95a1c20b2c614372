"""The transactions in which the documents of a session are stored."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from urllib.parse import urlsplit

import msgspec

from ua_tui.core.knowledge.index.preparing import Prepared, storable
from ua_tui.core.knowledge.records import Cursor, Facts, IndexedCall, KnowledgeDocument
from ua_tui.core.knowledge.removal.erasing import remove_some
from ua_tui.core.knowledge.removal.forgotten import ForgottenList, traces_of
from ua_tui.core.net.urls import canonical_url
from ua_tui.core.storage.sqlite import PAUSE_SECONDS, begin

BATCH_SECONDS = 0.15
"""After this time a transaction ends as soon as it can: other programs shall wait for at most 0.2 s."""
_ROWS = 200
"""Chunks that are stored by one statement, during which other threads run."""

Row = tuple[int, int, int, int, str]
"""A row of the table `chunk`: its document, its start and end, its fingerprint, and its text."""


class Overtaken(Exception):
    """Another program moved the cursor of the session, or removed it."""


class Index:
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


class BatchPace(msgspec.Struct):
    """How long a transaction lasts at least, and when it began; time of the monotonic clock in seconds."""

    least: float = 0.0
    begun: float = 0.0


class IndexBatch:
    """Everything of one `apply`, in transactions that end after `BATCH_SECONDS`; each `with` is at least one."""

    def __init__(
        self,
        db: sqlite3.Connection,
        index: Index,
        forgotten: ForgottenList,
        check_file: Callable[[], None],
        pace: BatchPace,
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

    def start(self, facts: Facts | None, calls: Sequence[IndexedCall], replaced: Iterable[str]) -> None:
        """Store what is known of the session and of calls, and remove the documents of files."""
        if self._is_forgotten:
            return
        if facts is not None:
            title = storable(facts.title)
            title = "" if self._forgotten.has_title(title) else title
            self._db.execute(
                "UPDATE session SET started = ?, title = ?, state = ?, demo = ? WHERE id = ?",
                (facts.started, title, facts.state, facts.demo, self._session),
            )
        for call in calls:
            self._put_call(call)
        for path in replaced:
            self._remove("session = ? AND path = ?", (self._session, storable(path)))

    def put(self, group: Sequence[Prepared]) -> None:
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

    def _has_forgotten(self, prepared: Prepared) -> bool:
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
            raise Overtaken
        return int(row[0])

    def _put_call(self, call: IndexedCall) -> None:
        self._db.execute(
            "INSERT INTO call(session, tool_use_id, parent, tool, slug, started, ms, status)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT(session, tool_use_id) DO UPDATE SET ms = excluded.ms, status = excluded.status",
            (self._session, call.tool_use_id, call.parent, call.tool, call.slug, call.started, call.ms,
             call.status),
        )  # fmt: skip

    def _put_document(self, prepared: Prepared) -> int:
        document = prepared.document
        path = storable(document.path)
        self._remove(
            "session = ? AND path = ? AND part = ?",
            (self._session, path, document.part),
        )
        number = self._db.execute(
            "INSERT INTO document(kind, session, call, source, body, path, part, title, context, author, date,"
            " made_at, trust, partial) VALUES (?, ?, (SELECT id FROM call WHERE session = ? AND tool_use_id = ?),"
            " ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (document.kind, self._session, self._session, document.tool_use_id, self._source(document.url),
             self._body(prepared), path, document.part, storable(document.title), storable(document.context),
             storable(document.author), storable(document.date), document.made_at, document.trust,
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
                (as_json(rows),),
            )
        except sqlite3.IntegrityError as error:
            # Between two transactions another program replaced the document.
            raise Overtaken from error
        self._index.add_after(last)

    def _remove(self, condition: str, values: Sequence[object]) -> None:
        while remove_some(self._db, condition, values):
            self._breathe()

    def _body(self, prepared: Prepared) -> int:
        return self._add_or_find(
            "INSERT OR IGNORE INTO body(hash, words) VALUES (?, ?)",
            "SELECT id FROM body WHERE hash = ?",
            (prepared.digest, prepared.words),
        )

    def _source(self, url: str) -> int | None:
        """The number of an address; None for none, and for a forgotten one."""
        if not url or self._forgotten.has_source(url):
            return None
        key, host = stored_address(url)
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


def _place(document: KnowledgeDocument) -> tuple[str, int]:
    return storable(document.path), document.part


@lru_cache(maxsize=1_000)
def stored_address(url: str) -> tuple[str, str]:
    """An address as it is stored, and its host; a session names most of its addresses several times."""
    key = storable(canonical_url(url))
    return key, _host(key)


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def as_json(value: Sequence[object]) -> str:
    """A list as JSON, for `json_each`."""
    return msgspec.json.encode(value).decode()
