"""Searches the knowledge base of a team: the same queries and answers as `ua_tui.core.knowledge.search.search`.

The database finds and ranks the passages of a query in one statement, which ends when its time is used up and answers
with what it has; a second one reads the documents of the best.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.postgres.connection import Connection, Link, cancelled_when
from ua_tui.core.knowledge.postgres.selection import ask_of
from ua_tui.core.knowledge.records import NO_WORDS, FoundDocument, FoundPage, Hit, Results
from ua_tui.core.knowledge.search.conditions import Scope
from ua_tui.core.knowledge.search.embeddings import Embedder, similarities
from ua_tui.core.knowledge.search.matching import ENOUGH, Meaning, make_hits
from ua_tui.core.knowledge.search.passages import cut_around
from ua_tui.core.knowledge.search.query import parse_query
from ua_tui.core.knowledge.search.query_words import QueryWords
from ua_tui.core.knowledge.search.ranking import (
    Candidate,
    count_facets,
    in_order,
    joined,
    order_by_meaning,
    rank,
)
from ua_tui.core.knowledge.search.tokens import Tokenizer
from ua_tui.core.net.urls import canonical_url
from ua_tui.core.postgres.address import Address
from ua_tui.core.text import without_surrogates

_LARGEST = (1 << 63) - 1
_COMPARED = 200
"""Passages whose meaning is compared: the best ones by their words."""
_LONG_SECONDS = 0.1
"""A search that may take longer is cancelled when nobody waits for it."""
_AGAIN = 5
"""How many times the budget a second attempt has."""
_READABLE = "(d.shared OR d.owner = k_reader() OR k_reads_all())"
"""What a worker may read for somebody else: row-level security would let it read everything."""
_HIT = """
SELECT d.id, d.kind, d.title, d.url, d.site, d.author, d.date, d.made_at, d.trust, s.name AS session,
    s.title AS session_title, s.demo, coalesce(nullif(k.slug, ''), k.tool, '') AS tool, k.tool_use_id, d.path, d.part
FROM k_document d JOIN k_session s ON s.id = d.session LEFT JOIN k_call k ON k.id = d.call
"""
_CHOSEN = f"""
SELECT c.id AS chunk, c."start" AS chunk_start, c.text AS chunk_text, hit.*
FROM k_chunk c JOIN ({_HIT}) hit ON hit.id = c.document WHERE c.id = ANY(%s)
"""  # noqa: S608 -- made of constants
_CITING = f"""
WHERE d.id IN (SELECT document FROM k_citation WHERE url = %s) AND {_READABLE}
ORDER BY d.made_at DESC, d.id DESC LIMIT 200
"""  # noqa: S608 -- made of constants
_SIMILAR = "Some words are in no document; words that are spelt like them were searched."


class PostgresSearch:
    """Reads the knowledge base of a team, over a connection that is opened when it is first needed.

    All methods block. They may be called in any thread; a call waits until the one before it has ended. Each raises
    `KnowledgeError` if the database cannot be read.

    Args:
        address: the database of the team.
        budget: the seconds after which a search answers with what it has.
        embedder: makes the vector of a query, so that hits are also ordered by their meaning; None for no such search.
    """

    def __init__(self, address: Address, *, budget: float, embedder: Embedder | None = None) -> None:
        self.path = address
        self._budget = budget
        self._embedder = embedder
        self._lock = threading.Lock()
        self._link = Link(address)
        self._state: tuple[Any, ...] | None = None
        self._tokenizer: Tokenizer | None = None

    def search(  # noqa: PLR0913 -- all but one are optional filters
        self,
        text: str,
        *,
        limit: int = 20,
        demo: bool | None = None,
        kinds: Sequence[str] = (),
        sites: Sequence[str] = (),
        session: str = "",
        without_session: str = "",
        since: float | None = None,
        until: float | None = None,
        typing: bool = False,
        budget: float | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Results:
        """Find documents; any text is a query, and one without words finds the newest; see `KnowledgeSearch.search`."""
        began = time.perf_counter()
        query = parse_query(text, datetime.now().astimezone())
        scope = Scope(
            demo=demo,
            kinds=kinds,
            sites=sites,
            session=without_surrogates(session),
            without_session=without_surrogates(without_session),
            since=since,
            until=until,
        )
        meaning, problems = self._meaning(" ".join(term.text for term in query.terms))
        with self._lock:
            words = QueryWords(query, self._words(), typing=typing)
            if query.terms and not words.terms:
                return Results(notices=(*query.notices, NO_WORDS))
            ask = _without_zeros({**ask_of(query, scope, words), "meaning": meaning is not None})
            seconds = self._budget if budget is None else budget
            results = self._link.read(
                lambda db: _Answering(db, self._words(), words, meaning, stopped).run(
                    ask, seconds, max(limit, 0)
                )
            )
        notices = (*query.notices, *problems, *results.notices)
        return replace(results, notices=notices, ms=(time.perf_counter() - began) * 1_000)

    def document(self, number: int) -> FoundDocument | None:
        """Find a document by its number; None if there is none."""
        if not 0 <= number <= _LARGEST:
            return None
        with self._lock:
            return self._link.read(lambda db: _document(db, number))

    def text(self, number: int, around: int | None = None, limit: int = 8_000) -> str:
        """Read at most `limit` characters of a document's text, from its beginning or around a place in it."""
        if not 0 <= number <= _LARGEST or limit <= 0:
            return ""
        place = min(max(around or 0, 0), _LARGEST >> 40)
        with self._lock:
            return self._link.read(lambda db: _text(db, number, place, min(limit, _LARGEST >> 40)))

    def sources(self, url: str) -> list[FoundPage]:
        """List the copies of a page that sessions fetched, the newest first."""
        rows = self._rows(
            "SELECT d.id, d.url, d.title, d.date, d.made_at, encode(d.hash, 'hex') AS hash, d.words, d.partial,"  # noqa: S608
            " s.name AS session, s.demo, d.path, d.part FROM k_document d JOIN k_session s ON s.id = d.session"
            f" WHERE d.url = %s AND d.url <> '' AND d.kind = 'article' AND {_READABLE}"
            " ORDER BY d.made_at DESC, d.id DESC LIMIT 200",
            _key(url),
        )
        return [FoundPage(**row) for row in rows]

    def cited_by(self, url: str) -> list[Hit]:
        """List the reports that link to an address, the newest first, without passages."""
        rows = self._rows(
            _HIT + _CITING,
            _key(url),
        )
        return [Hit(**row) for row in rows]

    def changed(self) -> bool:
        """Whether something was stored or forgotten since the last call; the first call returns False."""
        with self._lock:
            state = self._link.read(
                lambda db: db.execute(
                    "SELECT (SELECT max(id) FROM k_document), (SELECT max(id) FROM k_forgotten)"
                ).fetchone()
            )
            before, self._state = self._state, state
        return before is not None and before != state

    def close(self) -> None:
        """Close the connection; the next call opens it again."""
        with self._lock:
            self._link.close()
            if self._tokenizer is not None:
                self._tokenizer.close()
                self._tokenizer = None

    def _meaning(self, text: str) -> tuple[Meaning | None, list[str]]:
        """The vector of the words of a query, and notices about why there is none."""
        if self._embedder is None or not text:
            return None, []
        try:
            return Meaning(self._embedder.model, self._embedder.embed_query(text)), []
        except KnowledgeError as error:
            return None, [f"Only the words were searched, not the meaning: {error}."]

    def _rows(self, statement: str, value: str) -> list[dict[str, Any]]:
        with self._lock:
            return self._link.read(lambda db: _named(db, statement, value))

    def _words(self) -> Tokenizer:
        if self._tokenizer is None:
            self._tokenizer = Tokenizer()
        return self._tokenizer


