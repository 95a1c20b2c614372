"""Chooses the documents that are to be forgotten, in a file or in the database of a team."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from datetime import datetime

import msgspec

from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.search.conditions import filters_of
from ua_tui.core.knowledge.search.database import Ask, Choice, Database, Term
from ua_tui.core.knowledge.search.query import SearchQuery, Typed, parse_query
from ua_tui.core.knowledge.search.tokens import Tokenizer
from ua_tui.core.net.urls import canonical_url


class Chosen(msgspec.Struct, frozen=True):
    """A document that is to be forgotten; `folder` is that of its session."""

    id: int
    folder: str
    path: str
    part: int
    title: str


def select(database: Database, session: str, source: str, query: SearchQuery | None) -> list[Chosen]:
    """The documents that this user may remove, for which all conditions hold that are given."""
    query = query or SearchQuery()
    url = canonical_url(source) if source else ""
    ask = Ask(
        all_of=_terms(query.terms),
        without=_terms(query.without),
        filters=filters_of(query, session=session, source=url),
    )
    return [Chosen(*row) for row in database.rows("documents_with", ids=database.matching(ask))]


def with_files(database: Database, found: Sequence[Chosen]) -> list[Chosen]:
    """The documents, and the others that are in their files."""
    files = sorted({(each.folder, each.path) for each in found if each.path})
    others = [Chosen(*row) for row in database.rows("documents_of_files", files=files)] if files else []
    return [*{each.id: each for each in (*found, *others)}.values()]


def titled(database: Database, found: Iterable[Chosen], query: SearchQuery) -> list[str]:
    """The sessions of documents whose titles have a word of the query, as most are made of the first question."""
    folders = {each.folder for each in found}
    titles = [(folder, title) for folder, title in database.rows("titles") if folder in folders]
    wanted = {word for term in _terms(query.terms) for word in term.choices[0].words}
    with closing(Tokenizer()) as tokenizer:
        words_of = tokenizer.words([title for _, title in titles])
    return [folder for (folder, _), words in zip(titles, words_of, strict=True) if wanted & {*words}]


def read_query(text: str) -> SearchQuery:
    """Read a query that says clearly what to forget.

    Raises:
        KnowledgeError: it does not.
    """
    query = parse_query(text, datetime.now().astimezone())
    if query.notices:
        raise KnowledgeError(
            f"nothing is forgotten, because the query is not clear: {' '.join(query.notices)}"
        )
    words = [term.choices[0].words for term in _terms((*query.terms, *query.without))]
    if not all(words) or not (query.terms or filters_of(query)):
        raise KnowledgeError("nothing is forgotten, because the query has no words, or parts without letters")
    return query


def _terms(typed: Sequence[Typed]) -> tuple[Term, ...]:
    """The terms of a query: every word counts, also those that say nothing, which a search leaves out."""
    with closing(Tokenizer()) as tokenizer:
        every = tokenizer.words([each.text for each in typed])
    return tuple(
        Term((Choice(each.text, tuple(words)),), phrase=True)
        for each, words in zip(typed, every, strict=True)
    )
