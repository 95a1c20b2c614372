"""Whether a list is a list of search results, by its names and its items, and what kind of results it has."""

from __future__ import annotations

from typing import Any, NamedTuple

from ua_tui.core.json_values import text_in, value_in
from ua_tui.observers.decoding.urls import is_web_url
from ua_tui.observers.search.items import is_described, is_full_row, is_row, is_titled
from ua_tui.observers.search.keys import KINDS, PANELS, SURE, fold, listed
from ua_tui.observers.search.privacy import is_public_search
from ua_tui.observers.search.scope import Scope, has_own_query
from ua_tui.observers.search.tool_names import kind_of_name

WORDLESS = ("images", "videos")
"""The kinds whose rows need no text."""
PLAIN_NAMES = frozenset(("", *listed("plain")))
"""The names of lists, folded, that only say that there is a list."""
_OWN_VERTICAL = ("web", "webresults", "webpages")
_SAMPLE = 32
_LONGEST_TEXT = 5_000
"""A result of a search has less text; a page that was read has more."""


class Verdict(NamedTuple):
    """The kind of results in a list, None when it has none, and why, for a person."""

    kind: str | None
    why: str


def verdict_on(value: list[Any], key: str, path: tuple[str, ...], scope: Scope) -> Verdict:
    """Judge a list by its folded name, the names above it, and the first and the last of its items."""
    kind = next((found for name in reversed(path) if (found := KINDS.get(name))), None)
    if kind in (None, "web") and scope.policy == "search" and key not in _OWN_VERTICAL:
        named = named_kind(scope)
        kind = named if named in WORDLESS else kind
    sample = value if len(value) <= 2 * _SAMPLE else [*value[:_SAMPLE], *value[-_SAMPLE:]]
    own = _Listed(sample, key, path, kind)
    if not value or all(isinstance(item, str) for item in sample):
        bare = _kind_of_addresses(own, scope) if value else None
        return Verdict(bare, "it only has addresses" if bare else "it has no objects")
    promised = refined_kind(kind, key, value, scope)
    if key == "references" and not scope.answer and not any(map(is_row, sample)):
        return Verdict(None, "it only has addresses, and no answer that cites them")
    if scope.policy != "search":
        is_taken, problem = _is_of_pages(own), "too few of its items look like web pages"
    else:
        is_taken = _is_of_search(own, scope, named=is_named(key, promised, scope))
        problem = "too few of its items have an address and a title or text"
    return (
        Verdict(promised, "its items have an address and a title or text")
        if is_taken
        else Verdict(None, problem)
    )


class _Listed(NamedTuple):
    """A list that may be one of results: some of its items, its names, and the kind that they suggest."""

    sample: list[Any]
    key: str
    path: tuple[str, ...]
    kind: str | None

    def rows(self) -> int:
        """How many items are results by themselves."""
        named = self.kind is not None or self.key == "sources"
        return sum(1 for item in self.sample if is_row(item, images=self.kind == "images", named=named))


def _is_of_pages(own: _Listed) -> bool:
    """Whether a list of a tool that is not named for a search has results: most of its items look like pages."""
    if own.key in SURE:
        return own.rows() > 0
    may_have = own.kind != "images" and own.key != "links"
    return may_have and 0 < len(own.sample) <= 2 * sum(map(_looks_like_page, own.sample))


def _is_of_search(own: _Listed, scope: Scope, *, named: bool) -> bool:
    """Whether a list of a search is one of results; one that is `named` so may have rows without an address."""
    sample, key = own.sample, own.key
    rows = own.rows()
    if key in SURE:
        return rows > 0 or not any(isinstance(item, list) or has_own_query(item) for item in sample)
    if rows * 2 < len(sample):
        if named and (rows + sum(map(is_titled, sample))) * 2 > len(sample):
            return True
        is_plain = is_public_search(scope.name) and key in PLAIN_NAMES and PANELS.isdisjoint(own.path)
        if is_plain and sum(map(is_described, sample)) * 2 > len(sample):
            return True
    return _has_rows(own, rows)


def _has_rows(own: _Listed, rows: int) -> bool:
    """Whether enough items of a list are results, or group some."""
    sample, key = own.sample, own.key
    if (rows == 0 and own.kind is None) or all(map(has_own_query, sample)):
        return False
    # A few links do not make a list of results of one that has another name than such lists have.
    is_few = rows < 3 and rows * 2 < len(sample)
    return rows > 0 and (not is_few or key in KINDS or key in PLAIN_NAMES)


def refined_kind(kind: str | None, key: str, value: list[Any], scope: Scope) -> str:
    """The kind of a list of results: `kind`, from its names, or a more specific one from the search or the rows."""
    if key == "sources" and scope.answer:
        return "web_answer"
    if key == "articles" and named_kind(scope) == "scholar":
        return "scholar"
    if kind not in (None, "web") or key in _OWN_VERTICAL:
        return kind or "web"
    if named := named_kind(scope):
        return named
    names = [set(map(fold, item)) for item in value[:4] if isinstance(item, dict)]
    if any(not found.isdisjoint(listed("scholarly")) for found in names):
        return "scholar"
    first = text_in(value[0], "type")
    if first and all(value_in(item, "type") == first for item in value[:8]):
        return kind_of_name(first[:64])
    return "web"


def named_kind(scope: Scope) -> str | None:
    """The kind that the name of the engine, the tool or the server suggests, in this order."""
    kinds = (kind_of_name(scope.engine[:64]), kind_of_name(scope.tool), scope.server_kind)
    return next((kind for kind in kinds if kind != "web"), None)


def is_named(key: str, kind: str, scope: Scope) -> bool:
    """Whether the name of a list, or the name of its search, shows that it contains results."""
    if scope.policy != "search":
        return False
    return key in SURE or KINDS.get(key, "web") != "web" or (kind != "web" and key in PLAIN_NAMES)


def _kind_of_addresses(own: _Listed, scope: Scope) -> str | None:
    """The kind of a list of bare URLs: the ones that an answer cites, or images."""
    if scope.policy != "search":
        return None
    if own.key in listed("answered"):
        return "web_answer" if scope.answer and any(map(is_web_url, own.sample)) else None
    is_shown = own.key in SURE or (own.kind == "images" and is_web_url(own.sample[0]))
    return own.kind if is_shown else None


def _looks_like_page(item: Any) -> bool:
    """Whether an item must be a page of the web, whatever tool returned it, and not one that was read."""
    if not isinstance(item, dict) or not is_full_row(item):
        return False
    return not any(isinstance(value, str) and len(value) > _LONGEST_TEXT for value in item.values())
