"""Writes a query as JSON, as the functions `k_search` and `k_documents` of the database read it."""

from __future__ import annotations

from typing import Any

from ua_tui.core.knowledge.postgres.lexemes import phrase
from ua_tui.core.knowledge.search.conditions import Scope, containing, site_of
from ua_tui.core.knowledge.search.query import Query
from ua_tui.core.knowledge.search.query_words import QueryWords


def ask_of(query: Query, scope: Scope, words: QueryWords) -> dict[str, Any]:
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
