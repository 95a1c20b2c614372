"""Visits everything in a tool's result: every list in it is a candidate for a list of search results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ua_tui.core.json_values import JsonMapping, JsonObject, object_in, text_in, value_in
from ua_tui.observers.decoding.decode import MAX_DEPTH, decode_text
from ua_tui.observers.decoding.truncated_json import CUT_OFF
from ua_tui.observers.decoding.urls import is_web_url
from ua_tui.observers.search.addresses import with_addresses
from ua_tui.observers.search.items import (
    columns_of,
    is_described,
    is_full_row,
    is_row,
    opened,
    url_of,
)
from ua_tui.observers.search.keys import GROUPS, KINDS, SKIPPED, WRAPPERS, fold
from ua_tui.observers.search.scope import Scope, executed_in, has_own_query, learn, responses_of
from ua_tui.observers.search.verdict import (
    PLAIN_NAMES,
    WORDLESS,
    Verdict,
    is_named,
    verdict_on,
)

_PICTURES = frozenset(("images", "photos"))


class Candidate(msgspec.Struct, frozen=True):
    """A list of a result, and whether it is one of search results.

    A list that is `named` as one may have rows without an address.
    """

    scope: Scope
    place: str
    items: list[Any]
    verdict: Verdict
    named: bool = False


def documents_of(values: Sequence[Any], scope: Scope) -> list[Any]:
    """The documents of a result; rows that came as a document each are put into one list."""
    rows: list[Any] = []
    others: list[Any] = []
    for value in values:
        (rows if is_row(value) and _rows_of(value, "", scope) is None else others).append(value)
    if len(values) == len(rows) == 1 and (_is_page(rows[0]) or not is_full_row(rows[0])):
        own = {name: item for name, item in rows[0].items() if not isinstance(item, dict | list)}
        # An encyclopedia's article is a result too, but not the address of the page of results.
        return [[own], *rows] if "abstracturl" in map(fold, own) else rows
    if scope.policy != "search" or len(rows) * 2 <= min(len(values), 3):
        return list(values)
    return [rows, *others]


def _is_page(value: Any) -> bool:
    """Whether an object says something of itself and yet is the page that the results are on."""
    has_address = isinstance(value, dict) and url_of(value) is not None
    for key, item in value.items() if isinstance(value, dict) else ():
        name = fold(key)
        may_hold = name in GROUPS or name in KINDS if has_address else name not in SKIPPED
        is_list = isinstance(item, list) and KINDS.get(name) not in WORDLESS
        if may_hold and is_list and any(map(is_row, item[:8])):
            return True
        if not has_address and _is_page(item):
            return True
    return False


class Walk:
    """A visit of everything in one result, in order and to a limited depth, that collects its lists."""

    def __init__(self, outer: Scope, inner: Sequence[Scope]) -> None:
        self._inner = inner
        self.scopes = [outer]
        self.candidates: list[Candidate] = []

    def another(self, scope: Scope) -> Scope:
        """The scope of one of several searches that one tool ran."""
        own = Scope(
            scope.tool,
            scope.policy,
            name=scope.name,
            arguments=scope.arguments,
            server_kind=scope.server_kind,
        )
        self.scopes.append(own)
        return own

    def visit(self, value: Any, key: str, path: tuple[str, ...], scope: Scope) -> None:
        """Visit a value with its folded key and the keys above it, in the search that it belongs to."""
        if len(path) > MAX_DEPTH or scope.policy == "never":
            return
        match value:
            case str():
                self._visit_text(value, key, path, scope)
            case dict():
                self._visit_object(value, key, path, scope)
            case list():
                self._visit_list(value, key, path, scope)

    def _visit_text(self, text: str, key: str, path: tuple[str, ...], scope: Scope) -> None:
        searches = scope.policy == "search"
        is_read = key in WRAPPERS and searches and bool(path)
        if text.lstrip()[:2].strip('"')[:1] not in ("{", "["):
            prose = text
        elif key in WRAPPERS or (searches and text[-1:] in ("}", "]", '"')):
            part = decode_text(text)
            for item in documents_of(part.values, scope):
                self.visit(item, "", (*path, key), scope)
            prose = part.prose
        else:
            return
        if is_read and prose:
            scope.texts.append(prose)

    def _visit_object(self, value: JsonObject, key: str, path: tuple[str, ...], scope: Scope) -> None:
        searches = scope.policy == "search"
        executed = executed_in(value, scope, self._inner, self.scopes)
        if executed is not None:
            for item in responses_of(value):
                self.visit(item, "response", path, executed)
            return
        if not searches and "title" in object_in(value, "feed"):
            return
        learn(value, scope)
        if searches and (rows := _rows_of(value, key, scope)) is not None:
            kind = verdict_on(rows, key, path, scope).kind or "web"
            self._take(rows, Verdict(kind, "it is an object with a result under each name"), path, scope)
            return
        # The pictures of a result, such as a hotel, show what it describes.
        skipped = SKIPPED | _PICTURES if is_row(value) else SKIPPED
        for name, item in value.items():
            if isinstance(item, dict | list | str) and (folded := fold(name)) not in skipped:
                self.visit(item, folded, (*path, folded), scope)

    def _visit_list(self, value: list[Any], key: str, path: tuple[str, ...], scope: Scope) -> None:
        if not value:
            scope.marked = scope.marked or not path
            return
        if scope.policy == "search":
            if all(isinstance(item, str) and item.startswith("{") for item in value):
                value = [inner for item in value for inner in decode_text(item).values] or value
            if scope.panel is not None or scope.answer is not None:
                value = [item for item in value if not _is_shown_beside(item, scope)]
            value = with_addresses(_of_columns(value), scope)
        on_page = len(value) == 1 and key not in KINDS and key not in PLAIN_NAMES and _is_page(value[0])
        verdict = verdict_on(value, key, path, scope)
        if on_page:
            verdict = Verdict(None, "its only item is the page with the results")
        if verdict.kind is not None:
            kind = verdict.kind
            items, others = opened(value, kind, images=kind == "images")
            items = [item for item in items if not _is_cut_in_its_address(item)]
            if items:
                self._take(items, verdict, path, scope, named=is_named(key, kind, scope))
            for name, group in others:
                self.visit(group, name, (*path, name), scope)
            return
        self._take(value, verdict, path, scope)
        scope.answered = True
        several = sum(map(has_own_query, value[:8])) > 1
        for item in value:
            if isinstance(item, dict | list):
                self.visit(item, key, (*path, "[]"), self.another(scope) if several else scope)
        objects = [item for item in value if isinstance(item, dict) and item]
        if objects and not any(CUT_OFF in item for item in objects):
            scope.other_lists = True

    def _take(
        self, items: list[Any], verdict: Verdict, path: tuple[str, ...], scope: Scope, named: bool = False
    ) -> None:
        place = ".".join(path).replace(".[]", "[]")
        self.candidates.append(Candidate(scope, place, items, verdict, named))


def _is_shown_beside(item: Any, scope: Scope) -> bool:
    """Whether an item is the panel or the answer of its search, and no result."""
    if item is scope.panel:
        return item is not None
    answer = text_in(item, "answer")
    return bool(answer) and answer == scope.answer and "title" not in columns_of(item)


def _is_cut_in_its_address(item: Any) -> bool:
    """Whether what is left of an item ends within its address, which then is that of another page or of none."""
    cut = value_in(item, CUT_OFF)
    return isinstance(cut, str) and (url := url_of(item)) is not None and item.get(cut) == url


def _of_columns(value: list[Any]) -> list[Any]:
    """The rows of a list that has the question, the titles, the texts and the addresses one after the other."""
    match value:
        case [str(), [*titles], [*snippets], [*urls]] if urls and len(titles) == len(snippets) == len(urls):
            columns = zip(titles, snippets, urls, strict=True)
            return [{"title": title, "snippet": text, "url": url} for title, text, url in columns]
        case _:
            return value


def _rows_of(value: JsonMapping, key: str, scope: Scope) -> list[Any] | None:
    """The rows of an object that has them under their own names, addresses or numbers."""
    named = {name: item for name, item in value.items() if item and name != "uids"}
    if len(named) < 2 or not all(isinstance(item, dict) for item in named.values()):
        return None
    rows = [{"url": name} | item if is_web_url(name) else item for name, item in named.items()]
    rows = with_addresses(rows, scope)
    found = all(map(is_row, rows[:8])) or (key == "pages" and all(map(is_described, rows)))
    return rows if found else None
