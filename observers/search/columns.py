"""Many search results with the same fields at once, column by column.

What one look at a whole column can tell (that no title has a tag in it, that every address is one) is not asked
of each row. Rows come out as `observers.search.rows` would make them one by one; those that need a closer look
are left to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from operator import eq, itemgetter
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
        # What no column of the row takes is left over.
        self._extras = [item.copy() for item in items]
        self.odd: set[int] = set()

    def rows(self) -> list[Item]:
        plan = self._plan
        urls = self._urls()
        positions = self._positions()
        titles = self._texts(plan.title, one_line=True)
        sources = self._texts(plan.source, one_line=True)
        dates = self._dates()
        snippets = self._texts(plan.snippet, one_line=False)
        for column in (plan.extra, plan.url[1:], plan.position[1:], plan.title[1:], plan.source[1:]):
            self._check(column)
        self._check(plan.snippet[1:])
        self._check(plan.date)
        for key in (*plan.url[1:], "id"):
            self._drop_said(key, urls)
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
                positions, titles, urls, sources, dates, snippets, self._extras, strict=True
            )
        ]

    def _column(self, key: str) -> list[Any]:
        return list(map(itemgetter(key), self._items))

    def _take(self, key: str) -> list[Any]:
        for extra in self._extras:
            del extra[key]
        return self._column(key)

    def _urls(self) -> list[Any]:
        urls = self._take(self._plan.url[0])
        if not are_web_urls(urls):
            self.odd.update(place for place, url in enumerate(urls) if not is_web_url(url))
        return urls

    def _positions(self) -> Sequence[int]:
        if not self._plan.position:
            return self._numbers
        column = self._take(self._plan.position[0])
        if set(map(type, column)) != {int} or max(map(abs, column)) >= _LARGEST_POSITION:
            self.odd.update(
                place
                for place, value in enumerate(column)
                if type(value) is not int or abs(value) >= _LARGEST_POSITION
            )
        return column

    def _texts(self, keys: tuple[str, ...], *, one_line: bool) -> list[str | None]:
        if not keys:
            return [None] * len(self._items)
        column = self._take(keys[0])
        if set(map(type, column)) != {str}:
            self.odd.update(place for place, value in enumerate(column) if type(value) is not str)
            column = [value if type(value) is str else "" for value in column]
        texts: list[str | None] = list(plain_texts(column, one_line=one_line))
        if not all(texts):
            self.odd.update(place for place, text in enumerate(texts) if not text)
        return texts

    def _dates(self) -> list[str | None]:
        if not self._plan.date:
            return [None] * len(self._items)
        key = self._plan.date[0]
        column = self._column(key)
        if set(map(type, column)) not in ({str}, {int}):
            self.odd.update(range(len(column)))
            return [None] * len(column)
        read = {value: iso_date(value, self._now) for value in set(column)}
        dates = [read[value] for value in column]
        if None in read.values():
            self.odd.update(place for place, date in enumerate(dates) if date is None)
        self._drop_said(key, dates)
        if "date" in self._plan.date:
            for extra in self._extras:
                if (original := extra.pop("date", None)) is not None:
                    extra["date_original"] = original
        return dates

    def _check(self, keys: Sequence[str]) -> None:
        """Make the values of left-over columns ones that any strict JSON writer accepts."""
        for key in keys:
            column = self._column(key)
            kinds = set(map(type, column))
            if kinds <= _AS_THEY_ARE and _NOTHING not in kinds and (str not in kinds or _encodable(column)):
                continue
            name = _original(key)
            for extra, value in zip(self._extras, column, strict=True):
                if not _is_plain(value) and name in extra:
                    plain = plain_value(value)
                    if plain is None:
                        del extra[name]
                    else:
                        extra[name] = plain

    def _drop_said(self, key: str, said: Sequence[Any]) -> None:
        """Take a left-over value out where it only says again what a column says."""
        column = self._column(key) if key in self._items[0] else ()
        if any(map(eq, column, said)):
            for extra, value, other in zip(self._extras, column, said, strict=True):
                if value == other:
                    extra.pop(key, None)


def _is_plain(value: Any) -> bool:
    """Whether a value is certainly as it may be; most lists in results are short and of words."""
    kind = type(value)
    if kind is list:
        return all(type(item) is str and item.isascii() for item in value)
    return kind is int or kind is bool or (kind is str and value.isascii())


def _original(key: str) -> str:
    return f"{key}_original" if key == "date" else key


def _encodable(column: list[Any]) -> bool:
    text = "".join([value for value in column if type(value) is str])
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
