"""Finds the passages that match one query, within a time, and makes hits of the best ones."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from ua_tui.core.knowledge.records import NO_WORDS, Hit, Results
from ua_tui.core.knowledge.search.conditions import Conditions
from ua_tui.core.knowledge.search.embeddings import similarities
from ua_tui.core.knowledge.search.passages import cut_passage
from ua_tui.core.knowledge.search.query import SearchQuery
from ua_tui.core.knowledge.search.query_words import QueryWords
from ua_tui.core.knowledge.search.ranking import (
    Candidate,
    count_facets,
    in_order,
    joined,
    order_by_meaning,
    rank,
)
from ua_tui.core.knowledge.search.tokens import Tokenizer, quoted

ENOUGH = 5
"""Hits; with fewer of them words are left out."""
_RAREST = 2
_ANY = 4
_COMPARED = 200
"""Passages whose meaning is compared: the best ones by their words."""
_RANKED = 250
"""Passages whose documents are read: the best ones by their words."""
_UNRANKED = 200
"""Passages of a search that found none in its time: the last ones in the file, without an order."""
_GRACE_SECONDS = 0.02
"""The time for those."""
_STEPS = 500
"""Steps of the database between two looks at the clock."""
_PREFIXES = 50
_FREQUENT = 5_000
"""Passages with an excluded word; if more have it, it excludes passages and not documents, which is faster."""
_BM25 = "bm25(chunk_fts, 4.0, 1.0, 2.0)"

HIT = """
SELECT d.id, d.kind, d.title, coalesce(s.url, '') AS url, coalesce(s.site, '') AS site, d.author, d.date, d.made_at,
    d.trust, session.folder AS session, session.title AS session_title, session.demo,
    coalesce(nullif(call.slug, ''), call.tool, '') AS tool, call.tool_use_id, d.path, d.part
FROM document d JOIN session ON session.id = d.session LEFT JOIN source s ON s.id = d.source
LEFT JOIN call ON call.id = d.call
"""
"""Everything of a `Hit` that does not depend on the query."""
_CHOSEN = "WHERE d.id IN (SELECT value FROM json_each(?))"
_CANDIDATE = """
SELECT c.id, c.simhash, d.id, iif(b.words, d.body, NULL), d.kind, d.made_at, coalesce(s.site, ''), session.folder,
    iif(d.kind IN ('article', 'search_row'), d.source, NULL)
