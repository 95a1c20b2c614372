"""One item of a list: the columns its fields belong to, its address, and its nested fields brought to the top level."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from ua_tui.core.json_values import JsonMapping, JsonObject, object_in
from ua_tui.core.text import words_of
from ua_tui.observers.decoding.truncated_json import CUT_OFF
from ua_tui.observers.decoding.urls import is_web_url
from ua_tui.observers.search.keys import (
    CLUSTERS,
    DESCRIPTIVE,
    FOREIGN,
    GROUPS,
    INSTEAD_OF_TITLES,
    KINDS,
    NO_ADDRESS,
    NO_WRAPPER,
    SKIPPED,
    field_of,
    fold,
)  # fmt: skip
from ua_tui.observers.search.scope import has_own_query

_DEEPEST = 3
_ADDRESS_ENDS = ("url", "link", "href", "uri", "pdf")
_ADDRESS_NAMES = ("url", "link", "href", "page_url")
_WRAPPERS_OF_IMAGES = ("source", "original", "page")
_LINKS = frozenset(("links", "contenturls", "externalurls"))
_PAGES_OF_LINKS = ("html", "web", "webpage", "self_html", "npm", "desktop", "spotify", "page")
_FOR_PROGRAMS = ("://api.", "api_key=", "apikey=")
_PREFERRED_TEXT = ("title", "snippet")
_TEXT_COLUMNS = frozenset(_PREFERRED_TEXT)
# A place has a telephone and a state.
_ELSEWHERE = FOREIGN - {"phone", "state", "email", "role"}
_CITATIONS = ("publicationinfo", "publication")
# The name of an entry in a service's database, such as `places/…`.
_RESOURCE = re.compile(r"(?:projects|places|folders|organizations|locations)/\S+")


class Plan(NamedTuple):
    """The columns of objects with the same keys: the keys of each column, the best first, and the other keys.

    `citation` is the key of a text with authors, journal and year.
    """

    url: tuple[str, ...]
    title: tuple[str, ...]
    source: tuple[str, ...]
    date: tuple[str, ...]
    snippet: tuple[str, ...]
    position: tuple[str, ...]
    extra: tuple[str, ...]
    citation: str | None


_COLUMNS = Plan._fields[:6]


@lru_cache(maxsize=4096)
def _plan_of_keys(keys: tuple[str, ...]) -> Plan:
    columns: dict[str, list[tuple[int, str]]] = {}
    extra: list[str] = []
    for key in keys:
        if (found := field_of(key)) is not None:
            columns.setdefault(found[0], []).append((found[1], key))
        elif key not in CLUSTERS and key != CUT_OFF:
            extra.append(key)

    def of(column: str) -> tuple[str, ...]:
        return tuple(key for _, key in sorted(columns.get(column, ()), key=lambda candidate: candidate[0]))

    if "title" not in columns:
        columns["title"] = [(0, key) for key in keys if fold(key) in INSTEAD_OF_TITLES][:1]
    citation = next((key for key in keys if fold(key) in _CITATIONS), None)
    return Plan._make((*map(of, _COLUMNS), tuple(extra), citation))


def plan_of(item: JsonMapping) -> Plan:
    """Which of an item's keys belong to which column."""
    return _plan_of_keys(tuple(item))


def url_of(item: JsonMapping) -> str | None:
    """The URL of a result, or None if it has no valid one."""
    cut = item.get(CUT_OFF)
    found = [item[key] for key in plan_of(item).url if key != cut and is_web_url(item[key])]
    if found:
        pages = [value for value in found if not _is_for_programs(value)]
        if pages or _LINKS.isdisjoint(map(fold, item)):
            return str((pages or found)[0])
    if cut is None and is_web_url(value := item.get("id")):
        return str(value)
    return None


def _is_for_programs(url: str) -> bool:
    return any(part in url for part in _FOR_PROGRAMS)


