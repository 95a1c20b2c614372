"""Many search results with the same fields at once, column by column.

What one look at a whole column can tell (that no title has a tag in it, that every address is one) is not asked
of each row. Rows come out as `observers.search.rows` would make them one by one; those that need a closer look
are left to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from observers.search.dates import iso_date
from observers.search.plain import plain_texts, plain_value
from observers.search.urls import are_web_urls, is_web_url

__all__ = ["Plan", "rows_of_columns"]

Item = dict[str, Any]

_LARGEST_POSITION = 10**9
_NOTHING = type(None)
_AS_THEY_ARE = frozenset({str, int, bool})


class Plan(NamedTuple):
    """Where objects with the same keys have what: the keys of each column, the best first, and the others.

    `special` objects are clusters, or were cut off.
    """

    url: tuple[str, ...]
    title: tuple[str, ...]
    source: tuple[str, ...]
    date: tuple[str, ...]
    snippet: tuple[str, ...]
    position: tuple[str, ...]
    extra: tuple[str, ...]
    special: bool


def rows_of_columns(items: list[Item], numbers: list[int], plan: Plan, now: datetime) -> list[Item | None]:
    """Make the rows of items that have the keys of `plan`; None for each that has to be made on its own.

    `numbers` are their places in the list they come from, counted from 1.
    """
    if plan.special or not plan.url:
        return [None] * len(items)
    table = _Table(items, numbers, plan, now)
    rows: list[Item | None] = list(table.rows())
    for place in table.odd:
        rows[place] = None
    return rows


class _Table:
    """One list of items while its columns are read; `odd` are the places of those that need a closer look."""

    def __init__(self, items: list[Item], numbers: list[int], plan: Plan, now: datetime) -> None:
        self._items = items
        self._numbers = numbers
        self._plan = plan
        self._now = now
        self._extra: dict[str, list[Any]] = {}
        self.odd: set[int] = set()

    def rows(self) -> list[Item]:
        plan = self._plan
        for key in plan.extra:
            self._add_extra(key, key)
        urls = self._urls()
        positions = self._positions()
        titles = self._texts(plan.title, one_line=True)
        sources = self._texts(plan.source, one_line=True)
        dates = self._dates()
        snippets = self._texts(plan.snippet, one_line=False)
        for key in plan.url[1:]:
            self._add_extra(key, key)
        for key in (*plan.url[1:], "id"):
            if key in self._extra:
                self._extra[key] = _without(self._extra[key], urls)
        return [
            {
                "position": position,
                "title": title,
                "url": url,
                "source": source,
                "date": date,
                "snippet": snippet,
                "extra": extra,
            }
            for position, title, url, source, date, snippet, extra in zip(
                positions, titles, urls, sources, dates, snippets, self._extras(), strict=True
            )
        ]

    def _column(self, key: str) -> list[Any]:
        return [item[key] for item in self._items]

    def _urls(self) -> list[Any]:
        urls = self._column(self._plan.url[0])
        if not are_web_urls(urls):
            self.odd.update(place for place, url in enumerate(urls) if not is_web_url(url))
        return urls

    def _positions(self) -> Sequence[int]:
        if not self._plan.position:
            return self._numbers
        key, *others = self._plan.position
        column = self._column(key)
        for place, value in enumerate(column):
            if type(value) is not int or abs(value) >= _LARGEST_POSITION:
                self.odd.add(place)
        for other in others:
            self._add_extra(other, other)
        return column

    def _texts(self, keys: tuple[str, ...], *, one_line: bool) -> list[str | None]:
        if not keys:
            return [None] * len(self._items)
        column = self._column(keys[0])
        if set(map(type, column)) != {str}:
            self.odd.update(place for place, value in enumerate(column) if type(value) is not str)
            column = [value if type(value) is str else "" for value in column]
        texts: list[str | None] = list(plain_texts(column, one_line=one_line))
        if not all(texts):
            self.odd.update(place for place, text in enumerate(texts) if not text)
        for other in keys[1:]:
            self._add_extra(other, other)
        return texts

    def _dates(self) -> list[str | None]:
        if not self._plan.date:
            return [None] * len(self._items)
        key, *others = self._plan.date
        column = self._column(key)
        kinds = set(map(type, column))
        if kinds not in ({str}, {int}):
            self.odd.update(range(len(column)))
            return [None] * len(column)
        read = {value: iso_date(value, self._now) for value in set(column)}
        dates = [read[value] for value in column]
        if None in read.values():
            self.odd.update(place for place, date in enumerate(dates) if date is None)
        self._extra[_original(key)] = _without(column, dates)
        for other in others:
            self._add_extra(other, _original(other))
        return dates

    def _add_extra(self, key: str, name: str) -> None:
        column = self._column(key)
        kinds = set(map(type, column))
        if not kinds <= _AS_THEY_ARE or (str in kinds and not _encodable(column)):
            column = [plain_value(value) for value in column]
        self._extra[name] = column

    def _extras(self) -> list[Item]:
        if not self._extra:
            return [{} for _ in self._items]
        keys, columns = tuple(self._extra), self._extra.values()
        if not any(_NOTHING in set(map(type, column)) for column in columns):
            return [dict(zip(keys, values, strict=True)) for values in zip(*columns, strict=True)]
        return [
            {key: value for key, value in zip(keys, values, strict=True) if value is not None}
            for values in zip(*columns, strict=True)
        ]


def _original(key: str) -> str:
    return f"{key}_original" if key == "date" else key


def _without(column: list[Any], said: Sequence[Any]) -> list[Any]:
    """The column with None where it says what was said already."""
    if not any(map(_is_equal, column, said)):
        return column
    return [None if _is_equal(value, other) else value for value, other in zip(column, said, strict=True)]


def _is_equal(value: Any, other: Any) -> bool:
    return bool(value == other)


def _encodable(column: list[Any]) -> bool:
    text = "".join([value for value in column if type(value) is str])
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
