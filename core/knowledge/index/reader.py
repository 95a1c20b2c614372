"""Reads the file of the knowledge base for the search: `ua_tui.core.knowledge.search.database` says what is asked."""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.index.database import KIND, open_reader
from ua_tui.core.knowledge.index.fingerprints import address_hash
from ua_tui.core.knowledge.index.schema import VERSION
from ua_tui.core.knowledge.problems import reporting
from ua_tui.core.knowledge.records import FoundDocument, FoundPage, Hit
from ua_tui.core.knowledge.search.conditions import Conditions, conditions_of
from ua_tui.core.knowledge.search.database import (
    MOST_CANDIDATES,
    Ask,
    Deadline,
    Found,
    Frequencies,
    Term,
)
from ua_tui.core.knowledge.search.tokens import expression
from ua_tui.core.storage.ownership import not_own
from ua_tui.core.storage.sqlite import identity, is_own

_CACHE_KIB = 32 << 10
_LARGEST = (1 << 63) - 1
"""The largest number of SQLite."""
_GRACE_SECONDS = 0.02
"""The time for passages without an order, if none were found before the deadline."""
_STEPS = 500
"""Steps of the database between two looks at the clock."""
_PREFIXES = 50
"""Words with the same beginning that are counted."""
_FREQUENT = 5_000
"""Passages with an excluded word; if more have it, it excludes passages and not documents, which is faster."""
_VECTORS = 500
"""Vectors that are read at once."""
_BM25 = "-bm25(chunk_fts, 4.0, 1.0, 2.0)"
_HIT = """
SELECT d.id, d.kind, d.title, coalesce(s.url, '') AS url, coalesce(s.site, '') AS site, d.author, d.date, d.made_at,
    d.trust, session.folder AS session, session.title AS session_title, session.demo,
    coalesce(nullif(call.slug, ''), call.tool, '') AS tool, call.tool_use_id, d.path, d.part
"""
_FROM = """
FROM document d JOIN session ON session.id = d.session LEFT JOIN source s ON s.id = d.source
LEFT JOIN call ON call.id = d.call
"""
_PASSAGES = f"""
{_HIT}, c.id AS chunk, c.start, c.text, d.context, iif(d.words, d.hash, NULL) AS body, c.simhash {_FROM}
JOIN chunk c ON c.document = d.id WHERE c.id IN (SELECT value FROM json_each(?))
"""  # noqa: S608 -- made of constants
_CITING = f"""
{_HIT} {_FROM} WHERE d.id IN (
    SELECT document FROM citation WHERE source = ?
) ORDER BY d.made_at DESC, d.id DESC LIMIT 200
"""  # noqa: S608 -- made of constants
_COPIES = """
SELECT d.id, s.url, d.title, d.date, d.made_at, lower(hex(d.hash)) AS hash, d.words, d.partial,
    session.folder AS session, session.demo, d.path, d.part
FROM source s JOIN document d ON d.source = s.id JOIN session ON session.id = d.session
WHERE s.id = ? AND d.kind = 'article' ORDER BY d.made_at DESC, d.id DESC LIMIT 200
"""
_OF_DOCUMENT = " CROSS JOIN chunk c ON c.id = chunk_fts.rowid CROSS JOIN document d ON d.id = c.document"
_EXCLUDED = (
    "d.id NOT IN (SELECT chunk.document FROM chunk_fts JOIN chunk ON chunk.id = chunk_fts.rowid"
    " WHERE chunk_fts MATCH ?)"
)
_OTHERS = "its texts are shown, but no address in them counts as known, and nothing is added to it"
_LATER = "The knowledge base is of a later version of ua-tui: some of it may not be found."

H = TypeVar("H", bound=Hit)


