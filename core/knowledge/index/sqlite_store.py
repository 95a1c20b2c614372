"""The file of the knowledge base as a `KnowledgeStore`: what differs from the database of a team."""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import msgspec

from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.forgotten import ForgottenFile
from ua_tui.core.knowledge.index.chunks import Chunk
from ua_tui.core.knowledge.index.database import (
    VERSION,
    is_own,
    open_reader,
    open_writer,
    remove_damaged,
    reporting,
    version_in,
)
from ua_tui.core.knowledge.index.store import KnowledgeStore, read_statements
from ua_tui.core.knowledge.records import Cursor
from ua_tui.core.knowledge.search.candidates import MOST_CANDIDATES, Ask, Deadline, Found, Term
from ua_tui.core.knowledge.search.tokens import indexed
from ua_tui.core.storage import sqlite
from ua_tui.core.storage.ownership import not_own
from ua_tui.core.storage.sqlite import DAMAGED, identity, opening, primary_code, transaction

_CACHE_KIB = 32 << 10
_GRACE_SECONDS = 0.02
"""The time after the deadline in which the first passage may be found."""
_STEPS = 1_000
"""Steps of the database between two looks at the clock."""
_SPECIAL = str.maketrans('"\0', "  ")
_OTHERS = "its texts are shown, but the addresses in them do not count as known, and nothing is added to it"
_LATER = "the knowledge base was made by a later version of ua-tui: some of it may not be found."


