"""The value of a date that was read: a point in time, or a distance back from the present."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Literal

__all__ = ["Ago", "Reading", "Unit", "iso_of", "moment_text"]

Unit = Literal["second", "day", "month", "year", "calendar month", "calendar year"]


@dataclass(frozen=True, slots=True)
class Ago:
    """A distance back from now; negative counts lie ahead.

    A `second` gives a point in time; `day`, `month` and `year` a day, counted by the calendar; a `calendar
    month` or `calendar year` only that month or year. `at` is the time of day, when the text says one.
    """

    unit: Unit
    count: int
    at: time | None = None


Reading = str | datetime | Ago
"""ISO 8601 text that is final, a moment with a zone, or a distance back from now."""


def iso_of(reading: Reading, now: datetime) -> str:
    """Write a reading as ISO 8601, in the zone of `now` where it is a moment.

    Raises:
        ValueError, OverflowError: it lies outside the calendar.
    """
    if isinstance(reading, str):
        return reading
    if isinstance(reading, datetime):
        return moment_text(_in_zone(reading, now))
    count = reading.count
    match reading.unit:
        case "second":
            return _before(now, timedelta(seconds=count)).isoformat(timespec="seconds")
        case "day":
            day = now.date() - timedelta(days=count)
        case "month":
            day = _months_before(now.date(), count)
        case "year":
            day = _months_before(now.date(), 12 * count)
        case "calendar month":
            return _months_before(now.date().replace(day=1), count).isoformat()[:7]
        case "calendar year":
            return f"{date(now.year - count, 1, 1).year:04d}"
    return f"{day.isoformat()}T{reading.at.isoformat()}" if reading.at else day.isoformat()


def moment_text(moment: datetime) -> str:
    """A moment as ISO 8601 to the second, or finer when it is given finer."""
    return moment.isoformat(timespec="microseconds" if moment.microsecond else "seconds")


def _in_zone(moment: datetime, now: datetime) -> datetime:
    return moment if now.tzinfo is None else moment.astimezone(now.tzinfo)


def _before(now: datetime, distance: timedelta) -> datetime:
    if now.tzinfo is None or isinstance(now.tzinfo, timezone):
        return now - distance
    # In a zone with summer time the clock's hours are not the hours that have passed.
    return (now.astimezone(UTC) - distance).astimezone(now.tzinfo)


def _months_before(day: date, count: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 - count, 12)
    for last in (day.day, 30, 29, 28):
        if last <= day.day:
            try:
                return date(year, month + 1, last)
            except ValueError:
                if not 1 <= year <= 9999:
                    raise
    raise ValueError(f"no such day: {day} less {count} months")