FROM chunk c JOIN document d ON d.id = c.document JOIN body b ON b.id = d.body JOIN session ON session.id = d.session
LEFT JOIN source s ON s.id = d.source
WHERE c.id IN (SELECT value FROM json_each(?))
"""
_OF_DOCUMENT = " CROSS JOIN chunk c ON c.id = chunk_fts.rowid CROSS JOIN document d ON d.id = c.document"
_EXCLUDED = (
    "d.id NOT IN (SELECT chunk.document FROM chunk_fts JOIN chunk ON chunk.id = chunk_fts.rowid"
    " WHERE chunk_fts MATCH ?)"
)


@dataclass(frozen=True, slots=True)
class Meaning:
    """The vector of a query, and the model that made it."""

    model: str
    vector: bytes


class Matching:
    """One search on a connection that is in a transaction.

    Args:
        budget: the seconds after which it ends with what it has.
        clock: gives the time in seconds.
        typing: whether the last word may be incomplete.
        stopped: asked often; once it returns True the search ends with an empty answer.
        meaning: if it is there, passages with any of the words are ordered by their meaning, too.
    """

    def __init__(
        self,
        db: sqlite3.Connection,
        tokenizer: Tokenizer,
        query: SearchQuery,
        conditions: Conditions,
        *,
        budget: float,
        clock: Callable[[], float],
        typing: bool,
        stopped: Callable[[], bool],
        meaning: Meaning | None = None,
    ) -> None:
        self._db = db
        self._tokenizer = tokenizer
        self._query = query
        self._conditions = conditions
        self._clock = clock
        self._deadline = clock() + budget
        self._stopped = stopped
        self._meaning = meaning
        self._words = QueryWords(query, tokenizer, typing=typing)
        self._partial = False
        self._without: list[str] = []

    def run(self, limit: int) -> Results:
        """Find the best documents, at most `limit`."""
        words = self._words
        relaxed = False
        if self._query.terms and not words.terms:
            return Results(notices=(NO_WORDS,))
        self._exclude()
        if words.terms:
            found = self._candidates(self._matches(words.expression(words.terms)), full=True)
            ranked = rank(found, time.time())
            has_few = len(ranked) < ENOUGH
            if (has_few or self._meaning) and not self._partial:
                known = {each.chunk for each in found}
                more = self._without_short(known) if words.is_short else self._relaxed(known)
                relaxed = bool(more) and has_few and not words.is_short
                ranked = rank([*found, *more], time.time()) if more else ranked
                found += more
            if self._meaning is not None:
                ranked = joined(self._by_meaning(found, self._meaning))
        else:
            ranked = rank(self._candidates(self._newest(), full=True), time.time(), newest_first=True)
        if self._stopped():
            return Results(partial=True)
        return Results(
            hits=self._hits(ranked[:limit]),
            kinds=count_facets(each.kind for each in ranked),
            sites=count_facets(each.site for each in ranked),
            sessions=count_facets(each.session for each in ranked),
            partial=self._partial,
            relaxed=relaxed,
            unfinished=words.is_short and not ranked,
        )

    def _exclude(self) -> None:
        """Have the words that must be missing exclude documents, and the frequent ones only passages."""
        for term, found in self._words.without:
            if self._words.terms and self._frequency(found) > _FREQUENT:
                self._without.append(quoted(term.text))
            else:
                self._conditions.add(_EXCLUDED, quoted(term.text))

    def _matches(self, expression: str) -> list[tuple[int, float]]:
        """The passages that match, with their relevance; without an order if the time is too short."""
        found: list[tuple[int, float]] = []
        with self._limited(self._deadline):
            _add(found, self._execute(f"SELECT chunk_fts.rowid, -{_BM25}", expression, ""))
        if self._partial and not found:
            with self._limited(self._clock() + _GRACE_SECONDS):
                _add(found, self._execute("SELECT chunk_fts.rowid, 1.0", expression, f" LIMIT {_UNRANKED}"))
        return found

    def _execute(self, select: str, expression: str, limit: str) -> sqlite3.Cursor:
        where = self._conditions.sql()
        return self._db.execute(
            f"{select} FROM chunk_fts{_OF_DOCUMENT if where else ''} WHERE chunk_fts MATCH ?{where}"
            f" ORDER BY chunk_fts.rowid DESC{limit}",
            (" NOT ".join([f"({expression})", *self._without]), *self._conditions.values),
        )

    def _newest(self) -> list[tuple[int, float]]:
        found: list[tuple[int, float]] = []
        select = "SELECT coalesce((SELECT min(id) FROM chunk WHERE document = d.id), 0), 1.0 FROM"
        for order, deadline in (("made_at", self._deadline), ("id", self._clock() + _GRACE_SECONDS)):
            where = self._conditions.sql("WHERE")
            documents = f"(SELECT d.id FROM document d{where} ORDER BY d.{order} DESC"  # noqa: S608 -- of constants
            with self._limited(deadline):
                found.extend(
                    self._db.execute(f"{select} {documents} LIMIT {_RANKED}) d", self._conditions.values)
                )
            if found or not self._partial:
                break
        return found

    def _without_short(self, known: set[int]) -> list[Candidate]:
        """Passages that have all words but the last, of which the person has typed a letter or two."""
        expression = self._words.expression(self._words.terms[:-1])
        rows = [row for row in self._matches(expression) if row[0] not in known] if expression else []
        return self._candidates(rows, full=False)

    def _relaxed(self, known: set[int]) -> list[Candidate]:
        """Passages that have some of the words; phrases must be there."""
        terms, expression = self._words.terms, self._words.expression
        phrases = [term for term in terms if term.phrase]
        counted = [
            (count, number)
            for number, term in enumerate(terms)
            if not term.phrase and (count := self._count(number))
        ]
        rarest = [terms[number] for _, number in sorted(counted)[:_ANY]]
        if len(terms) < 2 or not rarest or self._partial:
            return []
        found: list[Candidate] = []
        required, optional = [*phrases, *rarest[:_RAREST]], rarest[_RAREST:]
        attempts = [expression(required)]
        if optional:
            attempts[0] += f" AND ({expression([required[-1], *optional], ' OR ')})"
        any_word = expression(rarest, " OR ")
        attempts.append(f"{expression(phrases)} AND ({any_word})" if phrases else any_word)
        for attempt in attempts:
            rows = [row for row in self._matches(attempt) if row[0] not in known]
            found += self._candidates(rows, full=False)
            known.update(chunk for chunk, _ in rows)
            is_enough = len({each.document for each in found}) >= ENOUGH and self._meaning is None
            if is_enough or self._partial:
                break
        return found

    def _by_meaning(self, candidates: Sequence[Candidate], meaning: Meaning) -> list[Candidate]:
        """Order the best candidates by their words and their meaning, and the others behind them."""
        ordered = in_order(candidates)
        best, others = ordered[:_COMPARED], ordered[_COMPARED:]
        ids = msgspec.json.encode([each.chunk for each in best]).decode()
        vectors = self._db.execute(
            "SELECT chunk, data FROM vector WHERE model = ? AND data != x''"
            " AND chunk IN (SELECT value FROM json_each(?))",
            (meaning.model, ids),
        ).fetchall()
        near = similarities(meaning.vector, [data for _, data in vectors])
        return order_by_meaning(best, dict(zip((chunk for chunk, _ in vectors), near, strict=True))) + others

    def _count(self, number: int) -> int:
        """How many passages have the rarest word of a term; none has it if it is 0."""
        words = self._words
        if words.typing and number == len(words.terms) - 1:
            first = words.words[number][-1]
            (count,) = self._db.execute(
                "SELECT sum(doc) FROM (SELECT doc FROM chunk_terms WHERE term >= ? AND term < ? LIMIT ?)",
                (first, first + "\U0010ffff", _PREFIXES),
            ).fetchone()
            return count or 0
        return self._frequency(words.words[number])

    def _frequency(self, words: Sequence[str]) -> int:
        """How many passages have the rarest of the words."""
        counts = [
            self._db.execute("SELECT doc FROM chunk_terms WHERE term = ?", (word,)).fetchone()
            for word in set(words)
        ]
        return min(count[0] if count else 0 for count in counts)

    def _candidates(self, rows: list[tuple[int, float]], *, full: bool) -> list[Candidate]:
        rows = sorted(rows, key=lambda row: row[1], reverse=True)[:_RANKED]
        relevance = dict(rows)
        ids = msgspec.json.encode([chunk for chunk, _ in rows]).decode()
        return [
            Candidate(
                chunk=chunk, simhash=fingerprint, document=document, body=body, kind=kind, made_at=made_at, site=site,
                session=session, source=source, relevance=relevance[chunk], full=full,
            )
            for chunk, fingerprint, document, body, kind, made_at, site, session, source in self._db.execute(
                _CANDIDATE, (ids,)
            )
        ]  # fmt: skip

    def _hits(self, chosen: Sequence[Candidate]) -> tuple[Hit, ...]:
        documents = msgspec.json.encode([each.document for each in chosen]).decode()
        chunks = msgspec.json.encode([each.chunk for each in chosen]).decode()
        facts = {row["id"]: row for row in named(self._db.execute(HIT + _CHOSEN, (documents,)))}
        texts = {
            chunk: (start, text)
            for chunk, start, text in self._db.execute(
                "SELECT id, start, text FROM chunk WHERE id IN (SELECT value FROM json_each(?))", (chunks,)
            )
        }
        return make_hits(chosen, facts, texts, self._words, self._tokenizer)

    @contextmanager
    def _limited(self, deadline: float) -> Iterator[None]:
        """Stop the statements in the block when the time is over or nobody waits for the answer."""
        # A handler that is called at each step stops even the smallest statement.
        self._db.set_progress_handler(
            lambda: self._is_over(deadline), 1 if self._is_over(deadline) else _STEPS
        )
        try:
            yield
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
                raise
            self._partial = True
        finally:
            self._db.set_progress_handler(None, 0)

    def _is_over(self, deadline: float) -> bool:
        return self._clock() >= deadline or self._stopped()


def make_hits(
    chosen: Sequence[Candidate],
    facts: Mapping[int, Mapping[str, Any]],
    texts: Mapping[int, tuple[int, str]],
    words: QueryWords,
    tokenizer: Tokenizer,
) -> tuple[Hit, ...]:
    """Make the hits of the chosen candidates, with their best passages.

    Args:
        chosen: the best candidates, in their order.
        facts: the other fields of a `Hit` for each document.
        texts: where each chunk begins, and its text.
        words: the query.
        tokenizer: finds the words in the texts.
    """
    places: list[list[tuple[int, int]]] = [[] for _ in chosen]
    if words.terms:
        places = tokenizer.marks(
            [texts[each.chunk][1] for each in chosen], words.expression(words.terms, " OR ")
        )
    hits = []
    for candidate, found in zip(chosen, places, strict=True):
        start, text = texts[candidate.chunk]
        offset, passage, marks = cut_passage(text, found)
        hits.append(
            Hit(
                **facts[candidate.document],
                start=start + offset,
                passage=passage,
                marks=marks,
                copies=candidate.copies,
                same_address=candidate.same_address,
                score=candidate.score,
            )
        )
    return tuple(hits)


def named(rows: sqlite3.Cursor) -> Iterator[dict[str, Any]]:
    """Give the rows of a statement as keyword arguments of a record."""
    names = [column[0] for column in rows.description]
    for row in rows:
        found = dict(zip(names, row, strict=True))
        for name in ("demo", "partial"):
            if name in found:
                found[name] = bool(found[name])
        yield found


def _add(found: list[tuple[int, float]], rows: sqlite3.Cursor) -> None:
    """Add the rows of a statement one by one, so that those before an interruption are not lost."""
    for row in rows:
        found.append(row)
