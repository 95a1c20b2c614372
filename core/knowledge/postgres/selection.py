"""Chooses the documents of a team's knowledge base that are to be forgotten."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import Any, Self

from psycopg.types.json import Jsonb

from ua_tui.core.knowledge.postgres.connection import Link
from ua_tui.core.knowledge.postgres.lexemes import phrase
from ua_tui.core.knowledge.removal.forgotten import Doomed
from ua_tui.core.knowledge.search.conditions import Scope, containing, site_of
from ua_tui.core.knowledge.search.query import SearchQuery
from ua_tui.core.knowledge.search.query_words import QueryWords
from ua_tui.core.knowledge.search.tokens import Tokenizer
from ua_tui.core.net.urls import canonical_url
from ua_tui.core.postgres.address import Address

_OWN = "(d.owner = current_user OR is_worker())"


class PostgresSelection:
    """Reads the documents that this role may remove: its own ones, or for a worker those of all.

    Every method raises `KnowledgeError` if the database cannot be read.
    """

    def __init__(self, address: Address) -> None:
        self._link = Link(address)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._link.close()

    def knows(self, session: str) -> bool:
        """Whether there is something of a session."""
        row = self._link.read(
            lambda db: db.execute("SELECT count(*) FROM k_session WHERE name = %s", (session,)).fetchone()
        )
        return bool(row and row[0])

    def select(self, session: str, source: str, query: SearchQuery | None) -> list[Doomed]:
        """The documents for which all conditions hold that are given."""
        conditions, values = ["true"], list[object]()
        if session:
            conditions.append("s.name = %s")
            values.append(session)
        if source:
            conditions.append("d.url = %s")
            values.append(canonical_url(source))
        if query is not None:
            with closing(Tokenizer()) as tokenizer:
                words = QueryWords(query, tokenizer, typing=False)
            conditions.append("d.id IN (SELECT k_documents(%s))")
            values.append(Jsonb(ask_of(query, Scope(), words)))
        return self._documents(" AND ".join(conditions), values)

    def with_same_texts(self, digests: Iterable[bytes]) -> list[Doomed]:
        """The documents with these texts."""
        return self._documents("d.hash = ANY(%s)", [[*digests]])

    def of_files(self, places: Iterable[tuple[str, str]]) -> list[Doomed]:
        """The documents of files, which are named by session and path."""
        pairs = [*places]
        return self._documents(
            "(s.name, d.path) IN (SELECT n, p FROM unnest(%s::text[], %s::text[]) t (n, p))",
            [[name for name, _ in pairs], [path for _, path in pairs]],
        )

    def titles_of(self, sessions: Iterable[str]) -> list[str]:
        """The titles of sessions, each once."""
        rows = self._link.read(
            lambda db: db.execute(
                "SELECT DISTINCT title FROM k_session WHERE title <> '' AND name = ANY(%s)", ([*sessions],)
            ).fetchall()
        )
        return [title for (title,) in rows]

    def count_passages(self, ids: Iterable[int]) -> int:
        """How many passages documents have."""
        row = self._link.read(
            lambda db: db.execute(
                "SELECT count(*) FROM k_chunk WHERE text <> '' AND document = ANY(%s)", ([*ids],)
            ).fetchone()
        )
        return int(row[0]) if row else 0

    def _documents(self, condition: str, values: Sequence[object]) -> list[Doomed]:
        statement = (
            "SELECT d.id, s.name, d.path, d.part, d.title, d.hash FROM k_document d"  # noqa: S608 -- made of constants
            f" JOIN k_session s ON s.id = d.session WHERE {_OWN} AND {condition} ORDER BY d.id"
        )
        rows = self._link.read(lambda db: db.execute(statement.encode(), values).fetchall())
        return [
            Doomed(number, name, path, part, title, bytes(digest))
            for number, name, path, part, title, digest in rows
        ]


def ask_of(query: SearchQuery, scope: Scope, words: QueryWords) -> dict[str, Any]:
    """The parts of a query and the filters of its caller; what does not narrow the search is left out."""
    ask: dict[str, Any] = {
        "terms": [_term(words, number) for number in range(len(words.terms))],
        "without": [{"q": phrase(found), "words": found} for _, found in words.without],
        "short": words.is_short,
    }
    kinds = [set(each) for each in (query.kinds, scope.kinds) if each]
    if kinds:
        ask["kinds"] = sorted(set.intersection(*kinds))
    sites = [[f"%{_escaped(site_of(site))}%" for site in each] for each in (query.sites, scope.sites) if each]
    if sites:
        ask["sites"] = sites
    for name, values in (("sessions", query.sessions), ("tools", query.tools)):
        if values:
            ask[name] = [containing(value) for value in values]
    for name, value in (("session", scope.session), ("without_session", scope.without_session)):
        if value:
            ask[name] = value
    if scope.demo is not None:
        ask["demo"] = scope.demo
    since = [each for each in (query.since, scope.since) if each is not None]
    until = [each for each in (query.until, scope.until) if each is not None]
    if since:
        ask["since"] = max(since)
    if until:
        ask["until"] = min(until)
    return ask


def _term(words: QueryWords, number: int) -> dict[str, Any]:
    term, found = words.terms[number], words.words[number]
    is_last = words.is_unfinished(term)
    query = phrase(found, prefix=is_last and words.typing)
    if is_last:
        query = " | ".join([query, *(phrase([stem]) for stem in words.stems)])
    return {
        "q": query,
        "words": found,
        "phrase": term.phrase,
        "prefix": found[-1] if is_last and words.typing else None,
    }


def _escaped(text: str) -> str:
    return containing(text)[1:-1]
