"""The kind of results in a list, from its names, its rows and the search that returned it."""

from __future__ import annotations

from typing import Any, NamedTuple

from ua_tui.observers.decoding.urls import is_web_url
from ua_tui.observers.search.flatten import (
    is_described,
    is_full_row,
    is_group,
    is_row,
    is_titled,
    kind_of_word,
)
from ua_tui.observers.search.keys import KINDS, PANELS, SURE, fold, word_set
from ua_tui.observers.search.metadata import has_own_query
from ua_tui.observers.search.privacy import has_private_fields, is_private_name, is_public_search
from ua_tui.observers.search.scope import Scope
from ua_tui.observers.search.tool_names import Policy, kind_of_name

WORDLESS = ("images", "videos")
"""The kinds whose rows need no text."""

_ANSWERED = ("citations", "references", "sources", "annotations", "groundingchunks")
PLAIN_NAMES = word_set(
    "results items data docs hits entries records value documents response result search pages ads"
) | {""}
"""The names of lists, folded, that only say that there is a list."""
_OWN_VERTICAL = ("web", "webresults", "webpages")
_FILMED = ({"duration", "viewcount"}, {"duration", "thumbnailurl"}, {"mutatedbygoggles", "thumbnailurl"})
_PICTURED = frozenset({"hostpageurl", "contenturl", "thumbnailurl"})
_SCHOLARLY = frozenset(
    {
        "publicationinfo",
        "abstractinvertedindex",
        "authorships",
        "containertitle",
        "citationcount",
        "externalids",
        "publicationnumber",
        "paperid",
    }
)

_VAGUE = ("searchresults", "searchresult")
_IDS = ("id", "uuid")
_OF_PAGES = word_set("snippet source")
_LONGEST_TEXT = 5_000
"""A result of a search has less text; a page that was read has more."""
_STAMPS = word_set("createdat createdtime createddate createdon updatedat updatedtime insertedat modifiedat")


def kind_of_list(value: list[Any], key: str, path: tuple[str, ...], scope: Scope) -> str | None:
    """The kind of results in a list, or None when it is not a list of results."""
    if not value:
        return None
    kind = _kind_of_names(key, path, scope)
    sample = value if len(value) <= 64 else [*value[:32], *value[-32:]]
    listed = _Listed(sample, key, path, kind)
    if all(isinstance(item, str) for item in sample):
        return _kind_of_addresses(listed, scope)
    if scope.policy is not Policy.SEARCH:
        return refined_kind(kind, key, value, scope) if _is_of_any_tool(listed) else None
    promised = refined_kind(kind, key, value, scope)
    return promised if _is_of_search(listed, scope, named=is_named(key, promised, scope)) else None


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


def _kind_of_names(key: str, path: tuple[str, ...], scope: Scope) -> str | None:
    kind = next((found for name in reversed(path) if (found := KINDS.get(name) or _of_results(name))), None)
    if kind not in (None, "web") or scope.policy is not Policy.SEARCH or key in _OWN_VERTICAL:
        return kind
    promised = named_kind(scope)
    return promised if promised in WORDLESS else kind


def _is_of_any_tool(listed: _Listed) -> bool:
    """Whether a list is one of results although its tool may be none that searches."""
    pages = 0 if listed.kind == "images" else sum(map(_looks_like_page, listed.sample))
    if listed.key not in SURE:
        is_of_records = listed.key == "links" or any(map(is_private_name, (listed.key, *listed.path)))
        return not is_of_records and 0 < len(listed.sample) <= 2 * pages
    if listed.key in _VAGUE and pages == 0:
        return False
    rows = listed.rows()
    return rows > 0 or _has_rows(listed, rows)