class SqliteStore(KnowledgeStore):
    """A file; one that is only read is opened when it is first needed, and again when it was replaced."""

    statements = read_statements(__file__, "sqlite.toml")
    path: Path
    follows_folders = True

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self._forgotten = ForgottenFile(path)
        self._is_read_only = read_only
        self._opened = None if read_only else open_writer(path)
        self._identity = None if read_only else identity(path)
        super().__init__(read_only=read_only)

    def execute(
        self, statement: str, values: Mapping[str, object]
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Run a statement; a list is given as JSON."""
        given = {
            name: msgspec.json.encode(value).decode() if isinstance(value, (list, tuple)) else value
            for name, value in values.items()
        }
        # The errors of a transaction are reported once it is undone.
        with nullcontext() if self._db.in_transaction else self._reporting("read"):
            cursor = self._db.execute(statement, given)
            return [column[0] for column in cursor.description or ()], cursor.fetchall()

    def close(self) -> None:
        """Close the file."""
        if self._opened is not None:
            if self._is_read_only:
                self._opened.close()
            else:
                sqlite.close(self.path, self._opened)
        self._opened = self._identity = None

    @property
    def _db(self) -> sqlite3.Connection:
        assert self._opened is not None
        return self._opened

    @contextmanager
    def _reporting(self, action: str) -> Iterator[None]:
        """Raise a `KnowledgeError` for what goes wrong in the block; a damaged file that is written to is set aside."""
        with reporting(self.path, action):
            try:
                yield
            except sqlite3.Error as error:
                if self._is_read_only or primary_code(error) not in DAMAGED:
                    raise
                raise remove_damaged(self.path, self._db, self._identity, error) from error

    # -- reading

    @contextmanager
    def reading(self) -> Iterator[Sequence[str] | None]:
        """Have the calls in the block read in one transaction; gives notices, or None if there is no file."""
        with self._reporting("read"):
            db = self._connection()
            if db is None:
                yield None
                return
            try:
                db.execute("BEGIN")
                notices = [_LATER] if version_in(db) > VERSION else []
                yield notices if self.is_own else [*notices, f"{not_own(self.path, _OTHERS)}."]
            except sqlite3.OperationalError as error:
                if version_in(db) > VERSION:
                    raise KnowledgeError(
                        f"the knowledge base {self.path} was made by a later version and cannot be read ({error}): "
                        "install that version"
                    ) from error
                raise
            finally:
                db.set_progress_handler(None, 0)
                if db.in_transaction:
                    db.execute("ROLLBACK")

    def expression(self, term: Term) -> str:
        """A term in the query language of FTS5, in which words are strings."""
        choices = (
            f'"{indexed(choice.text).translate(_SPECIAL)}"' + " *" * (term.prefix and not number)
            for number, choice in enumerate(term.choices)
        )
        return f"({' OR '.join(choices)})"

    def counts(self, words: Collection[tuple[str, bool]]) -> tuple[int, Mapping[tuple[str, bool], int]]:
        """Count the passages with words, exactly."""
        ((total,),) = self.rows("total")
        names = ("count_word", "count_beginning")
        return total, {
            (word, is_beginning): sum(count or 0 for (count,) in self.rows(names[is_beginning], word=word))
            for word, is_beginning in words
        }

    def candidates(self, ask: Ask, deadline: Deadline) -> tuple[list[Found], bool]:
        """Find the best passages by bm25, or the newest documents; those that were found before the deadline."""
        words = self._words(ask)
        name = "matches" if words else "newest"
        of_document = self.statements["of_document"] if ask.filters else ""
        statement, values = self.statement(name, ask.filters, {"words": words}, of_document=of_document)
        found: list[tuple[float, int]] = []

        def is_over() -> bool:
            return not deadline.seconds and (
                bool(found) or deadline.stop.is_set() or deadline.clock() > deadline.at + _GRACE_SECONDS
            )

        self._db.set_progress_handler(is_over, _STEPS)
        is_partial = False
        try:
            for row in self._db.execute(statement, values):
                found.append((row[0], row[-1]))
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
                raise
            is_partial = True
        finally:
            self._db.set_progress_handler(None, 0)
        best = [chunk for _, chunk in heapq.nlargest(MOST_CANDIDATES, found) if chunk]
        return self.passages(best), is_partial

    def _connection(self) -> sqlite3.Connection | None:
        found = identity(self.path)
        if found is None:
            # Another program may be replacing it.
            with opening(self.path):
                found = identity(self.path)
        if self._opened is not None and found != self._identity:
            self.close()
        if self._opened is None and found is not None:
            self._opened = open_reader(self.path)
            self._identity = found
            self.is_own = is_own(self._opened, self.path)
            self._opened.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            self._opened.execute(f"PRAGMA mmap_size = {1 << 30}")
        return self._opened

    def _words(self, ask: Ask) -> str:
        words = " OR ".join(map(self.expression, ask.any_of))
        required = " AND ".join(map(self.expression, ask.all_of))
        # What must be there is named twice, so that passages without any of the words are found, too.
        return f"(({required}) AND ({words})) OR ({required})" if words and required else words or required

    # -- writing

    def forgotten_of(self, folder: str = "") -> ForgottenFile:
        """The list in the file beside this one."""
        return self._forgotten

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._reporting("written"), transaction(self._db):
            if identity(self.path) != self._identity:
                raise KnowledgeError(
                    f"the knowledge base {self.path} was replaced by another program: try again"
                )
            yield

    def _session(self, folder: str, before: Cursor) -> int | None:
        if before == Cursor():
            self.rows("add_session", folder=folder)
        found = {Cursor(*cursor): int(number) for number, *cursor in self.rows("session", folder=folder)}
        return found.get(before)

    def _put_chunks(self, chunks: Sequence[tuple[dict[str, Any], Chunk]]) -> None:
        ((last,),) = self.rows("last_chunk")
        # One statement for all: between two, this thread would wait for others that run.
        rows = [(row["id"], chunk.start, chunk.end, chunk.text) for row, chunk in chunks]
        self.rows("put_chunks", rows=rows)
        self.rows("index_chunks", last=last)

    def scrub(self) -> bool:
        """Write the file and its log again, which takes about a second for a hundred megabytes."""
        with self._transaction():
            # The index keeps the words of removed texts until its parts are merged.
            self.rows("merge")
        with self._reporting("written"):
            # `secure_delete` leaves copies in pages whose content was moved to others.
            self._db.execute("VACUUM")
            (is_busy, _, _) = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not is_busy
