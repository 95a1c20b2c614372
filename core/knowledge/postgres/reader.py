"""Reads the knowledge base of a team for the search: `ua_tui.core.knowledge.search.database` says what is asked.

Row-level security decides what a role reads. It does not apply to a worker, who may read for another role: every
statement has the condition `READABLE`, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from itertools import accumulate
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row

from ua_tui.core.knowledge.index.preparing import storable
from ua_tui.core.knowledge.postgres.conditions import READABLE, conditions_of
from ua_tui.core.knowledge.postgres.connection import Connection, Link, cancelled_when
from ua_tui.core.knowledge.postgres.lexemes import phrase, term_query
from ua_tui.core.knowledge.records import FoundDocument, FoundPage, Hit
from ua_tui.core.knowledge.search.conditions import Conditions
from ua_tui.core.knowledge.search.database import (
    MOST_CANDIDATES,
    Ask,
    Deadline,
    Found,
    Frequencies,
    Term,
)
from ua_tui.core.postgres.address import Address

_LARGEST = (1 << 63) - 1
_LONGEST = (1 << 31) - 1
"""The largest numbers of a document and of a place in a text."""
_LONG_SECONDS = 0.1
"""A search that may take longer is cancelled when nobody waits for it."""
_GRACE_SECONDS = 0.2
"""The time for passages with the rarest word, or the newest ones, if the best were not found before the deadline."""
_MOST_MATCHES = 8_000
"""Passages with the words by which they are found, taken together; more frequent words only count for the order."""
_COMMON = 10_000
"""Passages with a word, from which on only the newest are found: they differ little."""
_VECTORS = 500
"""Vectors that are read at once."""
_BEST = """
SELECT c.id FROM k_chunk c JOIN ({} ORDER BY m.score DESC, m.chunk DESC LIMIT 600) m ON m.chunk = c.id,
LATERAL (SELECT 0.3 + 0.9 * c.length / %s::float8 AS norm) n
ORDER BY (SELECT sum(w.weight * (1 - n.norm / (4 * ts_rank_cd('{{0.25, 0.25, 0.5, 1}}', c.vector, w.word) + n.norm)))
    FROM unnest(%s::text[]::tsquery[], %s) w (word, weight)) DESC, c.id DESC
"""
"""The best by BM25 of the passages with the rarest words: of a word `ts_rank_cd` adds up the weights of its places."""
_HIT = """
SELECT d.id, d.kind, d.title, d.url, d.site, d.author, d.date, d.made_at, d.trust, s.name AS session,
    s.title AS session_title, s.demo, coalesce(nullif(k.slug, ''), k.tool, '') AS tool, k.tool_use_id, d.path, d.part
"""
_FROM = "FROM k_document d JOIN k_session s ON s.id = d.session LEFT JOIN k_call k ON k.id = d.call"
_PASSAGES = f"""
{_HIT}, c.id AS chunk, c."start", c.text, d.context, CASE WHEN d.words > 0 THEN d.hash END AS body, c.simhash
{_FROM} JOIN k_chunk c ON c.document = d.id WHERE {READABLE} AND c.id
"""
_DOCUMENT = f"""
{_HIT}, d.partial, d.context, coalesce((SELECT max("end") FROM k_chunk WHERE document = d.id), 0) AS length,
    ARRAY(SELECT url FROM k_citation WHERE document = d.id ORDER BY ctid) AS cites,
    ARRAY(SELECT o.id FROM k_document o WHERE o.hash = d.hash AND o.id <> d.id AND d.words > 0
        AND {READABLE.replace("d.", "o.")} ORDER BY o.made_at DESC, o.id DESC LIMIT 200) AS same
{_FROM} WHERE d.id = %s AND {READABLE}
"""  # noqa: S608 -- made of constants
_COPIES = f"""
SELECT d.id, d.url, d.title, d.date, d.made_at, encode(d.hash, 'hex') AS hash, d.words, d.partial, s.name AS session,
    s.demo, d.path, d.part {_FROM}
