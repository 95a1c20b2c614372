"""What readers call the fields of a page, and how a page is made from these fields."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from operator import itemgetter
from typing import Any

from ua_tui.core.json_values import JsonMapping
from ua_tui.core.text import clean_line
from ua_tui.core.toolkit.articles import count_words
from ua_tui.observers.decoding.urls import is_web_url
from ua_tui.observers.enrichment import Page
from ua_tui.observers.search.dates import iso_date
from ua_tui.observers.search.keys import PAGE_FIELDS
from ua_tui.observers.search.sanitise import plain_text

_MARKS = re.compile(r"[^a-z0-9]")
_BY = re.compile(r"^by\s+", re.IGNORECASE)
_HEADING = re.compile(r"^# +([^\n]{1,300})$", re.MULTILINE)
_NO_TITLE = ("undefined", "null", "none", "(no title)", "untitled")
_LONGEST_FACT = 300


def folded(name: object) -> str:
    """A field's name without the marks and capitals that readers spell it with: `og:site_name` is `ogsitename`."""
    return _MARKS.sub("", str(name)[:64].lower())


def field_of(name: object) -> str | None:
    """What a field of a page holds, by its name; None if it is something else."""
    return PAGE_FIELDS.get(folded(name), (None, 0))[0]


def address_in(values: JsonMapping) -> str | None:
    """The web address among the fields of a page, the best one if there are several."""
    return next((text for text in _values(values, "address") if is_web_url(text)), None)


def page_of(values: JsonMapping, metadata: JsonMapping, url: str, content: str, now: datetime) -> Page:
    """Make a page of its text, its address, and what its fields and its own metadata say of it."""

    def first(field: str, read: Callable[[Any], str | None]) -> str | None:
        facts = [*_values(values, field), *_values(metadata, field)]
        return next((text for fact in facts if (text := read(fact))), None)

    title = first("title", lambda fact: text if (text := _fact(fact)).lower() not in _NO_TITLE else None)
    if title is None and (heading := _HEADING.search(content[:2_000])):
        title = _fact(heading[1])
    author = first("author", lambda fact: None if is_web_url(text := _BY.sub("", _fact(fact))) else text)
    date = first("date", lambda fact: _day(fact, now))
    return Page(url, title or "", content, author, first("site", _fact), date, count_words(content))


def _values(values: JsonMapping, field: str) -> list[Any]:
    """The values of the fields of one kind, in the order of their names."""
    ranked = [(*PAGE_FIELDS.get(folded(name), ("", 0)), value) for name, value in values.items() if value]
    return [value for _, _, value in sorted((each for each in ranked if each[0] == field), key=itemgetter(1))]


def _fact(value: Any) -> str:
    """A short text: of several, or of named ones, all in one line."""
    match value:
        case str():
            return clean_line(plain_text(value[: 4 * _LONGEST_FACT]), _LONGEST_FACT)
        case {"name": str(name)}:
            return _fact(name)
        case [*items]:
            return clean_line(", ".join(filter(None, map(_fact, items[:8]))), _LONGEST_FACT)
        case _:
            return ""


def _day(value: Any, now: datetime) -> str | None:
    """The day of a date as YYYY-MM-DD."""
    if isinstance(value, str) and len(value) > _LONGEST_FACT:
        return None
    date = iso_date(value[0] if isinstance(value, list) and value else value, now)
    return date[:10] if date is not None and len(date) >= len("2026-01-01") else None
