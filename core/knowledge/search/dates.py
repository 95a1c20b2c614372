"""Reads days and times: those of filters, and words for a time in a question, such as "last week" or "since March"."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from ua_tui.core.json_values import table_of

AGO = re.compile(r"(\d{1,4})(h|d|w|mo|y)", re.IGNORECASE)
"""A time ago, such as 30d or 3mo."""
_HOURS = {"h": 1, "d": 24, "w": 7 * 24}
_DAY = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_YEAR = re.compile(r"[12][0-9]{3}")
_LAST = re.compile(r"(?:last|past) (?:(\d{1,3}) )?(day|week|month|year)s?")


def parse_date(text: str, now: datetime, *, end: bool = False) -> float | None:
    """Read a day (2026-11-03), a month, a year, a time ago (12h, 30d, 2w, 3mo, 1y), or words such as last week.

    Returns:
        The first moment of it, or with `end` the last one, in seconds since the epoch; None if it is not a date.
    """
    text = text.strip().lower()
    with suppress(ValueError, OverflowError, OSError):
        if ago := AGO.fullmatch(text):
            return _later(now, -int(ago[1]), ago[2]).timestamp()
        found = _range(text, now)
        if day := _DAY.fullmatch(text):
            first = _midnight(now).replace(year=int(day[1]), month=int(day[2] or 1), day=int(day[3] or 1))
            found = first, _later(first, 1, "d" if day[3] else "mo" if day[2] else "y")
        if found is not None:
            first, after = found
            return (after or now).timestamp() - 1 if end else first.timestamp()
    return None


def time_words(words: Sequence[str], now: datetime) -> tuple[slice, float, float | None] | None:
    """Find the first words for a time that has begun.

    Returns:
        Which words they are, and the first and the last moment of the time, in seconds since the epoch.
    """
    cleaned = [word.lower().strip(".,;:?!") for word in words]
    for place in range(len(cleaned)):
        for count in (3, 2, 1):
            taken = cleaned[place : place + count]
            found = _range(" ".join(taken), now) if len(taken) == count else None
            if found is not None:
                first, after = found
                until = None if after is None else after.timestamp() - 1
                return slice(place, place + count), first.timestamp(), until
    return None


def _range(text: str, now: datetime) -> tuple[datetime, datetime | None] | None:
    """The beginning of a time, and that of what follows it unless it lasts until now."""
    today = _midnight(now)
    data = _data()
    if text in data["times"]:
        unit, back = data["times"][text]
        days = {"d": 0, "w": today.weekday(), "mo": today.day - 1, "y": today.timetuple().tm_yday - 1}
        first = _later(today - timedelta(days[unit]), -back, unit)
        return first, _later(first, 1, unit)
    if ago := _LAST.fullmatch(text):
        return _later(now, -int(ago[1] or 1), "mo" if ago[2] == "month" else ago[2][0]), None
    leading, *rest = text.split(" ")
    if leading not in (*data["in"], *data["since"]):
        # A month alone may be any other word.
        leading, rest = "in", [leading, *rest] if rest else []
    name, *years = rest or [""]
    number = next((number for number, names in enumerate(data["months"], 1) if name in names), 0)
    if not number or not all(map(_YEAR.fullmatch, years)) or len(years) > 1:
        return None
    year = int(years[0]) if years else today.year - (number > today.month)
    first = today.replace(day=1, month=number, year=year)
    return first, _later(first, 1, "mo") if leading in data["in"] else None


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _later(moment: datetime, count: int, unit: str) -> datetime:
    """The moment so many units later; in a month that is too short for it on the last day."""
    if unit in _HOURS:
        return moment + timedelta(hours=count * _HOURS[unit])
    months = moment.year * 12 + moment.month - 1 + count * (12 if unit == "y" else 1)
    year, month = months // 12, months % 12 + 1
    return moment.replace(year=year, month=month, day=min(moment.day, monthrange(year, month)[1]))


@cache
def _data() -> dict[str, Any]:
    return table_of(__file__, "dates.toml", dict[str, Any])
