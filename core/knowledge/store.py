"""Writes to the knowledge base, in short transactions that other programs can come between.

Several programs may index the same session. Each applies what it has read from the journal only if the session's cursor
is still where it began to read; otherwise another program was faster, and it reads again.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import msgspec

from core.errors import KnowledgeError
from core.knowledge.chunks import split_chunks
from core.knowledge.database import open_writer, transaction
from core.knowledge.fingerprints import body_hash, simhash
from core.knowledge.records import Call, Chunk, Cursor, Document, Facts
from core.knowledge.segments import indexed
from core.net.urls import canonical_url

__all__ = ["KnowledgeStore"]

BATCH_SECONDS = 0.2
"""The longest time that a transaction keeps other programs from writing."""


class KnowledgeStore:
    """The one writer of a program; all methods block, so call them in a thread, one at a time.

    Every method raises `KnowledgeError` if the file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db = open_writer(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

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
        is replaced by the next try.

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
            batch = _Batch(self._db, folder, before)
            try:
                with batch:
                    if facts is not None:
                        batch.put_facts(facts)
                    for call in calls:
                        batch.put_call(call)
                    for path in replaced:
                        batch.remove_file(path)
                    for document in documents:
                        batch.put_document(document)
                    batch.move_cursor(after)
            except _Overtaken:
                return False
        return True

    def remove_session(self, folder: str) -> None:
        """Remove everything of a session."""
        with self._reporting("written"), transaction(self._db):
            row = self._db.execute("SELECT id FROM session WHERE folder = ?", (folder,)).fetchone()
            if row is not None:
                _remove_documents(
                    self._db, self._db.execute("SELECT id FROM document WHERE session = ?", row)
                )
                self._db.execute("DELETE FROM session WHERE id = ?", row)
                _remove_orphans(self._db)

    def _reporting(self, action: str) -> _Reporting:
        return _Reporting(self.path, action)


class _Overtaken(Exception):
    """Another program moved the cursor of the session, or removed it."""


class _Reporting:
    """Turns errors of the database into those of the project."""

    def __init__(self, path: Path, action: str) -> None:
        self._path = path
        self._action = action

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, sqlite3.Error):
            raise KnowledgeError(
                f"the knowledge base {self._path} cannot be {self._action}: {error}"
            ) from error


