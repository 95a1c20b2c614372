"""The dates search providers write, as ISO 8601; what cannot be read for certain stays unknown."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

__all__ = ["iso_date"]

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            ("jan", "january"),
            ("feb", "february"),
            ("mar", "march"),
            ("apr", "april"),
            ("may",),
            ("jun", "june"),
            ("jul", "july"),
            ("aug", "august"),
            ("sep", "sept", "september"),
            ("oct", "october"),
            ("nov", "november"),
            ("dec", "december"),
        ),
        start=1,
    )
    for name in names
}
_UNITS = {
    name: unit
    for unit, names in {
        "second": "s sec secs second seconds",
        "minute": "m min mins minute minutes",
        "hour": "h hr hrs hour hours",
        "day": "d day days",
        "week": "w wk wks week weeks",
        "month": "mo mos mon month months",
        "year": "y yr yrs year years",
    }.items()
    for name in names.split()
}
_FINE = {
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
}
_LONGEST = 20_000

_RELATIVE = re.compile(
    r"^(?:(?:posted|updated|published|about|around|over|almost|nearly)\s+)*(\d{1,5}|an?|one)\s*([a-z]+)\.?\s+ago$"
)
_SHORT = re.compile(r"^(\d{1,4})\s?(m|min|mins|h|hr|hrs|d|w|wk|mo|y|yr|yrs)$")
_ISO = re.compile(
    r"^(\d{4})-(\d{1,2})-(\d{1,2})"
    r"(?:[T ]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*(Z|UTC|GMT|[+-]\d{2}:?\d{2}(?:\s+UTC)?)?)?$",
    re.IGNORECASE,
)
_YEAR_FIRST = re.compile(r"^(\d{4})[/.](\d{1,2})[/.](\d{1,2})$")
_BASIC = re.compile(r"^(\d{4})(\d{2})(\d{2})(?:T?(\d{2})(\d{2})(\d{2})(Z)?)?$")
_NUMERIC = re.compile(
    r"^(\d{1,2})([/.-])(\d{1,2})\2(\d{4})(?:,?\s+(\d{1,2}):(\d{2})(?::(\d{2}))?\s*([ap]\.?m\.?)?,?\s*([+-]\d{4})?\s*(UTC|GMT)?)?$",
    re.IGNORECASE,
)
_TIME = r"(?:,?\s+(?:at\s+)?(\d{1,2}):(\d{2})(?::(\d{2}))?\s*([ap]\.?m\.?)?\s*(UTC|GMT|Z|[+-]\d{2}:?\d{2})?)?"
_MONTH_FIRST = re.compile(
    r"^([A-Za-z]{3,9})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})" + _TIME + "$", re.IGNORECASE
)
_DAY_FIRST = re.compile(
    r"^(\d{1,2})(?:st|nd|rd|th)?[\s-]+([A-Za-z]{3,9})\.?,?[\s-]+(\d{4})" + _TIME + "$", re.IGNORECASE
)
_MONTH_YEAR = re.compile(r"^([A-Za-z]{3,9})\.?,?\s+(\d{4})$")
_WEEKDAY = re.compile(
    r"^(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s+", re.IGNORECASE
)


def iso_date(value: Any, now: datetime) -> str | None:
    """Read a provider's date as ISO 8601 in the zone of `now`, as precise as it was given; None when unknown.

    `value` may be text, or seconds or milliseconds since 1970. Text without a zone is kept without one. A
    date that could be read in two ways (03/04/2026) is unknown.
    """
    try:
        match value:
            case bool():
                return None
            case int() | float():
                return _from_number(value, now)
            case str():
                return _from_text(value.strip(), now)
            case _:
                return None
    except (ValueError, OverflowError, OSError):
        return None


def _from_number(value: float, now: datetime) -> str | None:
    if isinstance(value, int) and 1500 <= value <= 2200:
        return f"{value:04d}"
    for scale in (1, 1_000, 1_000_000):
        if 10**8 <= value / scale < 10**10:
            return _stamp(datetime.fromtimestamp(value / scale, UTC), now)
    return None


def _from_text(text: str, now: datetime) -> str | None:
    if not text or len(text) > 64:
        return None
    if text.isascii() and text.isdigit():
        return _from_digits(text, now)
    likely_relative = text.endswith(("ago", "AGO", "Ago")) or len(text) < 6 or text.isalpha()
    if likely_relative and (found := _relative(text.casefold(), now)) is not None:
        return found
    if match := _ISO.match(text):
        return _iso(match, now)
    return _written(_WEEKDAY.sub("", text), now) or _rfc(text, now) or _relative(text.casefold(), now)


def _from_digits(text: str, now: datetime) -> str | None:
    if len(text) == 8 and (match := _BASIC.match(text)):
        return date(int(match[1]), int(match[2]), int(match[3])).isoformat()
    return _from_number(int(text), now)


def _relative(text: str, now: datetime) -> str | None:
    match text:
        case "now" | "just now" | "moments ago":
            return now.isoformat(timespec="seconds")
        case "today":
            return now.date().isoformat()
        case "yesterday":
            return (now.date() - timedelta(days=1)).isoformat()
    match_ = _RELATIVE.match(text) or _SHORT.match(text)
    unit = _UNITS.get(match_[2]) if match_ else None
    if match_ is None or unit is None:
        return None
    count = int(match_[1]) if match_[1].isdigit() else 1
    if count > _LONGEST:
        return None
    if unit in _FINE:
        return (now - count * _FINE[unit]).isoformat(timespec="seconds")
    match unit:
        case "day":
            return (now.date() - timedelta(days=count)).isoformat()
        case "week":
            return (now.date() - timedelta(weeks=count)).isoformat()
        case "month":
            return _months_before(now.date(), count).isoformat()
        case _:
            return _months_before(now.date(), 12 * count).isoformat()


def _months_before(day: date, count: int) -> date:
    months = day.year * 12 + day.month - 1 - count
    year, month = divmod(months, 12)
    for last in (day.day, 30, 29, 28):
        if last <= day.day:
            try:
                return date(year, month + 1, last)
            except ValueError:
                if year < 1:
                    raise
    raise ValueError(f"no such day: {day} less {count} months")


def _iso(match: re.Match[str], now: datetime) -> str:
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    if match[4] is None:
        return date(year, month, day).isoformat()
    fraction = int((match[7] or "0")[:6].ljust(6, "0"))
    moment = datetime(  # noqa: DTZ001 - the zone, where given, is put on below
        year, month, day, int(match[4]), int(match[5]), int(match[6] or 0), fraction
    )
    return _stamp(_zoned(moment, match[8]), now)


def _written(text: str, now: datetime) -> str | None:
    """Dates with the month as a word, and numeric dates that can be read in one way only."""
    if match := _MONTH_FIRST.match(text):
        return _calendar(match[3], _MONTHS.get(match[1].lower()), match[2], match, 4, now)
    if match := _DAY_FIRST.match(text):
        return _calendar(match[3], _MONTHS.get(match[2].lower()), match[1], match, 4, now)
    if match := _MONTH_YEAR.match(text):
        month = _MONTHS.get(match[1].lower())
        return f"{match[2]}-{month:02d}" if month else None
    if match := _YEAR_FIRST.match(text):
        return date(int(match[1]), int(match[2]), int(match[3])).isoformat()
    if match := _NUMERIC.match(text):
        return _numeric(match, now)
    if match := _BASIC.match(text):
        moment = datetime(*(int(match[part]) for part in range(1, 7)))  # type: ignore[arg-type]  # noqa: DTZ001
        return _stamp(_zoned(moment, match[7]), now)
    return None


def _numeric(match: re.Match[str], now: datetime) -> str | None:
    first, second = int(match[1]), int(match[3])
    month_first = bool(match[8]) and match[2] == "/"  # only American pages write a slash date with AM or PM
    if first == second or (second > 12 >= first) or (month_first and first <= 12):
        month, day = first, second
    elif first > 12 >= second:
        month, day = second, first
    else:
        return None
    if match[5] is None:
        return date(int(match[4]), month, day).isoformat()
    moment = datetime(  # noqa: DTZ001 - the zone, where given, is put on below
        int(match[4]), month, day, _hour(int(match[5]), match[8]), int(match[6]), int(match[7] or 0)
    )
    return _stamp(_zoned(moment, match[9] or match[10]), now)


def _calendar(
    year: str, month: int | None, day: str, match: re.Match[str], time: int, now: datetime
) -> str | None:
    if month is None:
        return None
    if match[time] is None:
        return date(int(year), month, int(day)).isoformat()
    moment = datetime(  # noqa: DTZ001 - the zone, where given, is put on below
        int(year),
        month,
        int(day),
        _hour(int(match[time]), match[time + 3]),
        int(match[time + 1]),
        int(match[time + 2] or 0),
    )
    return _stamp(_zoned(moment, match[time + 4]), now)


def _hour(hour: int, half: str | None) -> int:
    if not half:
        return hour
    return hour % 12 + (12 if half[0] in "pP" else 0)


def _zoned(moment: datetime, zone: str | None) -> datetime:
    if not zone:
        return moment
    if zone.upper() in ("Z", "UTC", "GMT"):
        return moment.replace(tzinfo=UTC)
    digits = zone[1:].replace(":", "")[:4]
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:4]))
    return (moment - (offset if zone[0] == "+" else -offset)).replace(tzinfo=UTC)


def _rfc(text: str, now: datetime) -> str | None:
    if ":" not in text:
        return None
    moment = parsedate_to_datetime(text)
    return _stamp(moment, now)


def _stamp(moment: datetime, now: datetime) -> str:
    if moment.tzinfo is not None and now.tzinfo is not None:
        moment = moment.astimezone(now.tzinfo)
    return moment.isoformat(timespec="auto" if moment.microsecond else "seconds")