def _is_of_search(listed: _Listed, scope: Scope, *, named: bool) -> bool:
    """Whether a list of a search is one of results; one that is `named` so may have rows without an address."""
    sample, key = listed.sample, listed.key
    rows = listed.rows()
    if key in SURE:
        return rows > 0 or not any(isinstance(item, list) or has_own_query(item) for item in sample)
    if rows * 2 < len(sample):
        if named and (rows + sum(map(is_titled, sample))) * 2 > len(sample):
            return True
        is_plain = is_public_search(scope.name) and key in PLAIN_NAMES and PANELS.isdisjoint(listed.path)
        if is_plain and sum(map(is_described, sample)) * 2 > len(sample):
            return True
    return _has_rows(listed, rows)


def _has_rows(listed: _Listed, rows: int) -> bool:
    """Whether enough items of a list are results, or group some."""
    sample, key = listed.sample, listed.key
    if (rows == 0 and listed.kind is None) or all(map(has_own_query, sample)):
        return False
    if rows < 3:
        rows += sum(map(is_group, sample))
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
    if any(not _SCHOLARLY.isdisjoint(found) for found in names):
        return "scholar"
    if names and all(found >= _PICTURED and "duration" not in found for found in names):
        return "images"
    return kind_of_name(value[0]["type"][:64]) if _alike(value) else "web"


def named_kind(scope: Scope) -> str | None:
    """The kind that the name of the engine, the tool or the server suggests, in this order."""
    kinds = (kind_of_name(scope.engine[:64]), kind_of_name(scope.tool), scope.server_kind)
    return next((kind for kind in kinds if kind != "web"), None)


def is_named(key: str, kind: str, scope: Scope) -> bool:
    """Whether the name of a list, or the name of its search, shows that it contains results."""
    if scope.policy is not Policy.SEARCH:
        return False
    return key in SURE or KINDS.get(key, "web") != "web" or (kind != "web" and key in PLAIN_NAMES)


def kind_of_row(value: Any) -> str:
    """The vertical that a single result names, or an empty string."""
    if not isinstance(value, dict):
        return ""
    names = {fold(key) for key in value}
    if "question" in names:
        return "questions"
    if any(names >= marks for marks in _FILMED):
        return "videos"
    return "news" if {"breaking", "islive"} & names else kind_of_word(value.get("type")) or ""


def _of_results(name: str) -> str | None:
    """The kind of a list whose unknown name shows that it contains results, such as `kin_results`."""
    stem = name.removesuffix("results")
    return (kind_of_word(stem) or "web") if stem not in ("", name) else None


def _kind_of_addresses(listed: _Listed, scope: Scope) -> str | None:
    """The kind of a list of bare URLs: the ones that an answer cites, or images."""
    if scope.policy is not Policy.SEARCH:
        return None
    if listed.key in _ANSWERED:
        return "web_answer" if scope.answer and any(map(is_web_url, listed.sample)) else None
    is_shown = listed.key in SURE or (listed.kind == "images" and is_web_url(listed.sample[0]))
    return listed.kind if is_shown else None


def _looks_like_page(item: Any) -> bool:
    """Whether an item must be a page of the web, whatever tool returned it, and not a record of a database."""
    if not isinstance(item, dict) or not is_full_row(item):
        return False
    fields = {fold(key): value for key, value in item.items()}
    if has_private_fields([item]) or all(str(key).isupper() for key in item):
        return False
    has_number = any(key in fields and not is_web_url(fields[key]) for key in _IDS)
    if has_number and (not _STAMPS.isdisjoint(fields) or _OF_PAGES.isdisjoint(fields)):
        return False
    if any(isinstance(value, str) and len(value) > _LONGEST_TEXT for value in item.values()):
        return False
    # A company or a project has a name and a description; a page that has a name has words around what was asked.
    return "name" not in fields or "title" in fields or "snippet" in fields


def _alike(value: list[Any]) -> bool:
    """Whether the first items of a list have the same `type`."""
    first = value[0].get("type") if isinstance(value[0], dict) else None
    return isinstance(first, str) and all(
        isinstance(item, dict) and item.get("type") == first for item in value[:8]
    )