class _Answering:
    """One search over an open connection."""

    def __init__(
        self,
        db: Connection,
        tokenizer: Tokenizer,
        words: QueryWords,
        meaning: Meaning | None,
        stopped: Callable[[], bool],
    ) -> None:
        self._db = db
        self._tokenizer = tokenizer
        self._words = words
        self._meaning = meaning
        self._stopped = stopped

    def run(self, ask: Mapping[str, Any], seconds: float, limit: int) -> Results:
        """Find the best documents, at most `limit`."""
        candidates, partial, similar = self._candidates(ask, seconds)
        now = time.time()
        full = rank([each for each in candidates if each.full], now, newest_first=not self._words.terms)
        has_few = len(full) < ENOUGH
        more = any(not each.full for each in candidates)
        ranked = rank(candidates, now) if more else full
        if self._meaning is not None and self._words.terms:
            ranked = joined(self._by_meaning(candidates, self._meaning))
        if self._stopped():
            return Results(partial=True)
        return Results(
            hits=self._hits(ranked[:limit]),
            kinds=count_facets(each.kind for each in ranked),
            sites=count_facets(each.site for each in ranked),
            sessions=count_facets(each.session for each in ranked),
            partial=partial,
            relaxed=more and has_few and not self._words.is_short,
            unfinished=self._words.is_short and not ranked,
            notices=(_SIMILAR,) if similar and ranked else (),
        )

    def _candidates(self, ask: Mapping[str, Any], seconds: float) -> tuple[list[Candidate], bool, bool]:
        """The passages that match; whether the search was stopped early, and whether similar words were searched."""
        try:
            rows = self._run(ask, seconds)
        except psycopg.errors.QueryCanceled:
            # The time was over before the search itself began, as may be in the first one of a connection.
            try:
                rows = [] if self._stopped() else self._run(ask, max(_AGAIN * seconds, _LONG_SECONDS))
            except psycopg.errors.QueryCanceled:
                rows = []
        if not rows:
            return [], True, False
        urls: dict[str, int] = {}
        _, similar, partial, *_ = rows.pop()
        return (
            [
                Candidate(
                    chunk=chunk, simhash=simhash, document=document,
                    body=int.from_bytes(digest) if words else None,
                    kind=kind, made_at=made_at, site=site, session=session,
                    source=urls.setdefault(url, len(urls) + 1) if url else None,
                    relevance=relevance, full=not stage,
                )
                for stage, chunk, relevance, simhash, document, digest, words, kind, made_at, site, session, url in (
                    {row[1]: row for row in rows}.values()
                )
            ],
            bool(partial),
            bool(similar),
        )  # fmt: skip

    def _run(self, ask: Mapping[str, Any], seconds: float) -> list[tuple[Any, ...]]:
        try:
            with ExitStack() as stack:
                if seconds > _LONG_SECONDS:
                    stack.enter_context(cancelled_when(self._stopped, self._db))
                stack.enter_context(self._db.transaction())
                stack.enter_context(self._db.pipeline())
                self._db.execute(
                    "SELECT set_config('statement_timeout', %s, true)",
                    (str(max(round(seconds * 1_000), 1)),),
                )
                cursor = self._db.execute("SELECT * FROM k_search(%s)", (Jsonb(ask),))
        finally:
            if self._db.info.transaction_status is TransactionStatus.INERROR:
                # What was cancelled was the end of the transaction.
                self._db.rollback()
        return cursor.fetchall()

    def _by_meaning(self, candidates: Sequence[Candidate], meaning: Meaning) -> list[Candidate]:
        """Order the best candidates by their words and their meaning, and the others behind them."""
        ordered = in_order(candidates)
        best, others = ordered[:_COMPARED], ordered[_COMPARED:]
        vectors = self._db.execute(
            "SELECT chunk, data FROM k_vector WHERE model = %s AND data <> '' AND chunk = ANY(%s)",
            (meaning.model, [each.chunk for each in best]),
        ).fetchall()
        near = similarities(meaning.vector, [data for _, data in vectors])
        return order_by_meaning(best, dict(zip((chunk for chunk, _ in vectors), near, strict=True))) + others

    def _hits(self, chosen: Sequence[Candidate]) -> tuple[Hit, ...]:
        facts: dict[int, dict[str, Any]] = {}
        texts: dict[int, tuple[int, str]] = {}
        for row in _named(self._db, _CHOSEN, [each.chunk for each in chosen]):
            texts[row.pop("chunk")] = row.pop("chunk_start"), row.pop("chunk_text")
            facts[row["id"]] = row
        # Between the two statements a document may have been removed.
        there = [each for each in chosen if each.chunk in texts]
        return make_hits(there, facts, texts, self._words, self._tokenizer)


