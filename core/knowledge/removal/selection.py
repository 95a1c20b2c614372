"""Chooses the documents that are to be forgotten, in a file or in the database of a team."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from functools import partial
from typing import Any

import msgspec

from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.access import check_packages
from ua_tui.core.knowledge.index import sqlite_tables
from ua_tui.core.knowledge.index.database import open_reader
from ua_tui.core.knowledge.index.fingerprints import address_hash
from ua_tui.core.knowledge.place import KnowledgePlace
from ua_tui.core.knowledge.problems import reporting
from ua_tui.core.knowledge.search.conditions import conditions_of, filters_of
from ua_tui.core.knowledge.search.database import Ask, Choice, Term
from ua_tui.core.knowledge.search.query import SearchQuery, parse_query
from ua_tui.core.knowledge.search.tokens import Tokenizer, expression
from ua_tui.core.net.urls import canonical_url
from ua_tui.core.postgres.address import Address

_HAS = "d.id IN (SELECT chunk.document FROM chunk_fts JOIN chunk ON chunk.id = chunk_fts.rowid WHERE chunk_fts MATCH ?)"
"""Whether a document has a term, given as an expression of FTS5."""


class Chosen(msgspec.Struct, frozen=True):
    """A document that is to be forgotten; `folder` is that of its session."""

    id: int
    folder: str
    path: str
    part: int
    title: str


class Selection(msgspec.Struct, frozen=True):
    """Reads the documents that this user may remove; make it with `selecting`.

    Attributes:
        rows: runs a statement of `statements.toml`.
        matching: gives the numbers of the documents for which everything in an `Ask` holds, and that have an address.
    """

    rows: Callable[..., list[tuple[Any, ...]]]
    matching: Callable[[Ask, str], list[int]]

    def select(self, session: str, source: str, query: SearchQuery | None) -> list[Chosen]:
        """The documents for which all conditions hold that are given."""
        ask = Ask(filters=filters_of(query or SearchQuery(), session=session))
        if query is not None:
            with closing(Tokenizer()) as tokenizer:
                # Every word counts, also those that say nothing: a search leaves them out.
                all_of, without = (
                    tuple(
                        Term((Choice(each.text, tuple(words)),), phrase=True)
                        for each, words in zip(
                            typed, tokenizer.words([each.text for each in typed]), strict=True
                        )
                    )
                    for typed in (query.terms, query.without)
                )
            ask = msgspec.structs.replace(ask, all_of=all_of, without=without)
        ids = self.matching(ask, canonical_url(source) if source else "")
        return self._chosen("documents_with", ids=ids)

    def with_files(self, found: Sequence[Chosen]) -> list[Chosen]:
        """The documents, and the others that are in their files."""
        files = sorted({(each.folder, each.path) for each in found if each.path})
        others = self._chosen("documents_of_files", files=files) if files else []
        return [*{each.id: each for each in (*found, *others)}.values()]

    def titled(self, found: Iterable[Chosen], query: SearchQuery) -> list[str]:
        """The sessions of documents whose titles have a word of the query, as most are made of the first question."""
        folders = {each.folder for each in found}
        titles = [(folder, title) for folder, title in self.rows("titles") if folder in folders]
        with closing(Tokenizer()) as tokenizer:
            wanted = {
                word for words in tokenizer.words([term.text for term in query.terms]) for word in words
            }
            words_of = tokenizer.words([title for _, title in titles])
            return [folder for (folder, _), words in zip(titles, words_of, strict=True) if wanted & {*words}]

    def _chosen(self, name: str, **values: object) -> list[Chosen]:
        return [Chosen(*row) for row in self.rows(name, **values)]


@contextmanager
def selecting(place: KnowledgePlace) -> Iterator[Selection]:
    """Open what chooses documents.

    Raises:
        KnowledgeError: the knowledge base cannot be read; also raised by what is called in the block.
    """
    if isinstance(place, Address):
        check_packages()
        from ua_tui.core.knowledge.postgres import conditions, tables
        from ua_tui.core.knowledge.postgres.connection import Link

        with closing(Link(place)) as link:
            yield Selection(
                lambda name, **values: link.read(partial(tables.run, name=name, **values)),
                lambda ask, url: link.read(partial(conditions.matching, ask=ask, url=url)),
            )
        return
    with closing(open_reader(place)) as db, reporting(place, "read"):
        yield Selection(partial(sqlite_tables.run, db), partial(_matching, db))


def read_query(text: str) -> SearchQuery:
    """Read a query that says clearly what to forget.

    Raises:
        KnowledgeError: it does not.
    """
    query = parse_query(text, datetime.now().astimezone())
    filters = (
        query.kinds,
        query.sites,
        query.sessions,
        query.tools,
        query.published,
        query.since,
        query.until,
    )
    if query.notices:
        raise KnowledgeError(
            f"nothing is forgotten, because the query is not clear: {' '.join(query.notices)}"
        )
    with closing(Tokenizer()) as tokenizer:
        words = tokenizer.words([term.text for term in (*query.terms, *query.without)])
    if not all(words) or not (query.terms or any(map(bool, filters))):
        raise KnowledgeError("nothing is forgotten, because the query has no words, or parts without letters")
    return query


def _matching(db: sqlite3.Connection, ask: Ask, url: str) -> list[int]:
    found = conditions_of(ask.filters)
    if url:
        found.add("d.source = ?", address_hash(url))
    for term in ask.all_of:
        found.add(_HAS, expression([term], ""))
    for term in ask.without:
        found.add(f"NOT {_HAS}", expression([term], ""))
    rows = db.execute(f"SELECT d.id FROM document AS d{found.sql('WHERE')}", found.values)  # noqa: S608 -- constants
    return [number for (number,) in rows]
