"""Many search results with the same fields at once, column by column.

What one look at a whole column can tell (that no title has a tag in it, that every address is one) is not asked
of each row. Rows come out as `observers.search.rows` would make them one by one; those that need a closer look
are left to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import chain
from math import isfinite
from operator import eq, itemgetter
from typing import Any, NamedTuple

from observers.salvage import CUT_OFF
from observers.search.dates import iso_date
from observers.search.plain import MAX_EXTRA_DEPTH, plain_texts, plain_value
from observers.search.urls import are_web_urls, is_web_url

__all__ = ["Plan", "rows_of_columns"]

Item = dict[str, Any]

_LARGEST_POSITION = 10**9
_SIMPLE = frozenset({str, int, bool, float, type(None)})
_KNOWN = _SIMPLE | {list, dict}


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


def rows_of_columns(
    items: Sequence[Item], numbers: Sequence[int], plan: Plan, now: datetime
) -> list[Item | None]:
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

    def __init__(self, items: Sequence[Item], numbers: Sequence[int], plan: Plan, now: datetime) -> None:
        self._items = items
        self._numbers = numbers
        self._plan = plan
        self._now = now
        self.odd: set[int] = set()

    def rows(self) -> list[Item]:
        plan = self._plan
        urls = self._urls()
        dates = self._dates()
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
                self._positions(),
                self._texts(plan.title, one_line=True),
                urls,
                self._texts(plan.source, one_line=True),
                dates,
                self._texts(plan.snippet, one_line=False),
                self._extras(urls, dates),
                strict=True,
            )
        ]

    def _column(self, key: str) -> list[Any]:
        return list(map(itemgetter(key), self._items))

    def _urls(self) -> list[Any]:
        urls = self._column(self._plan.url[0])
        if not are_web_urls(urls):
            self.odd.update(place for place, url in enumerate(urls) if not is_web_url(url))
        return urls

    def _positions(self) -> Sequence[int]:
        if not self._plan.position:
            return self._numbers
        column = self._column(self._plan.position[0])
        if set(map(type, column)) != {int} or max(map(abs, column)) >= _LARGEST_POSITION:
            self.odd.update(
                place
                for place, value in enumerate(column)
                if type(value) is not int or abs(value) >= _LARGEST_POSITION
            )
        return column

    def _texts(self, keys: tuple[str, ...], *, one_line: bool) -> Sequence[str | None]:
        if not keys:
            return [None] * len(self._items)
        column = self._column(keys[0])
        if set(map(type, column)) != {str}:
            self.odd.update(place for place, value in enumerate(column) if type(value) is not str)
            column = [value if type(value) is str else "" for value in column]
        texts = plain_texts(column, one_line=one_line)
        if not all(texts):
            self.odd.update(place for place, text in enumerate(texts) if not text)
        return texts

    def _dates(self) -> list[str | None]:
        if not self._plan.date:
            return [None] * len(self._items)
        column = self._column(self._plan.date[0])
        if set(map(type, column)) not in ({str}, {int}):
            self.odd.update(range(len(column)))
            return [None] * len(column)
        read = {value: iso_date(value, self._now) for value in set(column)}
        dates = list(map(read.__getitem__, column))
        if None in read.values():
            self.odd.update(place for place, date in enumerate(dates) if date is None)
        return dates

    def _extras(self, urls: Sequence[str], dates: Sequence[str | None]) -> list[Item]:
        """What no column of the row takes, for each item."""
        plan = self._plan
        taken = {keys[0] for keys in (plan.url, plan.title, plan.source, plan.snippet, plan.position) if keys}
        left: dict[str, list[Any]] = {}
        for key in self._items[0]:
            if key not in taken:
                column = self._column(key)
                if plan.date and key == plan.date[0]:
                    column = _without_said(column, dates)
                elif key == "id" or key in plan.url:
                    column = _without_said(column, urls)
                left[key] = _plain_column(column)
        if "date" in left:
            left["date_original"] = left.pop("date")
        return _objects(left, len(self._items))


def _objects(columns: dict[str, list[Any]], count: int) -> list[Item]:
    """An object for each place in the columns, without what is None there."""
    if not columns:
        return [{} for _ in range(count)]
    names = tuple(columns)
    if any(None in column for column in columns.values()):
        return [
            {name: value for name, value in zip(names, values, strict=True) if value is not None}
            for values in zip(*columns.values(), strict=True)
        ]
    if len(names) == 1:
        name = names[0]
        return [{name: value} for value in columns[name]]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _without_said(column: list[Any], said: Sequence[Any]) -> list[Any]:
    """The column without those values that only say again what another column says."""
    if not any(map(eq, column, said)):
        return column
    return [None if value == other else value for value, other in zip(column, said, strict=True)]


def _plain_column(column: list[Any]) -> list[Any]:
    """The values as any strict JSON writer accepts them."""
    return column if _are_plain(column) else list(map(plain_value, column))


def _are_plain(values: list[Any]) -> bool:
    """Whether `plain_value` leaves each of `values` as it is; looks at all of them together, level by level."""
    for _ in range(MAX_EXTRA_DEPTH + 1):
        kinds = set(map(type, values))
        if not kinds <= _KNOWN or (str in kinds and not _encodable(values, kinds)):
            return False
        if float in kinds and not all(isfinite(value) for value in values if type(value) is float):
            return False
        if kinds <= _SIMPLE:
            return True
        deeper: list[Any] = []
        if list in kinds:
            deeper += chain.from_iterable(value for value in values if type(value) is list)
        if dict in kinds:
            objects = [value for value in values if type(value) is dict]
            keys = set(chain.from_iterable(objects))
            if CUT_OFF in keys or set(map(type, keys)) - {str} or not _encodable(keys, {str}):
                return False
            deeper += chain.from_iterable(map(dict.values, objects))
        values = deeper
    return False


def _encodable(values: Iterable[Any], kinds: set[type]) -> bool:
    """Whether the texts among `values`, which are of these kinds, have no lone surrogates."""
    text = "".join(values if kinds == {str} else [value for value in values if type(value) is str])
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
