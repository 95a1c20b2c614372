"""Finds the lists of search results in a tool's result.

Every list is a candidate: its items get their addresses, then its name and its items decide whether it is one of
results, and of which kind, and rows are made of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from ua_tui.core.json_values import JsonObject, object_in
from ua_tui.core.observation import ToolCall
from ua_tui.observers.decoding.decode import Decoded
from ua_tui.observers.decoding.urls import normal_form
from ua_tui.observers.search.addresses import with_addresses
from ua_tui.observers.search.items import is_full_row, url_of
from ua_tui.observers.search.rows import normalise, set_missing_sources
from ua_tui.observers.search.scope import (
    Scope,
    answer_before,
    answer_in,
    error_in,
    inner_calls,
    only_asks,
    query_in,
    says_nothing_found,
    scope_of,
)
from ua_tui.observers.search.text.blocks import sections_in_text
from ua_tui.observers.search.verdict import WORDLESS, named_kind
from ua_tui.observers.search.walk import Candidate, Walk, documents_of

UNREAD = "unread"
"""The kind of a page that stands for the answer of a search that no rule reads."""

_PANEL = ("title", "url", "source", "date", "snippet", "extra")
_NO_PASSAGE = {"position", "title", "url", "extra"}
"""The columns of a row that are not taken over when its text is added to another row."""


class ResultPage(msgspec.Struct, eq=False):
    """The rows of one list of one search; without items it says that the search found nothing, failed, or is unread.

    `beside` is what the provider shows beside its results, on the first page of its search.
    """

    scope: Scope
    kind: str
    items: list[Any] = []
    rows: list[JsonObject] = []
    rejected: int = 0
    beside: JsonObject = {}


class Recognised(msgspec.Struct):
    """The pages of results in a tool's result, and all lists that were candidates for one."""

    pages: list[ResultPage]
    candidates: list[Candidate]


def recognise(call: ToolCall, decoded: Decoded, now: datetime) -> Recognised:
    """Find every list of results; a search that found nothing or failed gives one page without items."""
    outer = scope_of(call)
    walk = Walk(outer, inner_calls(call))
    several = sum(map(only_asks, decoded.values[:10_000])) > 1
    scope = outer
    for value in documents_of(decoded.values, outer):
        if several and only_asks(value):
            # A document that only has a query begins another search.
            scope = walk.another(outer)
            scope.query = query_in(value)
        walk.visit(value, "", (), scope)
    pages = _with_passages(_without_repeats(_pages_of(walk.candidates, now)))
    if not pages and outer.policy != "never":
        pages = _in_prose(decoded.prose, outer, now)
    elif decoded.prose and pages and (several or all(page.scope is outer for page in pages)):
        last = pages[-1].scope
        last.answer = last.answer or answer_in(decoded.prose)
    for scope in walk.scopes:
        own = [page for page in pages if page.scope is scope]
        if not own and scope.policy == "search":
            own = _in_prose("\n".join(scope.texts), scope, now) or _without_results(
                scope, walk.scopes, decoded
            )
            pages += own
        if own:
            min(own, key=lambda page: page.kind in WORDLESS).beside = _beside(scope, now)
    return Recognised(pages, walk.candidates)


def _pages_of(candidates: list[Candidate], now: datetime) -> list[ResultPage]:
    """The rows of the lists of results, each list once; those without any address only where there is no other."""
    found: dict[tuple[str, int, str], tuple[Candidate, ResultPage]] = {}
    for each in candidates:
        if (kind := each.verdict.kind) is not None:
            made = normalise(each.items, kind, now, named=each.named)
            page = ResultPage(each.scope, kind, each.items, *made)
            if page.rows:
                found.setdefault((kind, len(each.items), repr(each.items)), (each, page))
    strong = {id(each.scope) for each, page in found.values() if each.named or _addresses_of(page)}
    return [
        page
        for each, page in found.values()
        if each.named or _addresses_of(page) or id(each.scope) not in strong
    ]


def _addresses_of(page: ResultPage) -> set[str]:
    return {row["url"] for row in page.rows if row["url"] is not None}


