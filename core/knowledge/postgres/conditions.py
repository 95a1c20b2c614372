"""The conditions of SQL that a search makes on the documents of a team's knowledge base."""

from __future__ import annotations

from collections.abc import Iterable

from ua_tui.core.knowledge.index.preparing import storable
from ua_tui.core.knowledge.postgres.connection import Connection
from ua_tui.core.knowledge.postgres.lexemes import term_query
from ua_tui.core.knowledge.search.conditions import Conditions, containing
from ua_tui.core.knowledge.search.database import Ask, Filters, Term

READABLE = "(d.shared OR d.owner = (SELECT k_reader()) OR (SELECT k_reader()) IS NULL)"
"""What may be read of documents `d`: row-level security lets a worker read everything, also for somebody else."""
HAS = "d.id IN (SELECT document FROM k_matches(%s::text[]::tsquery[], '{}'))"
"""Whether a document has one of some terms, as texts of queries."""


def conditions_of(filters: Filters, without: Iterable[Term]) -> Conditions:
    """The conditions on documents `d` that filters and excluded words make."""
    found = Conditions()
    for kinds in filters.kinds:
        found.add("d.kind = ANY(%s)", [*kinds])
    for sites in filters.sites:
        found.add("'.' || d.site || '.' LIKE ANY(%s)", _patterns(sites))
    if filters.sessions:
        name, title = "substring(name from '[^/]*$') ILIKE ANY(%s)", "title ILIKE ANY(%s)"
        found.add(
            f"d.session IN (SELECT id FROM k_session WHERE {name} OR {title})",  # noqa: S608 -- made of constants
            *[_patterns(filters.sessions)] * 2,
        )
    if filters.tools:
        found.add(
            "d.call IN (SELECT id FROM k_call WHERE tool ILIKE ANY(%s) OR slug ILIKE ANY(%s))",
            *[_patterns(filters.tools)] * 2,
        )
    named = "(SELECT id FROM k_session WHERE name = %s)"
    if filters.session:
        found.add(f"d.session = {named}", storable(filters.session))
    if filters.without_session:
        found.add(f"d.session IS DISTINCT FROM {named}", storable(filters.without_session))
    if filters.demo is not None:
        found.add("d.session IN (SELECT id FROM k_session WHERE demo = %s)", filters.demo)
    if filters.since is not None:
        found.add("d.made_at >= %s", filters.since)
    if filters.until is not None:
        found.add("d.made_at <= %s", filters.until)
    for first, last in filters.published:
        day = 'left(d.date, 10) COLLATE "C"'
        found.add(f"d.date ~ '^[12][0-9]{{3}}' AND {day} BETWEEN %s AND %s", first, last or "9")
    excluded = [*map(term_query, without)]
    if excluded:
        found.add(f"NOT {HAS}", excluded)
    return found


def _patterns(texts: Iterable[str]) -> list[str]:
    return [containing(storable(text)) for text in texts]


def matching(db: Connection, ask: Ask, url: str) -> list[int]:
    """The numbers of documents with an address, if it is given, for which the filters hold, and with all words."""
    found = conditions_of(ask.filters, ask.without)
    if url:
        found.add("d.url = %s", url)
    for term in ask.all_of:
        found.add(HAS, [term_query(term)])
    statement = f"SELECT d.id FROM k_document d{found.sql('WHERE')}"  # noqa: S608 -- made of constants
    return [number for (number,) in db.execute(statement.encode(), found.values)]
