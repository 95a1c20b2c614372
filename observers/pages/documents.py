"""Finds the pages in a document of a tool that reads pages, whatever it wraps them in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from ua_tui.observers.decoding.decode import MAX_DEPTH
from ua_tui.observers.enrichment import Page
from ua_tui.observers.pages.fields import CONTENT, address_in, field_of, folded, page_of
from ua_tui.observers.search.keys import WRAPPERS, word_set

_MOST_VALUES = 200_000
_MOST_PAGES = 10_000
_METADATA = ("metadata", "meta", "content")
_OF_FAILURES = word_set("failed failedresults failedurls failures errors")
_OTHER_THINGS = word_set(
    "links images videos media sources citations actions tables json extract summary answer screenshot "
    "searchresult warnings usage"
)
"""Fields with objects that have an address as well, or with the words of a model."""
_VAGUE = word_set("data body result output response")
_SHORTEST = 200
_OPENINGS = ('{"', "[{", "<")
_STATUSES = ("statuscode", "httpstatuscode", "httpstatus", "status", "code")


class FoundPages(msgspec.Struct):
    """The pages of a result, and the number of pages that could not be read."""

    pages: list[Page] = msgspec.field(default_factory=list)
    failed: int = 0


def pages_in(document: Any, now: datetime, address: str | None = None) -> FoundPages:
    """Every page in a document: an object with an address and the text of a page.

    `address` is the page that the call asked for, if it asked for one: it is that of a text without another.
    """
    found = FoundPages()
    waiting: list[tuple[str, Any, int]] = [("", document, 0)]
    visited, reported = 0, False
    while waiting and visited < _MOST_VALUES and len(found.pages) < _MOST_PAGES:
        key, value, depth = waiting.pop()
        visited += 1
        match value:
            case list() if key in _OF_FAILURES:
                found.failed += len(value)
            case list() if depth < MAX_DEPTH:
                waiting += [
                    (key, item, depth + 1) for item in reversed(value) if isinstance(item, dict | list)
                ]
            case dict() if _has_failed(value):
                found.failed += 1
            case dict() if depth < MAX_DEPTH:
                page = _page(value, now, address if key in WRAPPERS or not key else None)
                if page is not None:
                    found.pages.append(page)
                    continue
                reported = reported or _reports_an_error(value)
                waiting += [
                    (folded(name), item, depth + 1)
                    for name, item in reversed(value.items())
                    if isinstance(item, dict | list) and folded(name) not in _OTHER_THINGS
                ]
            case _:
                pass
    if reported and not found.pages:
        found.failed = max(found.failed, 1)
    return found


def _page(value: Mapping[str, Any], now: datetime, address: str | None) -> Page | None:
    content = _content_of(value)
    if content is None:
        return None
    metadata = _metadata_of(value)
    url = address_in(value) or address_in(metadata) or address
    return page_of(value, metadata, url, content, now) if url is not None else None


def _content_of(value: Mapping[str, Any]) -> str | None:
    """The text of a page among its fields, the longest if it has several of the kind."""
    texts: list[str] = []
    for name, item in value.items():
        if field_of(name) == CONTENT:
            texts += [
                text.strip() for text in _texts_in(name, item) if isinstance(text, str) and text.strip()
            ]
    if not texts:
        vague = [
            item.strip() for name, item in value.items() if isinstance(item, str) and folded(name) in _VAGUE
        ]
        texts = [text for text in vague if len(text) >= _SHORTEST and not text.startswith(_OPENINGS)]
    return max(texts, key=len) if texts else None


def _texts_in(name: str, item: Any) -> Iterable[Any]:
    """The texts that a field with the text of a page may hold: one, or excerpts of it as one."""
    match item:
        case [str(), *_]:
            return ["\n\n".join(each for each in item if isinstance(each, str))]
        case {"source": {"type": "text", "data": text}}:
            return [text]
        case dict() if folded(name) == "markdown":
            return item.values()
        case _:
            return [item]


def _metadata_of(value: Mapping[str, Any]) -> Mapping[str, Any]:
    return next((item for name in _METADATA if isinstance(item := value.get(name), dict)), {})


def _has_failed(value: Mapping[str, Any]) -> bool:
    """Whether an object says of one page that it could not be read."""
    metadata = _metadata_of(value)
    if address_in(value) is None and address_in(metadata) is None:
        return False
    statuses = (item for name, item in (*value.items(), *metadata.items()) if folded(name) in _STATUSES)
    if any(isinstance(status, int) and 400 <= status < 600 for status in statuses):
        return True
    return _content_of(value) is None and _reports_an_error(value)


def _reports_an_error(value: Mapping[str, Any]) -> bool:
    return bool(value.get("error")) or any(value.get(name) is False for name in ("success", "successful"))