def is_resource_name(value: object) -> bool:
    """Whether a text only identifies an entry in a service, such as `places/ChIJ…`, and names nothing."""
    return isinstance(value, str) and _RESOURCE.fullmatch(value) is not None


def columns_of(item: JsonMapping) -> set[str]:
    """The columns that an item has a value for."""
    plan = plan_of(item)
    by_column: dict[str, tuple[str, ...]] = {column: getattr(plan, column) for column in _COLUMNS}
    return {
        column
        for column, keys in by_column.items()
        if any(
            item[key]
            and not (column == "snippet" and isinstance(item[key], dict))
            and not (column == "title" and is_resource_name(item[key]))
            for key in keys
        )
    }


def _says_something(item: JsonMapping) -> bool:
    """Whether an item has a title or a text."""
    return not columns_of(item).isdisjoint(_TEXT_COLUMNS)


def opened(
    items: list[Any], kind: str | None, *, images: bool = False
) -> tuple[list[Any], list[tuple[str, list[Any]]]]:
    """The items in a shape for rows, and the groups among them that are of another kind."""
    rows: list[Any] = []
    others: list[tuple[str, list[Any]]] = []
    for item in items:
        if not isinstance(item, dict) or not CLUSTERS.isdisjoint(item):
            rows.append(item)
        elif url_of(item):
            rows.append(with_inner_text(item) or item)
        elif (group := group_in(item)) is not None:
            name, inner = group
            if KINDS.get(name) not in (None, kind):
                others.append((name, inner))
            else:
                spliced, further = opened(inner, kind, images=images)
                rows += spliced
                others += further
        else:
            rows.append(lift(item, images=images) or with_inner_text(item) or item)
    return rows, others


def lift(item: JsonMapping, *, images: bool = False, depth: int = 0) -> JsonObject | None:
    """A copy of an item with the URL found inside it, or None if there is none.

    Looked at are fields named like an address, and an object that wraps the result or only links to it. What an object
    wraps comes to the top as well.
    """
    if depth >= _DEEPEST or CUT_OFF in item:
        return None
    return _named(item) or _wrapped(item, depth, images=images)


def with_inner_text(item: JsonMapping, depth: int = 0) -> JsonObject | None:
    """A copy of an item without text that has the text of an object inside it, or None."""
    if depth >= _DEEPEST or CUT_OFF in item or _says_something(item):
        return None
    inside = []
    for key, value in item.items():
        inner = value[0] if isinstance(value, list) and len(value) == 1 else value
        if isinstance(inner, dict) and CUT_OFF not in inner and fold(key) in DESCRIPTIVE:
            inner = with_inner_text(inner, depth + 1) or inner
            inside.append((key, inner, columns_of(inner)))
    for wanted in _PREFERRED_TEXT:
        for key, value, columns in inside:
            if wanted in columns and url_of(value) in (None, url_of(item)):
                return {name: other for name, other in item.items() if name != key} | value
    return None


def with_address(item: JsonMapping, url: str) -> JsonObject:
    """A copy of an item that has an address under a name for it."""
    name = next((name for name in _ADDRESS_NAMES if item.get(name) is None), _ADDRESS_NAMES[0])
    return {name: url} | {key: value for key, value in item.items() if key != name}


def _named(item: JsonMapping) -> JsonObject | None:
    """A copy of an item with the address in a field named like one; first one that begins as its title does."""
    subject = next((words_of(key)[:1] for key in plan_of(item).title), ())
    for key, value in sorted(item.items(), key=lambda field: words_of(field[0])[:1] != subject):
        if isinstance(value, str) and is_web_url(value) and not _is_for_programs(value):
            found, folded = field_of(key), fold(key)
            if (found and found[0] == "snippet") or (
                folded.endswith(_ADDRESS_ENDS) and not any(part in folded for part in NO_ADDRESS)
            ):
                rest = {other: content for other, content in item.items() if other != key}
                return with_address(rest, value)
    return None