WHERE d.url = %s AND d.url <> '' AND d.kind = 'article' AND {READABLE} ORDER BY d.made_at DESC, d.id DESC LIMIT 200
"""
_CITING = f"""
{_HIT} {_FROM} WHERE d.id IN (SELECT document FROM k_citation WHERE url = %s) AND {READABLE}
ORDER BY d.made_at DESC, d.id DESC LIMIT 200
"""  # noqa: S608 -- made of constants
_PIECES = f"""
SELECT c."start", c."end", c.text FROM k_chunk c JOIN k_document d ON d.id = c.document
WHERE d.id = %s AND c."end" >= %s AND c."start" <= %s AND {READABLE} ORDER BY c."start", c.id
"""  # noqa: S608 -- made of constants


class PostgresReader:
    """A `Database` over the database of a team, with a connection that is opened when it is first needed.

    Args:
        address: the database of the team.
    """

    def __init__(self, address: Address) -> None:
        self._link = Link(address)
        self._state: tuple[Any, ...] | None = None
        self._counts: dict[str, int] = {}
        self._passages, self._mean = 0, 1.0

    def reading(self) -> AbstractContextManager[Sequence[str] | None]:
        """Nothing is locked: each method reads with one statement, and what was removed meanwhile is left out."""
        return nullcontext(())

    def frequencies(self, terms: Sequence[Term]) -> Frequencies:
        """How many passages there are, how long they are, and how many have each term."""
        every = [[_words_of(term, number) for number in range(len(term.choices))] for term in terms]
        queries = [*dict.fromkeys(query for term in every for choice in term for query in choice)]
        ((passages, mean, counts),) = self._rows(
            "SELECT passages, mean_length, counts FROM k_frequencies(%s::text[]::tsquery[])", (queries,)
        )
        self._counts = dict(zip(queries, counts, strict=True))
        self._passages, self._mean = passages, mean
        of = (sum(min(self._counts[query] for query in choice) for choice in term) for term in every)
        return Frequencies(passages, mean, tuple(of))

    def similar(self, word: str) -> Sequence[str]:
        """Words with the same first letter and almost the same length, the most frequent first."""
        return [found for (found,) in self._rows("SELECT * FROM k_similar(%s)", (storable(word),))]

    def candidates(self, ask: Ask, deadline: Deadline) -> tuple[Sequence[Found], bool]:
        """Find the best passages by their words, or the newest documents."""
        conditions = conditions_of(ask.filters, ask.without)
        if not ask.any_of and not ask.all_of:
            found = self._until(deadline, *_newest_documents(conditions))
            return found or [], found is None
        rarest = min(ask.all_of or ask.any_of, key=self._count)
        has_many = bool(ask.all_of) or self._count(rarest) >= _COMMON
        is_common = has_many and not (ask.all_of or conditions.clauses)
        if not is_common:
            found = self._until(deadline, *self._best(ask, conditions))
            if found is not None or deadline.stopped():
                return found or [], found is None
            deadline = Deadline(deadline.clock() + _GRACE_SECONDS, deadline.clock, deadline.stopped)
        few = Ask(any_of=(rarest,), filters=ask.filters, without=ask.without)
        query = _newest_passages(ask, conditions) if has_many else self._best(few, conditions)
        found = self._until(deadline, *query)
        return found or [], found is None or not is_common

    def passages(self, chunks: Sequence[int]) -> Sequence[Found]:
        """The passages with these numbers."""
        return [*map(_found, self._records(f"{_PASSAGES} = ANY(%s)", ([*chunks],)))]

    def vectors(self, model: str, ask: Ask) -> Iterator[Sequence[tuple[int, bytes]]]:
        """Give the vectors of a model, the newest first."""
        conditions = conditions_of(ask.filters, ask.without)
        if ask.all_of:
            conditions.add("c.vector @@ %s::tsquery", _required(ask))
        statement = (
            "SELECT v.chunk, v.data FROM k_vector v JOIN k_chunk c ON c.id = v.chunk JOIN k_document d"  # noqa: S608
            f" ON d.id = c.document WHERE v.model = %s AND v.data <> '' AND {READABLE}{conditions.sql()}"
            f" AND v.chunk < %s ORDER BY v.chunk DESC LIMIT {_VECTORS}"
        )
        last = _LARGEST
        while batch := self._rows(statement, (model, *conditions.values, last)):
            yield batch
            last = batch[-1][0]

    def document(self, number: int) -> FoundDocument | None:
        """The document with this number."""
        for row in self._records(_DOCUMENT, (number,)) if abs(number) <= _LARGEST else ():
            lists = {"cites": tuple(row["cites"]), "same": tuple(row["same"]), "copies": len(row["same"])}
            return FoundDocument(**row | lists)
        return None

    def pieces(self, number: int, first: int, last: int) -> Sequence[tuple[int, int, str]]:
        """The passages of a document between two places of its text."""
        if not abs(number) <= _LARGEST:
            return []
        return self._rows(_PIECES, (number, min(first, _LONGEST), min(last, _LONGEST)))

    def sources(self, url: str) -> Sequence[FoundPage]:
        """The copies of a page that sessions fetched."""
        return [FoundPage(**row) for row in self._records(_COPIES, (storable(url),))]

    def cited_by(self, url: str) -> Sequence[Hit]:
        """The reports that link to an address."""
        return [Hit(**row) for row in self._records(_CITING, (storable(url),))]

    def changed(self) -> bool:
        """Whether something was stored or forgotten since the last call."""
        (state,) = self._rows("SELECT (SELECT max(id) FROM k_document), (SELECT max(id) FROM k_forgotten)")
        before, self._state = self._state, state
        return before is not None and before != state

    def close(self) -> None:
        """Close the connection."""
        self._link.close()

    def _best(self, ask: Ask, conditions: Conditions) -> tuple[str, list[object]]:
        """The query for the passages with words that are rare, often there, in a title, and in a short text."""
        counts = {term: self._count(term) for term in sorted(ask.any_of, key=self._count)}
        every = [
            (term_query(term), math.log1p(self._passages / (count + 0.5))) for term, count in counts.items()
        ]
        few = sum(total <= _MOST_MATCHES for total in accumulate(counts.values()))
        required = _required(ask)
        chosen = [
            (f"({query}) & {required}" if required else query, rarity) for query, rarity in every[: few or 1]
        ]
        chosen += [(required, 1.0)] if required else []
        joined = " JOIN k_document d ON d.id = m.document" if conditions.clauses else ""
        query = _BEST.format(
            f"SELECT m.chunk FROM k_matches(%s::text[]::tsquery[], %s) m{joined}{conditions.sql('WHERE')}"  # noqa: S608
        )
        words, others = (
            [[*each] for each in zip(*pairs, strict=True)] for pairs in (chosen, every or chosen)
        )
        return query, [*words, *conditions.values, self._mean or 1.0, *others]

    def _until(self, deadline: Deadline, best: str, values: Sequence[object]) -> list[Found] | None:
        """The passages that the first rows of a query name; None if it was not answered before the deadline."""
        statement = f"{_PASSAGES} IN ({best} LIMIT {MOST_CANDIDATES})"
        milliseconds = str(max(round(deadline.seconds * 1_000), 1))

        def read(db: Connection) -> list[dict[str, Any]]:
            with ExitStack() as stack:
                if deadline.seconds > _LONG_SECONDS:
                    stack.enter_context(cancelled_when(deadline.is_over, db))
                stack.enter_context(db.transaction())
                stack.enter_context(db.pipeline())
                db.execute("SELECT set_config('statement_timeout', %s, true)", (milliseconds,))
                cursor = db.cursor(row_factory=dict_row).execute(statement.encode(), values)
            return cursor.fetchall()

        def read_in_time(db: Connection) -> list[dict[str, Any]] | None:
            try:
                return read(db)
            except psycopg.errors.QueryCanceled:
                return None
            finally:
                if db.info.transaction_status is TransactionStatus.INERROR:
                    # What was cancelled was the end of the transaction.
                    db.rollback()

        rows = self._link.read(read_in_time)
        return None if rows is None else [*map(_found, rows)]

    def _count(self, term: Term) -> int:
        """In how many passages a term is, as far as it was counted."""
        return sum(
            min(self._counts.get(query, 0) for query in _words_of(term, number))
            for number in range(len(term.choices))
        )

    def _rows(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self._link.read(lambda db: db.execute(statement.encode(), values).fetchall())

    def _records(self, statement: str, values: Sequence[object]) -> list[dict[str, Any]]:
        return self._link.read(
            lambda db: db.cursor(row_factory=dict_row).execute(statement.encode(), values).fetchall()
        )


def _newest_documents(conditions: Conditions) -> tuple[str, list[object]]:
    query = (
        "SELECT (SELECT min(c.id) FROM k_chunk c WHERE c.document = d.id) FROM k_document d"  # noqa: S608 -- constants
        f" WHERE {READABLE}{conditions.sql()} ORDER BY d.made_at DESC, d.id DESC"
    )
    return query, conditions.values


def _newest_passages(ask: Ask, conditions: Conditions) -> tuple[str, list[object]]:
    """The query for passages with words that are nearly everywhere, which are found from the end."""
    words = _required(ask) or " | ".join(map(term_query, ask.any_of))
    query = (
        "SELECT c.id FROM k_chunk c JOIN k_document d ON d.id = c.document"  # noqa: S608 -- made of constants
        f" WHERE c.vector @@ %s::tsquery AND {READABLE}{conditions.sql()} ORDER BY c.id DESC"
    )
    return query, [words, *conditions.values]


def _required(ask: Ask) -> str:
    return " & ".join(f"({term_query(term)})" for term in ask.all_of)


def _found(row: dict[str, Any]) -> Found:
    names = ("chunk", "start", "text", "context", "body", "simhash")
    return Found(**{name: row.pop(name) for name in names}, hit=Hit(**row))


def _words_of(term: Term, number: int) -> list[str]:
    """The queries of the words of a choice."""
    words = term.choices[number].words
    return [phrase([word], prefix=term.prefix and not number and word is words[-1]) for word in words]
