"""Writes to the file of the knowledge base: the statements that `ua_tui.core.knowledge.index.store` asks for."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.index.database import (
    explain,
    last_number,
    number_after,
    open_reader,
    open_writer,
    remove_damaged,
    run,
)
from ua_tui.core.knowledge.index.fingerprints import address_hash
from ua_tui.core.knowledge.index.preparing import Prepared, host_of
from ua_tui.core.knowledge.index.tables import Overtaken
from ua_tui.core.knowledge.records import Chunk, Cursor
from ua_tui.core.knowledge.removal.forgotten import ForgottenFile
from ua_tui.core.knowledge.search.database import read_statements
from ua_tui.core.storage import sqlite
from ua_tui.core.storage.sqlite import (
    CACHE_KIB,
    DAMAGED,
    PAUSE_SECONDS,
    begin,
    identity,
    primary_code,
    transaction,
)

BATCH_SECONDS = 0.15
"""After this time a transaction ends as soon as it can: other programs shall wait for at most 0.2 s."""
_BULK_SECONDS = 1.0
"""How long a transaction lasts in a file that nobody else uses: each adds a part to the index, to be merged later."""
_CHUNKS = 500
"""Chunks that are removed by one statement."""
_PAGES = 500
"""Pages of the index that are merged in one transaction."""
_STATEMENTS = read_statements(__file__)


class SqliteTables:
    """`Tables` of a file."""

    follows_folders = True

    def __init__(self, place: Path, file: Path | None = None) -> None:
        """Open the file at `place`, or a new `file`, which nobody else uses and which is to replace its content."""
        self._place = place
        self._file = place if file is None else file
        self._forgotten = ForgottenFile(place)
        self._db = open_writer(self._file)
        self.identity = identity(self._file)
        self._least_seconds = 0.0 if file is None else _BULK_SECONDS
        self._begun = 0.0
        # In a file that nobody else uses chunks are put into the index while the next documents are read.
        self._threads = None if file is None else ThreadPoolExecutor(1, "knowledge-index")
        self._indexing: Future[None] | None = None
        self._indexed: int | None = None
        try:
            if file is not None:
                self._set_bulk()
        except BaseException:
            self.close()
            raise

    @contextmanager
    def reporting(self, action: str) -> Iterator[None]:
        """Raise a `KnowledgeError` for what goes wrong in the block; a damaged file is set aside."""
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            if isinstance(error, sqlite3.Error) and primary_code(error) in DAMAGED:
                raise remove_damaged(self._file, self._db, self.identity, error) from error
            raise explain(self._place, action, error) from error

    def forgotten(self, folder: str = "") -> ForgottenFile:
        """The list of what was forgotten, which holds for all sessions."""
        return self._forgotten

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the block in a transaction, which stays open for some time if nobody else uses the file."""
        self._finish_indexing()
        if not self._db.in_transaction:
            begin(self._db)
            self._begun = time.monotonic()
        try:
            self._check_file()
            yield
            if time.monotonic() - self._begun >= self._least_seconds:
                self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        self._start_indexing()

    def is_due(self) -> bool:
        """Whether other programs may have waited."""
        return time.monotonic() - self._begun > BATCH_SECONDS + self._least_seconds

    def close(self) -> None:
        """Close the file."""
        with suppress(sqlite3.Error):
            self._end_transaction()
        if self._threads is not None:
            self._threads.shutdown()
        sqlite.close(self._file, self._db, self.identity)

    def rows(self, name: str, **values: object) -> list[tuple[Any, ...]]:
        """Run a statement."""
        return run(self._db, _STATEMENTS[name], values).fetchall()

    def session(self, folder: str, before: Cursor, *, is_new: bool) -> int:
        """Find the number of a session whose cursor is `before`, or make it."""
        row = self._db.execute("SELECT id, seq, place FROM session WHERE folder = ?", (folder,)).fetchone()
        if row is None and before == Cursor() and is_new:
            return self._db.execute("INSERT INTO session(folder) VALUES (?)", (folder,)).lastrowid or 0
        if row is None or Cursor(row[1], row[2]) != before:
            raise Overtaken
        return int(row[0])

    def put_documents(self, number: int, documents: Sequence[Prepared]) -> list[int]:
        """Add documents without their chunks."""
        return [self._put_document(number, each) for each in documents]

    def put_chunks(self, chunks: Sequence[tuple[int, Prepared, Chunk]]) -> None:
        """Add chunks, and have them indexed."""
        (last,) = self._db.execute("SELECT coalesce(max(id), 0) FROM chunk").fetchone()
        rows = _json([(number, chunk.start, chunk.end, chunk.text) for number, _, chunk in chunks])
        try:
            # One statement for all: between two, this thread would wait for others that run.
            self._db.execute(
                """INSERT INTO chunk(document, start, "end", text)
                SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
                    json_extract(value, '$[3]') FROM json_each(?)""",
                (rows,),
            )
        except sqlite3.IntegrityError as error:
            raise Overtaken from error
        if self._threads is None:
            self._index(last)
        elif self._indexed is None:
            self._indexed = last

    def remove_some(self, documents: Sequence[int]) -> bool:
        """Remove some chunks of documents, then the documents, and sources that no other document has."""
        ids = _json(documents)
        chunks = self._numbers(
            "SELECT id FROM chunk WHERE document IN (SELECT value FROM json_each(?)) LIMIT ?", ids, _CHUNKS
        )
        if chunks:
            # The index needs the texts that it was given.
            self._db.execute(
                "INSERT INTO chunk_fts(chunk_fts, rowid, title, text, context)"
                " SELECT 'delete', passage.* FROM passage WHERE id IN (SELECT value FROM json_each(?))",
                (_json(chunks),),
            )
            self._db.execute(
                "DELETE FROM chunk WHERE id IN (SELECT value FROM json_each(?))", (_json(chunks),)
            )
            return True
        sources = self._numbers(
            "SELECT source FROM document WHERE source IS NOT NULL AND id IN (SELECT value FROM json_each(?))"
            " UNION SELECT source FROM citation WHERE document IN (SELECT value FROM json_each(?))",
            ids,
            ids,
        )
        self._db.execute("DELETE FROM document WHERE id IN (SELECT value FROM json_each(?))", (ids,))
        self._db.execute(
            "DELETE FROM source WHERE id IN (SELECT value FROM json_each(?))"
            " AND NOT EXISTS (SELECT 1 FROM document WHERE document.source = source.id)"
            " AND NOT EXISTS (SELECT 1 FROM citation WHERE citation.source = source.id)",
            (_json(sources),),
        )
        return False

    def scrub(self) -> bool:
        """Remove what is left of removed texts from the file and its log.

        Other programs wait while the file is written again, which takes about a second for a hundred megabytes.

        Returns:
            Whether nothing is left; False if another program still reads what was removed.
        """
        self._end_transaction()
        # The index keeps the words of removed texts until its parts are merged.
        pages = -_PAGES
        while True:
            with transaction(self._db):
                before = self._db.total_changes
                self._db.execute("INSERT INTO chunk_fts(chunk_fts, rank) VALUES ('merge', ?)", (pages,))
                if self._db.total_changes - before < 2:
                    break
            pages = _PAGES
            time.sleep(PAUSE_SECONDS)
        # `secure_delete` leaves copies in pages whose content was moved to others.
        self._db.execute("VACUUM")
        (is_busy, _, _) = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not is_busy

    # -- inside

    def _put_document(self, session: int, prepared: Prepared) -> int:
        document = prepared.document
        source = self._source(document.url, prepared.site) if document.url else None
        number = self._db.execute(
            "INSERT INTO document(kind, session, call, source, hash, words, path, part, title, context, author, date,"
            " made_at, trust, partial) VALUES (?, ?, (SELECT id FROM call WHERE session = ? AND tool_use_id = ?),"
            " ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (document.kind, session, session, document.tool_use_id, source, prepared.digest, prepared.words,
             document.path, document.part, document.title, document.context, document.author, document.date,
             document.made_at, document.trust, document.partial),
        ).lastrowid  # fmt: skip
        assert number is not None
        self._db.executemany(
            "INSERT INTO citation(document, source) VALUES (?, ?)",
            [(number, self._source(url, host_of(url))) for url in document.cites],
        )
        return number

    def _source(self, url: str, site: str) -> int:
        """The number of an address, which is added if it is new."""
        number = address_hash(url)
        self._db.execute("INSERT OR IGNORE INTO source(id, url, site) VALUES (?, ?, ?)", (number, url, site))
        return number

    def _numbers(self, query: str, *values: object) -> list[int]:
        return [number for (number,) in self._db.execute(query, values)]

    def _set_bulk(self) -> None:
        """Have a file filled fast that nobody else uses, and that is made again if this program is killed."""
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute(f"PRAGMA cache_size = -{4 * CACHE_KIB}")
        # Words of the index are kept in memory up to so many bytes before they are written.
        self._db.execute("INSERT INTO chunk_fts(chunk_fts, rank) VALUES ('hashsize', ?)", (CACHE_KIB << 10,))
        with closing(open_reader(self._place)) as db:
            number_after(self._db, last_number(db))

    def _index(self, last: int) -> None:
        """Put the chunks with higher numbers than `last` into the index."""
        self._db.execute(
            "INSERT INTO chunk_fts(rowid, title, text, context) SELECT * FROM passage WHERE id > ?", (last,)
        )

    def _start_indexing(self) -> None:
        """Begin with the chunks that are not in the index; the database is in use until it is finished."""
        if self._threads is not None and self._indexed is not None:
            self._indexing = self._threads.submit(self._index, self._indexed)
            self._indexed = None

    def _finish_indexing(self) -> None:
        self._start_indexing()
        if self._indexing is not None:
            running, self._indexing = self._indexing, None
            running.result()

    def _end_transaction(self) -> None:
        """End the transaction that was left open."""
        self._finish_indexing()
        if self._db.in_transaction:
            self._db.execute("COMMIT")

    def _check_file(self) -> None:
        if identity(self._file) != self.identity:
            raise KnowledgeError(f"the knowledge base {self._place} was replaced by another program")


def _json(value: Sequence[object]) -> str:
    """A list for `json_each`."""
    return msgspec.json.encode(value).decode()