class SqliteReader:
    """A `Database` over a file, which is opened when it is first needed and again when it was replaced."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._version: int | None = None
        self._is_own = False

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
                yield notices if self._is_own else [*notices, f"{not_own(self._path, _OTHERS)}."]
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

    def frequencies(self, terms: Sequence[Term]) -> Frequencies:
        """How many passages there are, how long they are, and how many have each term."""
        passages, *words = _averages(self._db)
        return Frequencies(passages, sum(words) / (passages or 1), tuple(map(self._frequency, terms)))

    def similar(self, word: str) -> Sequence[str]:
        """Words of the index with the same first letter and almost the same length, the most frequent first."""
        rows = self._db.execute(
            "SELECT term FROM chunk_terms WHERE term >= ? AND term < ? AND abs(length(term) - ?) < 2 ORDER BY doc DESC",
            (word[:1], word[:1] + "\U0010ffff", len(word)),
        )
        return [term for (term,) in rows]

    def candidates(self, ask: Ask, deadline: Deadline) -> tuple[Sequence[Found], bool]:
        """Find the best passages by bm25, or the newest documents."""
        conditions, without = self._conditions(ask)
        if not ask.any_of and not ask.all_of:
            return self._newest(conditions, deadline)
        words, required = expression(ask.any_of, " OR "), expression(ask.all_of, " AND ")
        # What must be there is named twice, so that passages without any of the words are found, too.
        both = f"(({required}) AND ({words})) OR ({required})" if words and required else words or required
        where = conditions.sql()
        statement = (
            f"FROM chunk_fts{_OF_DOCUMENT if where else ''} WHERE chunk_fts MATCH ?{where}"
            " ORDER BY chunk_fts.rowid DESC"
        )
        values = (" NOT ".join([f"({both})", *without]), *conditions.values)
        found: list[tuple[float, int]] = []
        is_partial = self._add(found, f"SELECT {_BM25}, chunk_fts.rowid {statement}", values, deadline)
        if is_partial and not found:
            grace = self._grace(deadline)
            self._add(
                found, f"SELECT 1.0, chunk_fts.rowid {statement} LIMIT {MOST_CANDIDATES}", values, grace
            )
        return self.passages([chunk for _, chunk in heapq.nlargest(MOST_CANDIDATES, found)]), is_partial

    def passages(self, chunks: Sequence[int]) -> Sequence[Found]:
        """The passages with these numbers."""
        rows = self._db.execute(_PASSAGES, (msgspec.json.encode(chunks).decode(),))
        names = [column[0] for column in rows.description[:-6]]
        return [
            Found(
                hit=self._hit(Hit, dict(zip(names, row[:-6], strict=True))), chunk=row[-6], start=row[-5],
                text=row[-4], context=row[-3], body=row[-2], simhash=row[-1],
            )
            for row in rows
        ]  # fmt: skip

    def vectors(self, model: str, ask: Ask) -> Iterator[Sequence[tuple[int, bytes]]]:
        """Give the vectors of a model, the newest first."""
        conditions, without = self._conditions(ask)
        having = "v.chunk {} (SELECT rowid FROM chunk_fts WHERE chunk_fts MATCH ?)"
        for words, operator in ((expression(ask.all_of, " AND "), "IN"), (" OR ".join(without), "NOT IN")):
            if words:
                conditions.add(having.format(operator), words)
        rows = self._db.execute(
            "SELECT v.chunk, v.data FROM vector v CROSS JOIN chunk c ON c.id = v.chunk CROSS JOIN document d"  # noqa: S608
            f" ON d.id = c.document WHERE v.model = ? AND v.data != x''{conditions.sql()} ORDER BY v.chunk DESC",
            (model, *conditions.values),
        )
        while batch := rows.fetchmany(_VECTORS):
            yield batch

    def document(self, number: int) -> FoundDocument | None:
        """The document with this number."""
        if not abs(number) <= _LARGEST:
            return None
        found = next(self._named(f"{_HIT} {_FROM} WHERE d.id = ?", number), None)
        if found is None:
            return None
        digest, words, partial, context = self._db.execute(
            "SELECT hash, words, partial, context FROM document WHERE id = ?",
            (number,),
        ).fetchone()
        (length,) = self._db.execute('SELECT max("end") FROM chunk WHERE document = ?', (number,)).fetchone()
        cites = self._db.execute(
            "SELECT source.url FROM citation JOIN source ON source.id = citation.source WHERE citation.document = ?"
            " ORDER BY source.id",
            (number,),
        )
        # Documents without a text have the same empty one.
        same = self._db.execute(
            "SELECT id FROM document WHERE hash = ? AND id != ? AND ? ORDER BY made_at DESC, id DESC LIMIT 200",
            (digest, number, words),
        ).fetchall()
        more = {
            "length": length or 0, "partial": bool(partial), "context": context, "copies": len(same),
            "cites": tuple(url for (url,) in cites), "same": tuple(other for (other,) in same),
        }  # fmt: skip
        return self._hit(FoundDocument, found | more)

    def pieces(self, number: int, first: int, last: int) -> Sequence[tuple[int, int, str]]:
        """The passages of a document between two places of its text."""
        if not abs(number) <= _LARGEST:
            return []
        return self._db.execute(
            'SELECT start, "end", text FROM chunk WHERE document = ? AND "end" >= ? AND start <= ?'
            " ORDER BY start, id",
            (number, min(first, _LARGEST), min(last, _LARGEST)),
        ).fetchall()

    def sources(self, url: str) -> Sequence[FoundPage]:
        """The copies of a page that sessions fetched."""
        return [FoundPage(**row) for row in self._named(_COPIES, address_hash(url))]

    def cited_by(self, url: str) -> Sequence[Hit]:
        """The reports that link to an address."""
        return [self._hit(Hit, row) for row in self._named(_CITING, address_hash(url))]

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

    @property
    def _db(self) -> sqlite3.Connection:
        assert self._opened is not None
        return self._opened

    def _connection(self) -> sqlite3.Connection | None:
        found = identity(self._path)
        if self._opened is not None and found != self._identity:
            self.close()
        if self._opened is None and found is not None:
            self._opened = open_reader(self._path)
            self._identity = found
            self._is_own = is_own(self._opened, KIND, self._path)
            self._opened.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            self._opened.execute(f"PRAGMA mmap_size = {1 << 30}")
        return self._opened

    def _conditions(self, ask: Ask) -> tuple[Conditions, list[str]]:
        """The conditions on documents, and expressions that a passage must not match."""
        conditions, without = conditions_of(ask.filters), []
        for term in ask.without:
            if (ask.any_of or ask.all_of) and self._frequency(term) > _FREQUENT:
                without.append(expression([term], ""))
            else:
                conditions.add(_EXCLUDED, expression([term], ""))
        return conditions, without

    def _newest(self, conditions: Conditions, deadline: Deadline) -> tuple[Sequence[Found], bool]:
        found: list[tuple[int]] = []
        is_partial = False
        select = "SELECT (SELECT min(id) FROM chunk WHERE document = d.id) FROM"
        for order, until in (("made_at", deadline), ("id", self._grace(deadline))):
            documents = (
                f"(SELECT d.id FROM document d{conditions.sql('WHERE')} ORDER BY d.{order} DESC, d.id DESC"  # noqa: S608
            )
            statement = f"{select} {documents} LIMIT {MOST_CANDIDATES}) d"
            is_over = self._add(found, statement, conditions.values, until)
            is_partial = is_partial or is_over
            if found or not is_over:
                break
        return self.passages([chunk for (chunk,) in found if chunk]), is_partial

    def _frequency(self, term: Term) -> int:
        return sum(
            min(
                self._count(word, prefix=term.prefix and not number and word is choice.words[-1])
                for word in choice.words
            )
            for number, choice in enumerate(term.choices)
        )

    def _count(self, word: str, *, prefix: bool) -> int:
        """How many passages have a word, or words with this beginning."""
        rows = self._db.execute(
            "SELECT coalesce(sum(doc), 0) FROM (SELECT doc FROM chunk_terms WHERE term >= ? AND term <= ? LIMIT ?)",
            (word, word + "\U0010ffff" * prefix, _PREFIXES),
        )
        return int(rows.fetchone()[0])

    def _add(self, found: list[Any], statement: str, values: Sequence[object], deadline: Deadline) -> bool:
        """Add the rows of a statement one by one, so that those before the deadline are not lost."""
        # A handler that is called at each step stops even the smallest statement.
        self._db.set_progress_handler(deadline.is_over, 1 if deadline.is_over() else _STEPS)
        try:
            for row in self._db.execute(statement, values):
                found.append(row)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
                raise
            return True
        finally:
            self._db.set_progress_handler(None, 0)
        return False

    @staticmethod
    def _grace(deadline: Deadline) -> Deadline:
        return Deadline(deadline.clock() + _GRACE_SECONDS, deadline.clock, deadline.stopped)

    def _named(self, statement: str, value: object) -> Iterator[dict[str, Any]]:
        """Give the rows of a statement as keyword arguments of a record."""
        rows = self._db.execute(statement, (value,))
        names = [column[0] for column in rows.description]
        for row in rows:
            found = dict(zip(names, row, strict=True))
            yield found | {name: bool(found[name]) for name in ("demo", "partial") if name in found}

    def _hit(self, make: Callable[..., H], found: dict[str, Any]) -> H:
        """A record of a document; what somebody else's file says about who wrote it does not count."""
        found["demo"] = bool(found["demo"])
        return make(**found) if self._is_own else make(**found | {"trust": "unknown"})


def _is_later(db: sqlite3.Connection) -> bool:
    return int(db.execute("PRAGMA user_version").fetchone()[0]) > VERSION


def _averages(db: sqlite3.Connection) -> list[int]:
    """The number of passages, and of the words of each column: FTS5 has them in its first block, seven bits a byte."""
    row = db.execute("SELECT block FROM chunk_fts_data WHERE id = 1").fetchone()
    numbers, value = [], 0
    for byte in row[0] if row else b"":
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(value)
            value = 0
    return numbers or [0]
