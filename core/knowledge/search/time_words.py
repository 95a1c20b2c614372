"""Understands words for a time in a question, such as "last week" or "since March"."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import msgspec


class TimeWords(msgspec.Struct, frozen=True):
    """Words for a time: which of the query they are, and its first and last moment, in seconds since the epoch."""

    place: slice
    since: float
    until: float | None


def time_words(words: Sequence[str], now: datetime) -> TimeWords | None:
    """Find the first words for a time; the time is one that has begun."""
    cleaned = [word.lower().strip(".,;:?!") for word in words]
    for place in range(len(cleaned)):
        for count in (3, 2, 1):
            taken = cleaned[place : place + count]
            found = _range(" ".join(taken), now) if len(taken) == count else None
            if found is not None:
                first, after = found
                until = None if after is None else after.timestamp() - 1
                return TimeWords(slice(place, place + count), first.timestamp(), until)
    return None


def _range(text: str, now: datetime) -> tuple[datetime, datetime | None] | None:
    """The beginning of a time, and that of what follows it unless it lasts until now."""
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    unit, back = _units().get(text, ("", 0))
    if unit == "day":
        first = today - timedelta(days=back)
        return first, first + timedelta(days=1)
    if unit == "week":
        first = today - timedelta(days=today.weekday() + 7 * back)
        return first, first + timedelta(days=7)
    if unit:
        first = today.replace(day=1) if unit == "month" else today.replace(month=1, day=1)
        length = 1 if unit == "month" else 12
        return _months_on(first, -back * length), _months_on(first, (1 - back) * length)
    leading, _, rest = text.partition(" ")
    name, _, year = rest.partition(" ")
    data = _data()
    number = next((number for number, names in enumerate(data["months"], 1) if name in names), 0)
    if not number or leading not in (*data["in"], *data["since"]) or (year and not _is_year(year)):
        return None
    first = today.replace(
        day=1, month=number, year=int(year) if year else today.year - (number > today.month)
    )
    return first, _months_on(first, 1) if leading in data["in"] else None


def _is_year(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) == 4 and text[0] in "12"


def _months_on(first: datetime, count: int) -> datetime:
    months = first.year * 12 + first.month - 1 + count
    return first.replace(year=months // 12, month=months % 12 + 1)


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


@cache
def _units() -> dict[str, tuple[str, int]]:
    """The unit of words for a time, and how many of it they are back."""
    data = _data()
    return {
        words: (unit, int(back))
        for unit in ("day", "week", "month", "year")
        for back, every in data[unit].items()
        for words in every
    }
