"""Makes rows of many search results with the same fields, column by column.

What one check of a whole column shows (that no title has a tag in it, that every address is one) is not asked
of each row. Rows come out as `ua_tui.observers.search.rows` would make them one by one; those that need a closer look
are left to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import chain, repeat
from math import isfinite
from operator import eq, itemgetter
from typing import Any, NamedTuple

from ua_tui.observers.decoding.truncated_json import CUT_OFF
from ua_tui.observers.decoding.urls import are_web_urls, is_web_url
from ua_tui.observers.search.dates.parse import iso_date
from ua_tui.observers.search.sanitise import (
    LONGEST_DATA,
    MAX_EXTRA_DEPTH,
    is_encoded_data,
    plain_texts,
    plain_value,
)

Item = dict[str, Any]

# What titles that need a closer look begin with, see `rows.is_resource_name`.
_RESOURCES = ("projects/", "places/", "folders/", "organizations/", "locations/")
_LARGEST_POSITION = 10**9
_SIMPLE = frozenset({str, int, bool, float, type(None)})
_KNOWN = _SIMPLE | {list, dict}


class Plan(NamedTuple):
    """The columns of objects with the same keys: the keys of each column, the best first, and the other keys.

    `citation` is the key of a text with authors, journal and year; `special` objects are clusters, or were cut off.
    """

    url: tuple[str, ...]
    title: tuple[str, ...]
    source: tuple[str, ...]
    date: tuple[str, ...]
    snippet: tuple[str, ...]
    position: tuple[str, ...]
    extra: tuple[str, ...]
    special: bool
    citation: str | None = None


def rows_of_columns(
    items: Sequence[Item], numbers: Sequence[int], plan: Plan, now: datetime
) -> list[Item | None]:
    """Make the rows of items that have the keys of `plan`; None for each row that must be made separately.

    `numbers` are their places in the list they come from, counted from 1.
    """
    if plan.special or plan.citation or not plan.url:
        return [None] * len(items)
    table = _Table(items, numbers, plan, now)
    rows: list[Item | None] = list(table.rows())
    for place in table.odd:
        rows[place] = None
    return rows


class _Table:
    """One list of items while its columns are read; `odd` has the indexes of items to handle separately."""

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
                self._titles(),
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
        if set(map(type, urls)) != {str} or not are_web_urls(urls):
            self.odd.update(
                place for place, url in enumerate(urls) if type(url) is not str or not is_web_url(url)
            )
        return urls

    def _positions(self) -> Sequence[int]:
        if not self._plan.position:
            return self._numbers
        column = self._column(self._plan.position[0])
        if set(map(type, column)) != {int} or not (
            -_LARGEST_POSITION < min(column) <= max(column) < _LARGEST_POSITION
        ):
            self.odd.update(
                place
                for place, value in enumerate(column)
                if type(value) is not int or abs(value) >= _LARGEST_POSITION
            )
        return column

    def _titles(self) -> Sequence[str | None]:
        titles = self._texts(self._plan.title, one_line=True)
        together = "\n".join(["", *filter(None, titles)])
        if any(f"\n{beginning}" in together for beginning in _RESOURCES):
            self.odd.update(
                place
                for place, title in enumerate(titles)
                if title is not None and title.startswith(_RESOURCES)
            )
        return titles

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
        """For each item, the fields that belong to no column."""
        plan = self._plan
        taken = [keys[0] for keys in (plan.url, plan.title, plan.source, plan.snippet, plan.position) if keys]
        left = [key for key in self._items[0] if key not in taken]
        names = ["date_original" if key == "date" and "date" in plan.date else key for key in left]
        columns = [self._extra(key, self._column(key), urls, dates) for key in left]
        if len(names) == 1 and None not in columns[0]:
            return [{names[0]: value} for value in columns[0]]
        parts = zip(*columns, strict=True) if columns else repeat((), len(self._items))
        extras: list[Item] = list(map(dict, map(zip, repeat(names), parts)))
        for name, column in zip(names, columns, strict=True):
            if None in column:
                for extra in extras:
                    if extra[name] is None:
                        del extra[name]
        return extras

    def _extra(
        self, key: str, column: list[Any], urls: Sequence[str], dates: Sequence[str | None]
    ) -> list[Any]:
        """The values of a column that the row's date or URL does not repeat; None for the others."""
        plan = self._plan
        if plan.date and key == plan.date[0]:
            column = _without_repeats(column, dates)
        elif key == "id" or key in plan.url:
            column = _without_repeats(column, urls)
        return _plain_column(column)


def _without_repeats(column: list[Any], shown: Sequence[Any]) -> list[Any]:
    """The column without the values that repeat those of another column."""
    if not any(map(eq, column, shown)):
        return column
    return [None if value == other else value for value, other in zip(column, shown, strict=True)]


def _plain_column(column: list[Any]) -> list[Any]:
    """The values in a form that any strict JSON encoder accepts."""
    return column if _are_plain(column) else list(map(plain_value, column))


def _are_plain(values: list[Any]) -> bool:
    """Whether `plain_value` would not change any of `values`; checks them together, level by level."""
    for _ in range(MAX_EXTRA_DEPTH + 1):
        kinds = set(map(type, values))
        if not kinds <= _KNOWN or (str in kinds and not _are_plain_texts(_only(values, str, kinds))):
            return False
        if float in kinds and not all(isfinite(value) for value in values if type(value) is float):
            return False
        if kinds <= _SIMPLE:
            return True
        deeper: list[Any] = []
        if list in kinds:
            deeper += chain.from_iterable(_only(values, list, kinds))
        if dict in kinds:
            objects = _only(values, dict, kinds)
            keys = set(chain.from_iterable(objects))
            if CUT_OFF in keys or set(map(type, keys)) - {str} or not _encodable(keys):
                return False
            deeper += chain.from_iterable(map(dict.values, objects))
        values = deeper
    return False


def _only(values: list[Any], kind: type, kinds: set[type]) -> list[Any]:
    """The values of one type, among values of the types `kinds`."""
    return values if len(kinds) == 1 else [value for value in values if type(value) is kind]


def _are_plain_texts(texts: list[str]) -> bool:
    """Whether texts encode as UTF-8, and none of them is data that somebody encoded as text."""
    if max(map(len, texts)) > LONGEST_DATA and any(map(is_encoded_data, texts)):
        return False
    return _encodable(texts)


def _encodable(texts: Iterable[str]) -> bool:
    """Whether none of the texts has a lone surrogate."""
    text = "".join(texts)
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