class _Batch:
    """Everything of one `apply`, in transactions that take at most `BATCH_SECONDS` each."""

    def __init__(self, db: sqlite3.Connection, folder: str, before: Cursor) -> None:
        self._db = db
        self._folder = folder
        self._before = before
        self.session = 0
        self._begun = 0.0

    def __enter__(self) -> None:
        self._begin()

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        if kind is None:
            self._db.execute("COMMIT")
        elif self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def put_facts(self, facts: Facts) -> None:
        self._db.execute(
            "UPDATE session SET started = ?, title = ?, state = ?, demo = ? WHERE id = ?",
            (facts.started, facts.title, facts.state, facts.demo, self.session),
        )

    def put_call(self, call: Call) -> None:
        self._db.execute(
            "INSERT INTO call(session, tool_use_id, parent, tool, slug, started, ms, status)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT(session, tool_use_id) DO UPDATE SET ms = excluded.ms, status = excluded.status",
            (self.session, call.tool_use_id, call.parent, call.tool, call.slug, call.started, call.ms,
             call.status),
        )  # fmt: skip

    def put_document(self, document: Document) -> None:
        db = self._db
        _remove_documents(
            db,
            db.execute(
                "SELECT id FROM document WHERE session = ? AND path = ? AND part = ?",
                (self.session, document.path, document.part),
            ),
        )
        number = db.execute(
            "INSERT INTO document(kind, session, call, source, body, path, part, title, context, author, date,"
            " made_at, trust, partial) VALUES (?, ?, (SELECT id FROM call WHERE session = ? AND tool_use_id = ?),"
            " ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (document.kind, self.session, self.session, document.tool_use_id, self._source(document.url),
             self._body(document.text), document.path, document.part, document.title, document.context,
             document.author, document.date, document.made_at, document.trust, document.partial),
        ).lastrowid  # fmt: skip
        for url in document.cites:
            db.execute(
                "INSERT OR IGNORE INTO citation(document, source) VALUES (?, ?)",
                (number, self._source(url)),
            )
        title, context = indexed(document.title), indexed(document.context)
        # A document without a text is found by its title.
        for chunk in [*split_chunks(document.text)] or [Chunk(0, 0, "")]:
            if time.monotonic() - self._begun > BATCH_SECONDS:
                db.execute("COMMIT")
                self._begin()
            try:
                rowid = db.execute(
                    'INSERT INTO chunk(document, start, "end", simhash, text) VALUES (?, ?, ?, ?, ?)',
                    (number, chunk.start, chunk.end, simhash(chunk.text), chunk.text),
                ).lastrowid
            except sqlite3.IntegrityError as error:
                # Between two transactions another program replaced the document.
                raise _Overtaken from error
            db.execute(
                "INSERT INTO chunk_fts(rowid, title, text, context) VALUES (?, ?, ?, ?)",
                (rowid, title, indexed(chunk.text), context),
            )

    def move_cursor(self, after: Cursor) -> None:
        self._db.execute(
            "UPDATE session SET seq = ?, place = ? WHERE id = ?", (after.seq, after.place, self.session)
        )

    def remove_file(self, path: str) -> None:
        found = self._db.execute(
            "SELECT id FROM document WHERE session = ? AND path = ?", (self.session, path)
        )
        _remove_documents(self._db, found)

    def _begin(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        self._begun = time.monotonic()
        try:
            self.session = self._find_session()
        except BaseException:
            self._db.execute("ROLLBACK")
            raise

    def _find_session(self) -> int:
        row = self._db.execute(
            "SELECT id, seq, place FROM session WHERE folder = ?", (self._folder,)
        ).fetchone()
        if row is None and self._before == Cursor():
            return self._db.execute("INSERT INTO session(folder) VALUES (?)", (self._folder,)).lastrowid or 0
        if row is None or Cursor(row[1], row[2]) != self._before:
            raise _Overtaken
        return int(row[0])

    def _body(self, text: str) -> int:
        digest = body_hash(text)
        self._db.execute("INSERT OR IGNORE INTO body(hash, words) VALUES (?, ?)", (digest, len(text.split())))
        return int(self._db.execute("SELECT id FROM body WHERE hash = ?", (digest,)).fetchone()[0])

    def _source(self, url: str) -> int | None:
        if not url:
            return None
        key = canonical_url(url)
        self._db.execute(
            "INSERT OR IGNORE INTO source(url, site) VALUES (?, ?)", (key, urlsplit(key).hostname or "")
        )
        return int(self._db.execute("SELECT id FROM source WHERE url = ?", (key,)).fetchone()[0])


def _remove_documents(db: sqlite3.Connection, found: sqlite3.Cursor) -> None:
    """Remove the documents whose ids a query found, with their chunks; the index needs the texts that it was given."""
    numbers = [number for (number,) in found]
    if not numbers:
        return
    ids = (msgspec.json.encode(numbers).decode(),)
    db.execute(
        "INSERT INTO chunk_fts(chunk_fts, rowid, title, text, context)"
        " SELECT 'delete', passage.* FROM chunk JOIN passage ON passage.id = chunk.id"
        " WHERE chunk.document IN (SELECT value FROM json_each(?))",
        ids,
    )
    db.execute("DELETE FROM document WHERE id IN (SELECT value FROM json_each(?))", ids)


def _remove_orphans(db: sqlite3.Connection) -> None:
    """Remove texts and sources that no document has any more."""
    db.execute("DELETE FROM body WHERE id NOT IN (SELECT body FROM document)")
    db.execute(
        "DELETE FROM source WHERE id NOT IN (SELECT source FROM document WHERE source IS NOT NULL)"
        " AND id NOT IN (SELECT source FROM citation)"
    )