def _named(db: Connection, statement: str, value: object) -> list[dict[str, Any]]:
    with db.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(statement.encode(), (value,)).fetchall()


def _document(db: Connection, number: int) -> FoundDocument | None:
    found = next(iter(_named(db, f"{_HIT}WHERE d.id = %s AND {_READABLE}", number)), None)
    facts = db.execute(
        'SELECT d.hash, d.words, d.partial, d.context, (SELECT max("end") FROM k_chunk WHERE document = d.id)'
        " FROM k_document d WHERE d.id = %s",
        (number,),
    ).fetchone()
    if found is None or facts is None:
        return None
    digest, words, partial, context, length = facts
    cites = db.execute("SELECT url FROM k_citation WHERE document = %s ORDER BY ctid", (number,))
    # Documents without a text have the same empty one.
    same = db.execute(
        f"SELECT d.id FROM k_document d WHERE d.hash = %s AND d.id <> %s AND %s > 0 AND {_READABLE}"  # noqa: S608
        " ORDER BY d.made_at DESC, d.id DESC LIMIT 200",
        (digest, number, words),
    )
    ids = tuple(other for (other,) in same)
    return FoundDocument(
        **found,
        length=length or 0,
        partial=partial,
        context=context,
        cites=tuple(url for (url,) in cites),
        same=ids,
        copies=len(ids),
    )


def _text(db: Connection, number: int, place: int, limit: int) -> str:
    """Put the text together from the chunks that are near; white space between chunks was not stored."""
    parts: list[str] = []
    begin = at = -1
    for start, end, text in db.execute(
        'SELECT c."start", c."end", c.text FROM k_chunk c JOIN k_document d ON d.id = c.document'  # noqa: S608
        f' WHERE c.document = %s AND c."end" >= %s AND c."start" <= %s AND {_READABLE} ORDER BY c."start", c.id',
        (number, max(place - limit, 0), place + limit),
    ):
        if begin < 0:
            begin = at = start
        # Between two chunks is only white space.
        parts += ["\n" * min(start - at, limit), text]
        at = end
    return cut_around("".join(parts), place - max(begin, 0), limit)


def _key(url: str) -> str:
    return canonical_url(without_surrogates(url)).replace("\0", "?")


def _without_zeros(value: Any) -> Any:
    """The value with texts that the database can hold: it knows no NUL."""
    if isinstance(value, str):
        return value.replace("\0", " ")
    if isinstance(value, dict):
        return {name: _without_zeros(each) for name, each in value.items()}
    return [*map(_without_zeros, value)] if isinstance(value, list) else value
