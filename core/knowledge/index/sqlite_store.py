"""Writes to the file of the knowledge base: what differs from the database of a team."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.index.database import explain, open_writer, remove_damaged, run
from ua_tui.core.knowledge.index.fingerprints import address_hash
from ua_tui.core.knowledge.index.preparing import Prepared
from ua_tui.core.knowledge.index.store import KnowledgeStore, Overtaken
from ua_tui.core.knowledge.records import Chunk, Cursor
from ua_tui.core.knowledge.removal.forgotten import ForgottenFile
from ua_tui.core.knowledge.search.database import read_statements
from ua_tui.core.storage import sqlite
from ua_tui.core.storage.sqlite import DAMAGED, PAUSE_SECONDS, identity, primary_code, transaction

BATCH_SECONDS = 0.15
"""After this time a transaction ends as soon as it can: other programs shall wait for at most 0.2 s."""
_CHUNKS = 500
"""Chunks that are removed by one statement."""
_PAGES = 500
"""Pages of the index that are merged in one transaction."""
_STATEMENTS = read_statements(__file__)


class SqliteStore(KnowledgeStore):
    """A `KnowledgeStore` of a file."""

    path: Path
    follows_folders = True

    def __init__(self, path: Path) -> None:
        self.path = path
        self._forgotten = ForgottenFile(path)
        self._db = open_writer(path)
        self._identity = identity(path)
        self._begun = 0.0
        super().__init__()

    @contextmanager
    def _reporting(self, action: str) -> Iterator[None]:
        """Raise a `KnowledgeError` for what goes wrong in the block; a damaged file is set aside."""
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            if isinstance(error, sqlite3.Error) and primary_code(error) in DAMAGED:
                raise remove_damaged(self.path, self._db, self._identity, error) from error
            raise explain(self.path, action, error) from error

    def _forgotten_of(self, folder: str = "") -> ForgottenFile:
        return self._forgotten

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with transaction(self._db):
            self._begun = time.monotonic()
            if identity(self.path) != self._identity:
                raise KnowledgeError(
                    f"the knowledge base {self.path} was replaced by another program: try again"
                )
            yield

    def _is_due(self) -> bool:
        return time.monotonic() - self._begun > BATCH_SECONDS

    def close(self) -> None:
        """Close the file."""
        sqlite.close(self.path, self._db, self._identity)

    def _rows(self, name: str, **values: object) -> list[tuple[Any, ...]]:
        return run(self._db, _STATEMENTS[name], values).fetchall()

    def _session(self, folder: str, before: Cursor, *, is_new: bool) -> int:
        row = self._db.execute("SELECT id, seq, place FROM session WHERE folder = ?", (folder,)).fetchone()
        if row is None and before == Cursor() and is_new:
            return self._db.execute("INSERT INTO session(folder) VALUES (?)", (folder,)).lastrowid or 0
        if row is None or Cursor(row[1], row[2]) != before:
            raise Overtaken
        return int(row[0])

    def _put_documents(self, number: int, documents: Sequence[Prepared]) -> list[int]:
        return [self._put_document(number, each) for each in documents]

    def _put_chunks(self, chunks: Sequence[tuple[int, Prepared, Chunk]]) -> None:
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
        self._db.execute(
            "INSERT INTO chunk_fts(rowid, title, text, context) SELECT * FROM passage WHERE id > ?", (last,)
        )

    def _remove_some(self, documents: Sequence[int]) -> bool:
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
            "SELECT source FROM document WHERE source IS NOT NULL AND id IN (SELECT value FROM json_each(?))",
            ids,
        )
        self._db.execute("DELETE FROM document WHERE id IN (SELECT value FROM json_each(?))", (ids,))
        self._db.execute(
            "DELETE FROM source WHERE id IN (SELECT value FROM json_each(?))"
            " AND NOT EXISTS (SELECT 1 FROM document WHERE document.source = source.id)",
            (_json(sources),),
        )
        return False

    def _scrub(self) -> bool:
        """Remove what is left of removed texts from the file and its log.

        Other programs wait while the file is written again, which takes about a second for a hundred megabytes.

        Returns:
            Whether nothing is left; False if another program still reads what was removed.
        """
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
        return number

    def _source(self, url: str, site: str) -> int:
        """The number of an address, which is added if it is new."""
        number = address_hash(url)
        self._db.execute("INSERT OR IGNORE INTO source(id, url, site) VALUES (?, ?, ?)", (number, url, site))
        return number

    def _numbers(self, query: str, *values: object) -> list[int]:
        return [number for (number,) in self._db.execute(query, values)]


def _json(value: Sequence[object]) -> str:
    """A list for `json_each`."""
    return msgspec.json.encode(value).decode()