def _without_repeats(pages: list[ResultPage]) -> list[ResultPage]:
    """The pages without bare lists of addresses that another page of the same search says more of."""
    said: dict[int, set[str | None]] = {}
    for page in pages:
        described = {row["url"] for row in page.rows if row["title"] or row["snippet"]}
        said.setdefault(id(page.scope), set()).update(described)
    return [
        page
        for page in pages
        if not page.rows
        or any(row["title"] or row["snippet"] or row["url"] not in said[id(page.scope)] for row in page.rows)
    ]


def _with_passages(pages: list[ResultPage]) -> list[ResultPage]:
    """The pages without lists of texts of results that another page of the same search has with their titles.

    Such texts are added to those results.
    """
    titled: dict[tuple[int, str | None], tuple[ResultPage, JsonObject]] = {}
    for page in pages:
        for row in page.rows if page.kind not in WORDLESS else ():
            if row["title"] and row["url"]:
                titled.setdefault((id(page.scope), row["url"]), (page, row))
    kept: list[ResultPage] = []
    for page in pages:
        same = [titled.get((id(page.scope), row["url"])) for row in page.rows if not row["title"]]
        known = [each for each in same if each is not None and page.kind in ("web", each[0].kind)]
        if not page.rows or len(known) < len(page.rows):
            kept.append(page)
            continue
        for row, (_, result) in zip(page.rows, known, strict=True):
            said = {name: row[name] for name in row.keys() - _NO_PASSAGE if row[name] is not None}
            result["extra"].setdefault("passages", []).append(said | row["extra"])
        # They belong to what this result is known by.
        first = known[0][0]
        first.items, first.rejected = [*first.items, *page.items], first.rejected + page.rejected
    return kept


def _beside(scope: Scope, now: datetime) -> JsonObject:
    """The panel about the subject of a search, in the columns of a row, and the further searches it suggests."""
    beside: JsonObject = {}
    if (panel := scope.panel) is not None:
        if url_of(panel) is None and (url := url_of(object_in(panel, "source"))) is not None:
            panel = {"url": url, **panel}
        rows, _ = normalise([dict(panel)], "web", now, named=True)
        if rows and rows[0]["title"] is not None:
            if (url := rows[0]["url"]) is not None:
                set_missing_sources(rows, [normal_form(url)])
            beside["knowledge_panel"] = {column: rows[0][column] for column in _PANEL}
    return beside | ({"related_searches": scope.related} if scope.related else {})


def _without_results(scope: Scope, scopes: Sequence[Scope], decoded: Decoded) -> list[ResultPage]:
    """A page that says what came instead of results: nothing, an error, or an answer that no rule reads."""
    text = "\n".join(scope.texts)
    if scope is scopes[0]:
        if len(scopes) > 1:
            return []
        text = decoded.prose
        wraps = all(isinstance(value, dict) and value.keys() == {"result"} for value in decoded.values)
        if wraps and decoded.problem is None:
            scope.error = scope.error or error_in(text)
            scope.marked = scope.error is None and says_nothing_found(text)
    if scope.error is not None and not (scope.marked or says_nothing_found(scope.error)):
        return [ResultPage(scope, "error")]
    if scope.error is not None or scope.panel is not None or (scope.marked and not scope.other_lists):
        return [ResultPage(scope, named_kind(scope) or "web")]
    return [ResultPage(scope, UNREAD)] if text.strip() or scope.answered else []


def _in_prose(prose: str, scope: Scope, now: datetime) -> list[ResultPage]:
    """The pages of a search that answers in words; a tool not known for one has to be clear about them."""
    is_search = scope.policy == "search"
    sections = sections_in_text(prose) if is_search or "://" in prose else []
    rows = [item for section in sections for item in section.items]
    if not is_search and (len(rows) < 2 or not all(map(is_full_row, rows))):
        return []
    bare = all(section.bare for section in sections)
    if sections and scope.answer is None:
        head = prose[: sections[0].start]
        scope.answer = answer_in(head) if bare else answer_before(head)
    kind = "web_answer" if bare and scope.answer else named_kind(scope) or "web"
    pages = []
    for section in sections:
        items = with_addresses(section.items, scope) if is_search else section.items
        page = ResultPage(scope, section.kind or kind, items, *normalise(items, section.kind or kind, now))
        if page.rows:
            pages.append(page)
    return pages
