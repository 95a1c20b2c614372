"""Sorts the records of a table by a column, in steps that do not block other threads."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from ua_tui.core.concurrency.cancellation import Stop

Item = TypeVar("Item")

_BUCKET = 5_000
_SAMPLED = 16
_SCATTER = 2_654_435_761
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
    kinds = (str, float) if descending else (float, str)
    for kind in kinds:
        places = [place for place in checked(range(len(keys)), stop) if type(keys[place]) is kind]
        for bucket in _buckets(places, keys, stop, descending=descending):
            sorted_ones.extend([order[place] for place in bucket])
    sorted_ones.extend(order[place] for place in checked(range(len(keys)), stop) if keys[place] is None)
    return sorted_ones


def _buckets(places: list[int], keys: Sequence[Any], stop: Stop, *, descending: bool) -> Iterator[list[int]]:
    """Yield the places in sorted runs, each before the next; all keys have the same type."""
    count = len(places) // _BUCKET
    # The sample is scattered, as records at regular distances may be alike.
    picked = [places[number * _SCATTER % len(places)] for number in range(count * _SAMPLED)]
    sample = sorted({keys[place] for place in picked})
    bounds = sample[:: max(1, len(sample) // max(1, count))]
    between: list[list[int]] = [[] for _ in range(len(bounds) + 1)]
    # Keys equal to a bound need no sorting: a column may repeat a few words.
    equal: list[list[int]] = [[] for _ in bounds]
    for place in checked(places, stop):
        key = keys[place]
        number = bisect_left(bounds, key)
        (equal if number < len(bounds) and bounds[number] == key else between)[number].append(place)
    turn = -1 if descending else 1
    for number in range(len(between))[::turn]:
        runs = (between[number], *equal[number : number + 1])[::turn]
        for run in runs:
            stop.check()
            yield sorted(run, key=keys.__getitem__, reverse=descending) if run is between[number] else run


def checked(items: Iterable[Item], stop: Stop) -> Iterator[Item]:
    """Yield items until the flag is set.

    Raises:
        Stopped: the flag was set.
    """
    for place, item in enumerate(items):
        if not place & 1023:
            stop.check()
        yield item