def _page_of(links: JsonMapping) -> str | None:
    """The page among the links of a result, which may be grouped by the kind of device."""
    for name in _PAGES_OF_LINKS:
        found = links.get(name)
        page = _page_of(found) if isinstance(found, dict) else found
        if is_web_url(page):
            return str(page)
    return None


def _wrapped(item: JsonMapping, depth: int, *, images: bool) -> JsonObject | None:
    columns = columns_of(item)
    titled, has_text = "title" in columns, not _TEXT_COLUMNS.isdisjoint(columns)
    source = object_in(item, "source")
    if has_text and "title" in source and (page := url_of(source)):
        return with_address(item, page)
    links = (value for key, value in item.items() if fold(key) in _LINKS and isinstance(value, dict))
    if has_text and (page := next(filter(None, map(_page_of, links)), None)) is not None:
        return with_address(item, page)
    for key, value in item.items():
        folded = fold(key)
        in_images = images and folded in _WRAPPERS_OF_IMAGES
        may_wrap = folded not in SKIPPED and (folded not in NO_WRAPPER or key == "_source")
        if not isinstance(value, dict) or CUT_OFF in value or not (in_images or may_wrap):
            continue
        if (inner := _addressed(value, depth)) is None:
            continue
        brings = columns_of(inner) & _TEXT_COLUMNS
        if in_images or (has_text and (titled or "title" not in brings)):
            return with_address(item, str(url_of(inner)))
        if brings or len(item) == 1:
            return {name: one for name, one in item.items() if name != key and name not in inner} | inner
    return None


def _addressed(value: JsonObject, depth: int) -> JsonObject | None:
    """An object inside an item with its address, perhaps one found in it; None without one."""
    inner = value if url_of(value) else lift(value, depth=depth + 1)
    if inner is None and value.get("title") and is_web_url(value.get("source")):
        return {key: item for key, item in value.items() if key != "source"} | {"url": value["source"]}
    return inner if inner is not None and url_of(inner) is not None else None


def group_in(item: JsonMapping) -> tuple[str, list[Any]] | None:
    """The results that an item only groups, with the folded name of their list, or None."""
    for key, value in item.items():
        if isinstance(value, list) and ((name := fold(key)) in GROUPS or name.endswith("results")):
            inner = next((one for one in value[:8] if isinstance(one, dict) and one), None)
            if inner is not None and (url_of(inner) or group_in(inner) or lift(inner)):
                return name, value
    return None


def is_row(item: Any, *, images: bool = False, named: bool = False) -> bool:
    """Whether an item is a result: it has a URL, and text unless its list is `named` as results."""
    if not isinstance(item, dict):
        return False
    url = url_of(item)
    row = (with_inner_text(item) or item) if url is not None else lift(item, images=images)
    return row is not None and (named or _says_something(row))


def is_titled(item: Any) -> bool:
    """Whether an item without a URL is a row: it has a title and another field."""
    if not isinstance(item, dict) or has_own_query(item) or group_in(item) is not None or CUT_OFF in item:
        return False
    row = with_inner_text(item) or item
    if not _ELSEWHERE.isdisjoint(map(fold, row)):
        return False
    return "title" in columns_of(row) and sum(1 for value in row.values() if value) > 1


def is_described(item: Any) -> bool:
    """Whether an item without a URL is a row wherever it is: it has a title and a text."""
    return is_titled(item) and columns_of(with_inner_text(item) or item) >= _TEXT_COLUMNS


def is_full_row(item: JsonMapping) -> bool:
    """Whether an item must be a search result: it has a URL, a title and a text."""
    row = item if url_of(item) is not None else lift(item)
    if row is None or any(fold(key) in FOREIGN for key in row):
        return False
    columns = columns_of(row)
    others = ("snippet", "date", "position", "source")
    return "title" in columns and not columns.isdisjoint(others)
