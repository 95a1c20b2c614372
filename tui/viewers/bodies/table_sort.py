"""Sorts the records of a table by a column, in steps that do not block other threads."""

from __future__ import annotations

import heapq
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from ua_tui.core.concurrency.cancellation import Stop

Item = TypeVar("Item")

_RUN = 5_000
_NUMBER_STARTS = frozenset("+-.$€£0123456789")
NUMBER = re.compile(r"[-+]?[$€£]?\s?\d[\d,.]*(?:[eE][-+]?\d+)?\s?%?")
_DIGITS = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")

SortKey = float | str | None
"""The sort key of a cell: its number, or its text if it is not a number; None if it is empty."""


def key_of(cell: str) -> SortKey:
    """Return the sort key of a cell."""
    if not cell:
        return None
    if cell[0] in _NUMBER_STARTS or not cell.isascii():
        if cell[-1].isdigit() and cell.isascii():
            try:
                return float(cell)
            except ValueError:
                pass  # such as a date
        if NUMBER.fullmatch(cell) and (found := _DIGITS.search(cell)):
            sign = -1.0 if cell.startswith("-") and not found.group().startswith("-") else 1.0
            with suppress(ValueError):
                return sign * float(found.group().replace(",", ""))
    return cell.casefold()


def sorted_gently(
    order: Sequence[int], keys: Sequence[SortKey], stop: Stop, *, descending: bool = False
) -> array[int]:
    """Sort record numbers by their keys in many small sorts, as one large sort would block all other threads.

    Numbers come before texts; records without a key come last in both directions. The sort is stable.

    Raises:
        Stopped: the flag was set.
    """
    sorted_ones = array("q")
    for kind in (str, float) if descending else (float, str):
        places = [place for place in checked(range(len(keys)), stop) if type(keys[place]) is kind]
        key: Any = keys.__getitem__
        runs = [
            sorted(places[at : at + _RUN], key=key, reverse=descending)
            for at in checked(range(0, len(places), _RUN), stop)
        ]
        merged = heapq.merge(*runs, key=key, reverse=descending)
        sorted_ones.extend(order[place] for place in checked(merged, stop))
    sorted_ones.extend(order[place] for place in checked(range(len(keys)), stop) if keys[place] is None)
    return sorted_ones


def checked(items: Iterable[Item], stop: Stop) -> Iterator[Item]:
    """Yield items until the flag is set.

    Raises:
        Stopped: the flag was set.
    """
    for place, item in enumerate(items):
        if not place & 1023:
            stop.check()
        yield item
