"""Finds the lists of search results in a tool's result by their shape."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from operator import contains
from typing import Any, NamedTuple

from ua_tui.core.observation import ToolCall
from ua_tui.observers.decoding.decode import MAX_DEPTH, Decoded, decode_text
from ua_tui.observers.decoding.toon import has_toon
from ua_tui.observers.decoding.truncated_json import CUT_OFF
from ua_tui.observers.decoding.urls import is_web_url
from ua_tui.observers.search.addresses import with_addresses
from ua_tui.observers.search.flatten import (
    columns_of,
    is_described,
    is_full_row,
    is_group,
    is_row,
    kind_of_word,
    opened,
)
from ua_tui.observers.search.keys import GROUPS, KINDS, SKIPPED, WRAPPERS, Field, fold
from ua_tui.observers.search.metadata import (
    answer_before,
    answer_in,
    error_in,
    has_own_query,
    query_in,
    says_nothing_found,
)
from ua_tui.observers.search.result_kind import (
    PLAIN_NAMES,
    WORDLESS,
    is_named,
    kind_of_list,
    kind_of_row,
    named_kind,
    refined_kind,
)
from ua_tui.observers.search.rows import url_of
from ua_tui.observers.search.scope import (
    Scope,
    executed_in,
    inner_calls,
    learn,
    learn_beside,
    responses_of,
    runs_a_tool,
)
from ua_tui.observers.search.text.sections import sections_in_text
from ua_tui.observers.search.tool_names import Policy, kind_of_server, policy_of, short_name

UNREAD = "unread"
"""The kind of a page that stands for the text of a search that no rule reads."""

_MAX_VALUES = 2_000_000
_PICTURES = frozenset({"images", "photos"})
_MAX_DOCUMENTS = 10_000
_MOST_LEARNT_FROM = 10_000


@dataclass
class ResultPage:
    """One list of results of one search, not yet made into rows.

    `repeats` says that it may only repeat another's, `named` that it is one of results by its name, so that rows
    without an address stay, `weak` that it only counts if its search has no other list, and `leads` that
    what the provider shows beside its results belongs to this page.
    """

    scope: Scope
    kind: str
    items: list[Any] = field(default_factory=list)
    empty: bool = False
    repeats: bool = False
    named: bool = False
    weak: bool = False
    leads: bool = False


def recognise(call: ToolCall, decoded: Decoded) -> list[ResultPage]:
    """Find every list of results; a search that found nothing or failed gives one page without items."""
    outer = Scope(
        short_name(call.name),
        policy_of(call.name),
        query=query_in(call.input),
        server_kind=kind_of_server(call.name),
        name=call.name,
        arguments=call.input,
    )
    scopes = [outer]
    several = sum(map(_only_asks, decoded.values[:_MAX_DOCUMENTS])) > 1
    pages = _without_repeats(_lists_in(decoded.values, outer, inner_calls(call), scopes, several=several))
    if not pages and outer.policy is not Policy.NEVER:
        pages = _in_prose(decoded.prose, outer)
    elif decoded.prose and pages and (several or all(page.scope is outer for page in pages)):
        last = pages[-1].scope
        last.answer = last.answer or answer_in(decoded.prose)
    for scope in scopes:
        own = [page for page in pages if page.scope is scope]
        if not own and scope.policy is Policy.SEARCH:
            own = _without_lists(scope, scopes, decoded)
            pages += own
        leading = min(own, key=lambda page: page.kind in WORDLESS, default=None)
        if leading is not None:
            leading.leads = True
    return pages


def _without_lists(scope: Scope, scopes: Sequence[Scope], decoded: Decoded) -> list[ResultPage]:
    """The pages of a search without a list of results: those in its texts, or one that says what came instead."""
    return (
        _in_prose("\n".join(scope.texts), scope)
        or _page_without_results(scope, scopes, decoded)
        or _unread(scope, scopes, decoded)
    )


def _lists_in(
    values: Sequence[Any], outer: Scope, inner: Sequence[Scope], scopes: list[Scope], *, several: bool
) -> list[ResultPage]:
    """Every list of results in some documents, each once; searches that ran inside the call join `scopes`.

    With `several`, a document that only has a query begins another search.
    """
    pages: list[ResultPage] = []
    scope = outer
    for value in _documents(values, outer):
        if several and _only_asks(value):
            scope = _own(outer, scopes)
            scope.query = query_in(value)
        pages += _Walk(scope, inner, scopes).pages_of(value)
    return _each_once(pages)


def _each_once(pages: Sequence[ResultPage]) -> list[ResultPage]:
    """The lists without those that are the same as one before."""
    outlines = [(page.kind, len(page.items)) for page in pages]
    alike = Counter(outlines)
    found: dict[tuple[tuple[str, int], str], ResultPage] = {}
    for outline, page in zip(outlines, pages, strict=True):
        # Whole lists are only written out where another has as many items.
        content = json.dumps(page.items, sort_keys=True) if alike[outline] > 1 else ""
        found.setdefault((outline, content), page)
    return list(found.values())


def _page_without_results(scope: Scope, scopes: Sequence[Scope], decoded: Decoded) -> list[ResultPage]:
    """The page of a search without results, or none when nothing says that this is one."""
    if scope is scopes[0]:
        if len(scopes) > 1:
            return []
        if all(_only_wraps(value) for value in decoded.values) and decoded.problem is None:
            scope.error = scope.error or error_in(decoded.prose)
            scope.marked = scope.error is None and says_nothing_found(decoded.prose)
    if scope.error is not None or scope.panel is not None or (scope.marked and not scope.other_lists):
        return [ResultPage(scope, "error" if _failed(scope) else named_kind(scope) or "web", empty=True)]
    return []


def _unread(scope: Scope, scopes: Sequence[Scope], decoded: Decoded) -> list[ResultPage]:
    """A page for the text of a search that no rule reads, or none when it has no text."""
    if scope is not scopes[0]:
        has_text = any(text.strip() for text in scope.texts)
    else:
        has_text = len(scopes) == 1 and bool(decoded.prose.strip())
    return [ResultPage(scope, UNREAD, empty=True)] if has_text else []


def _only_asks(value: Any) -> bool:
    """Whether a document is the arguments of a search, whose results are in the next one."""
    return has_own_query(value) and not any(isinstance(item, dict | list) for item in value.values())


def _only_wraps(value: Any) -> bool:
    """Whether a document holds nothing but the words of a result, which are read as such."""
    return isinstance(value, dict) and len(value) <= 2 and isinstance(value.get("result"), str)


def _failed(scope: Scope) -> bool:
    """A page that says it found nothing has an error text with some providers, and is a page all the same."""
    return scope.error is not None and not (scope.marked or says_nothing_found(scope.error))


def _in_prose(prose: str, scope: Scope) -> list[ResultPage]:
    """The pages of a search that answers in words; a tool not known for one has to be clear about them."""
    is_search = scope.policy is Policy.SEARCH
    sections = sections_in_text(prose) if is_search or "://" in prose else []
    if is_search:
        for section in sections:
            section.items = with_addresses(section.items, scope)
    else:
        rows = [item for section in sections for item in section.items]
        if len(rows) < 2 or not all(is_full_row(item) for item in rows):
            return []
    bare = all(section.bare for section in sections)
    if sections and scope.answer is None:
        head = prose[: sections[0].start]
        scope.answer = answer_in(head) if bare else answer_before(head)
    kind = "web_answer" if bare and scope.answer else named_kind(scope) or "web"
    return [ResultPage(scope, section.kind or kind, section.items) for section in sections]


def _documents(values: Sequence[Any], scope: Scope) -> list[Any]:
    """The documents of a result; rows that came as a document each are put into one list a vertical."""
    rows = [value for value in values if is_row(value, images=False, named=False)]
    if len(values) == len(rows) == 1:
        row = rows[0]
        if _is_page(row):
            own = {name: item for name, item in row.items() if not isinstance(item, dict | list)}
            # An encyclopedia's article is a result too, but not the address of the page of results.
            return [[own], row] if "abstracturl" in map(fold, own) else [row]
        if not is_full_row(row):
            return [row]
    if scope.policy is not Policy.SEARCH or not rows or len(rows) * 2 < len(values):
        return list(values)
    lists: dict[str, list[Any]] = {}
    for value in values:
        lists.setdefault(kind_of_row(value), []).append(value)
    return [{kind: items} if kind else items for kind, items in lists.items()]


def _is_page(value: Any) -> bool:
    """Whether an object says something of itself and yet is the page that the results are on."""
    return isinstance(value, dict) and any(
        _is_list_of_rows(item, fold(key), named=url_of(value) is not None)
        if isinstance(item, list)
        else url_of(value) is None and _is_page(item)
        for key, item in value.items()
    )


def _has_pictures_of_itself(value: Mapping[str, Any], scope: Scope) -> bool:
    """Whether the pictures in an object show what it describes, such as a hotel, and are no results."""
    return (
        not _PICTURES.isdisjoint(value)
        and named_kind(scope) not in WORDLESS
        and is_row(value, images=False, named=False)
        and not _is_page(value)
    )


def _is_list_of_rows(value: list[Any], key: str, *, named: bool) -> bool:
    """Whether a list has results in it; with `named` only if that is what its name says."""
    return (
        (key in GROUPS or key in KINDS if named else key not in SKIPPED)
        and KINDS.get(key) not in WORDLESS
        and any(is_row(row, images=False, named=False) or is_group(row) for row in value[:8])
    )


def _is_shown_beside(item: Any, scope: Scope) -> bool:
    """Whether an item is the panel or the answer of its search, and no result."""
    if item is scope.panel:
        return item is not None
    return (
        isinstance(item, dict)
        and isinstance(item.get("answer"), str)
        and item["answer"] == scope.answer
        and Field.TITLE not in columns_of(item)
    )


def _of_columns(value: list[Any]) -> list[Any]:
    """The rows of a list that has the question, the titles, the texts and the addresses one after the other."""
    match value:
        case [str(), [*titles], [*snippets], [*urls]] if urls and len(titles) == len(snippets) == len(urls):
            columns = zip(titles, snippets, urls, strict=True)
            return [{"title": title, "snippet": text, "url": url} for title, text, url in columns]
        case _:
            return value


class _Walk:
    """A visit of everything in one result, in order and to a limited depth."""

    def __init__(self, outer: Scope, inner: Sequence[Scope], scopes: list[Scope]) -> None:
        self._outer = outer
        self._inner = inner
        self._scopes = scopes
        self._waiting: list[_Place] = []
        self._visited = 0

    def pages_of(self, value: Any) -> Iterator[ResultPage]:
        """Every list of results in `value`."""
        self._waiting = [_Place(value, "", (), self._outer)]
        while self._waiting:
            place = self._waiting.pop()
            self._visited += 1
            if (
                self._visited > _MAX_VALUES
                or len(place.path) > MAX_DEPTH
                or place.scope.policy is Policy.NEVER
            ):
                continue
            match place.value:
                case str():
                    self._visit_text(place.value, place)
                case dict():
                    yield from self._visit_object(place.value, place)
                case list():
                    yield from self._visit_list(place.value, place)
                case _:
                    pass

    def _visit_text(self, text: str, place: _Place) -> None:
        key, path, scope = place.key, place.path, place.scope
        wraps, searches = key in WRAPPERS, scope.policy is Policy.SEARCH
        if text.lstrip()[:2].strip('"')[:1] not in ("{", "[") and not has_toon(text):
            if wraps and searches and path:
                scope.texts.append(text)
        elif wraps or (searches and text[-1:] in ("}", "]", '"')):
            part = decode_text(text)
            documents = _documents(part.values, scope)
            self._waiting += [_Place(item, "", (*path, key), scope) for item in reversed(documents)]
            if wraps and searches and path and part.prose:
                scope.texts.append(part.prose)

    def _visit_object(self, value: dict[str, Any], place: _Place) -> Iterator[ResultPage]:
        key, path, scope = place.key, place.path, place.scope
        executed = executed_in(value, scope, self._inner, self._scopes)
        if executed is not None:
            self._waiting += [_Place(item, "response", path, executed) for item in responses_of(value)]
            return
        if value is scope.panel and scope.policy is Policy.SEARCH:
            return
        feed = value.get("feed")
        if scope.policy is not Policy.SEARCH and isinstance(feed, dict) and "title" in feed:
            return
        if self._visited <= _MOST_LEARNT_FROM:
            learn(value, scope)
        if (rows := _keyed_rows(value, key, scope)) is not None:
            yield ResultPage(scope, kind_of_list(rows, key, path, scope) or "web", rows, repeats=True)
        elif (rows := _numbered_rows(value, scope)) is not None:
            yield ResultPage(scope, refined_kind(None, key, rows, scope), rows, named=True)
        else:
            skipped = SKIPPED | _PICTURES if _has_pictures_of_itself(value, scope) else SKIPPED
            self._waiting += [
                _Place(item, folded, (*path, folded), scope)
                for name, item in reversed(value.items())
                if isinstance(item, dict | list | str) and (folded := fold(name)) not in skipped
            ]

    def _visit_list(self, value: list[Any], place: _Place) -> Iterator[ResultPage]:
        key, path, scope = place.key, place.path, place.scope
        if scope.policy is Policy.SEARCH:
            if scope.panel is not None or scope.answer is not None:
                value = [item for item in value if not _is_shown_beside(item, scope)]
            value = with_addresses(_of_columns(_documents_in(value) or value), scope)
        on_page = len(value) == 1 and key not in KINDS and key not in PLAIN_NAMES and _is_page(value[0])
        kind = None if on_page else kind_of_list(value, key, path, scope)
        if kind is not None:
            yield from self._visit_results(value, kind, place)
        elif value:
            self._visit_items(value, place)
        elif not path:
            scope.marked = True

    def _visit_results(self, value: list[Any], kind: str, place: _Place) -> Iterator[ResultPage]:
        """A list of results of one kind, and the groups in it that hold further lists."""
        scope = place.scope
        items, others = opened(value, kind, images=kind == "images")
        items = _not_cut_in_their_address(items)
        repeats = isinstance(value[0], str)
        for own, rows in _by_feature(items, kind, scope) if items else ():
            named = is_named(place.key, own, scope)
            weak = not named and all(isinstance(row, dict) and url_of(row) is None for row in rows)
            yield ResultPage(scope, own, rows, repeats=repeats, named=named, weak=weak)
        self._waiting += [_Place(group, name, (*place.path, name), scope) for name, group in reversed(others)]

    def _visit_items(self, value: list[Any], place: _Place) -> None:
        """A list that is none of results: its items may hold some."""
        scope, path = place.scope, (*place.path, "[]")
        several = sum(1 for item in value[:8] if has_own_query(item)) > 1
        children = [item for item in value if isinstance(item, dict | list)]
        self._waiting += [
            _Place(item, place.key, path, _own(scope, self._scopes) if several else scope)
            for item in reversed(children)
        ]
        if _is_list_of_objects(value) and not any(CUT_OFF in item for item in children):
            scope.other_lists = scope.other_lists or not any(runs_a_tool(item) for item in value)


class _Place(NamedTuple):
    """A value to visit, with its key, the keys above it and the search that it belongs to."""

    value: Any
    key: str
    path: tuple[str, ...]
    scope: Scope


def _not_cut_in_their_address(items: list[Any]) -> list[Any]:
    """The items that are whole as far as their address goes."""
    if not any(map(contains, [item for item in items if type(item) is dict], repeat(CUT_OFF))):
        return items
    return [item for item in items if not _is_cut_in_its_address(item)]


def _is_cut_in_its_address(item: Any) -> bool:
    """Whether what is left of an item ends within its address, which then is that of another page or of none."""
    cut = item.get(CUT_OFF) if isinstance(item, dict) else None
    return isinstance(cut, str) and (url := url_of(item)) is not None and item.get(cut) == url


def _by_feature(items: list[Any], kind: str, scope: Scope) -> list[tuple[str, list[Any]]]:
    """The rows of a list by the part of the page that each of them names."""
    if not (items and isinstance(items[0], dict) and "rank_absolute" in items[0]):
        return [(kind, items)]
    lists: dict[str, list[Any]] = {}
    for item in items:
        part = item.get("type") if isinstance(item, dict) else None
        if isinstance(part, str) and learn_beside(fold(part), item, scope):
            continue
        own = kind_of_word(part)
        lists.setdefault(own or kind, []).append(item)
    return list(lists.items())


def _own(scope: Scope, scopes: list[Scope]) -> Scope:
    """A scope for one of several searches that one tool ran."""
    own = replace(
        scope,
        query=None,
        answer=None,
        error=None,
        engine="",
        marked=False,
        other_lists=False,
        texts=[],
        panel=None,
        related=[],
    )
    scopes.append(own)
    return own


def _documents_in(value: list[Any]) -> list[Any] | None:
    """What a list of JSON documents, each written as text, holds."""
    if not value or not all(isinstance(item, str) and item[:1] == "{" for item in value[:_MAX_DOCUMENTS]):
        return None
    return [item for text in value[:_MAX_DOCUMENTS] for item in decode_text(text).values] or None


def _keyed_rows(value: Mapping[str, Any], key: str, scope: Scope) -> list[Any] | None:
    """The rows of an object that holds nothing but rows, each under its own name or address."""
    if scope.policy is not Policy.SEARCH or len(value) < 2:
        return None
    first = next(iter(value.items()))
    if not isinstance(first[1], dict) or not all(isinstance(item, dict) for item in value.values()):
        return None
    rows = with_addresses(
        [{"url": name} | item if is_web_url(name) else item for name, item in value.items()], scope
    )
    found = all(is_row(row, images=False, named=False) for row in rows[:8])
    return rows if found or (key == "pages" and all(map(is_described, rows))) else None


def _numbered_rows(value: Mapping[str, Any], scope: Scope) -> list[Any] | None:
    """The rows of an object that has them under the numbers it lists, such as summaries of papers."""
    numbers = value.get("uids")
    if scope.policy is not Policy.SEARCH or not isinstance(numbers, list) or not numbers:
        return None
    rows = [value.get(number) for number in numbers if isinstance(number, str)]
    return with_addresses(rows, scope) if rows and all(isinstance(row, dict) for row in rows) else None


def _without_repeats(pages: list[ResultPage]) -> list[ResultPage]:
    """The pages without bare lists of addresses that another page of the same search says more of."""
    if not any(page.repeats or page.weak for page in pages):
        return pages
    strong = {id(page.scope) for page in pages if not page.weak}
    pages = [page for page in pages if not page.weak or id(page.scope) not in strong]
    said: dict[int, set[str | None]] = {id(page.scope): set() for page in pages}
    for page in pages:
        if not page.repeats:
            said[id(page.scope)] |= _addresses_of(page)
    return [page for page in pages if not (page.repeats and _addresses_of(page) <= said[id(page.scope)])]


def _addresses_of(page: ResultPage) -> set[str | None]:
    items = (item for item in page.items if isinstance(item, dict | str))
    return {item if isinstance(item, str) else url_of(item) for item in items}


def _is_list_of_objects(value: list[Any]) -> bool:
    return any(isinstance(item, dict) and item for item in value[:8])
