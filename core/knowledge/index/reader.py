"""Reads the file of the knowledge base for the search: what differs from other databases."""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.index.database import KIND, open_reader, reporting, run
from ua_tui.core.knowledge.index.schema import VERSION
from ua_tui.core.knowledge.search.database import (
    MOST_CANDIDATES,
    Ask,
    Database,
    Deadline,
    Found,
    Term,
    read_statements,
)
from ua_tui.core.knowledge.search.tokens import expression
from ua_tui.core.storage.ownership import not_own
from ua_tui.core.storage.sqlite import identity, is_own

_CACHE_KIB = 32 << 10
_GRACE_SECONDS = 0.02
"""The time after the deadline in which the first passage may be found."""
_STEPS = 1_000
"""Steps of the database between two looks at the clock."""
_OTHERS = "its texts are shown, but no address in them counts as known, and nothing is added to it"
_LATER = "The knowledge base is of a later version of ua-tui: some of it may not be found."


class SqliteReader(Database):
    """A `Database` over a file, which is opened when it is first needed and again when it was replaced."""

    statements = read_statements(__file__)
    parameter = ":{}"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._version: int | None = None

    @contextmanager
    def reading(self) -> Iterator[Sequence[str] | None]:
        """Have the calls in the block read in one transaction; gives notices, or None if there is no file."""
        with reporting(self._path, "read"):
            db = self._connection()
            if db is None:
                yield None
                return
            try:
                db.execute("BEGIN")
                notices = [_LATER] if _is_later(db) else []
                yield notices if self.is_own else [*notices, f"{not_own(self._path, _OTHERS)}."]
            except sqlite3.OperationalError as error:
                if _is_later(db):
                    raise KnowledgeError(
                        f"the knowledge base {self._path} is of a later version and cannot be read ({error}): "
                        "install that version"
                    ) from error
                raise
            finally:
                db.set_progress_handler(None, 0)
                if db.in_transaction:
                    db.execute("ROLLBACK")

    def execute(
        self, statement: str, values: Mapping[str, object]
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Run a statement."""
        assert self._opened is not None
        cursor = run(self._opened, statement, values)
        return [column[0] for column in cursor.description], cursor.fetchall()

    def expression(self, term: Term) -> str:
        """A term in the query language of FTS5."""
        return expression([term], "")

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
        name, words = "newest", ""
        where = self.filters(ask)
        if ask.any_of or ask.all_of:
            name, words = "matches", self._words(ask)
        of_document = self.statements["of_document"] if where else ""
        statement, values = self.statement(name, where, {"words": words}, of_document=of_document)
        found: list[tuple[float, int]] = []

        def is_over() -> bool:
            return deadline.is_over() and (
                bool(found) or deadline.stopped() or deadline.clock() > deadline.at + _GRACE_SECONDS
            )

        assert self._opened is not None
        self._opened.set_progress_handler(is_over, _STEPS)
        is_partial = False
        try:
            for row in self._opened.execute(statement, values):
                found.append(row)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
                raise
            is_partial = True
        finally:
            self._opened.set_progress_handler(None, 0)
        best = [chunk for _, chunk in heapq.nlargest(MOST_CANDIDATES, found) if chunk]
        return self.passages(best), is_partial

    def changed(self) -> bool:
        """Whether the file was changed or replaced since the last call."""
        with reporting(self._path, "read"):
            opened = self._identity
            db = self._connection()
            version = None if db is None else int(db.execute("PRAGMA data_version").fetchone()[0])
            before, self._version = self._version, version
            return (opened != self._identity and opened is not None) or (
                before is not None and before != version
            )

    def close(self) -> None:
        """Close the file."""
        if self._opened is not None:
            self._opened.close()
        self._opened = self._identity = None

    def _connection(self) -> sqlite3.Connection | None:
        found = identity(self._path)
        if self._opened is not None and found != self._identity:
            self.close()
        if self._opened is None and found is not None:
            self._opened = open_reader(self._path)
            self._identity = found
            self.is_own = is_own(self._opened, KIND, self._path)
            self._opened.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            self._opened.execute(f"PRAGMA mmap_size = {1 << 30}")
        return self._opened

    @staticmethod
    def _words(ask: Ask) -> str:
        words, required = expression(ask.any_of, " OR "), expression(ask.all_of, " AND ")
        # What must be there is named twice, so that passages without any of the words are found, too.
        both = f"(({required}) AND ({words})) OR ({required})" if words and required else words or required
        return " NOT ".join([f"({both})", *(expression([term], "") for term in ask.lacks)])


def _is_later(db: sqlite3.Connection) -> bool:
    return int(db.execute("PRAGMA user_version").fetchone()[0]) > VERSION
