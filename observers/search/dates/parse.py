"""The dates search providers write, as ISO 8601; what cannot be read for certain stays unknown."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone
from functools import lru_cache
from typing import Any

from observers.search.dates.value import Ago, Reading, Unit, iso_of, moment_text

__all__ = ["iso_date"]

_MONTH_NAMES = "january february march april may june july august september october november december"
_MONTHS = {
    name: number for number, month in enumerate(_MONTH_NAMES.split(), start=1) for name in (month, month[:3])
} | {"sept": 9}
_UNIT_NAMES: tuple[tuple[str, Unit, int], ...] = (
    ("s sec secs second seconds", "second", 1),
    ("m min mins minute minutes", "second", 60),
    ("h hr hrs hour hours", "second", 3600),
    ("d day days", "day", 1),
    ("w wk wks week weeks", "day", 7),
    ("mo mos mon month months", "month", 1),
    ("y yr yrs year years", "year", 1),
)
_UNITS = {name: (unit, count) for names, unit, count in _UNIT_NAMES for name in names.split()}
_SECONDS: dict[Unit, int] = {"second": 1, "day": 86_400}
_PLAIN: dict[str, Ago] = {
    "now": Ago("second", 0),
    "just now": Ago("second", 0),
    "moments ago": Ago("second", 0),
    "today": Ago("day", 0),
    "yesterday": Ago("day", 1),
    "tomorrow": Ago("day", -1),
    "last month": Ago("calendar month", 1),
    "last year": Ago("calendar year", 1),
}
# The abbreviations of RFC 5322, and those of Central Europe; others (IST, BST) stand for several zones.
_ZONES = {
    "Z": 0, "UT": 0, "UTC": 0, "GMT": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6,
    "PST": -8, "PDT": -7, "CET": 1, "CEST": 2,
}  # fmt: skip
_ZONE = rf"({'|'.join(sorted(_ZONES, key=len, reverse=True))}|(?:UTC|GMT)?\s?[+-]\d{{2}}:?\d{{2}}(?:\s+UTC)?)"
_NAMES_INSIDE = (
    "utc",
    "iso",
    "date-time",
    "date",
    "start_date",
    "start",
    "posted_at",
    "value",
    "raw",
    "text",
)
_LONGEST = 64
_MOST = 20_000
_EARLIEST = 1000

_LEAD = re.compile(
    r"^(?:(?:last|first|posted|updated?|published|modified|edited|added|created|released|uploaded|date"
    r"|about|around|over|almost|nearly|on|at|streamed|premiered|active)(?:\s*:\s*|\s+))+(?=\S)",
    re.IGNORECASE,
)
_COUNT = r"(\d{1,5}|an?|one)\s*([a-z]+)\.?"
_RELATIVE = re.compile(rf"{_COUNT}(?:(?:,\s*|\s+and\s+|\s+){_COUNT})?\s+ago")
_AHEAD = re.compile(rf"in\s+{_COUNT}")
_SHORT = re.compile(r"(\d{1,4})\s?(m|min|mins|h|hr|hrs|d|w|wk|mo|y|yr|yrs)")
_DAY_AND_TIME = re.compile(
    r"(today|yesterday|tomorrow),?\s+(?:at\s+)?(\d{1,2})(?::(\d{2}))?(?::(\d{2}))?\s*([ap]\.?m\.?)?"
)
_ISO = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})"
    rf"(?:[T ]+(\d{{1,2}}):(\d{{2}})(?::(\d{{2}})(?:[.,](\d{{1,9}}))?)?\s*({_ZONE[1:-1]}|[+-]\d{{2}})?)?",
    re.IGNORECASE,
)
_ISO_MONTH = re.compile(r"(\d{4})-(\d{2})")
_BASIC = re.compile(r"(\d{4})(\d{2})(\d{2})(?:T?(\d{2})(\d{2})(\d{2})?(Z)?)?")
_FRACTION = re.compile(r"\d{9,10}\.\d{1,9}")
_NUMERIC = re.compile(
    r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4})"
    rf"(?:,?\s+(\d{{1,2}}):(\d{{2}})(?::(\d{{2}}))?\s*([ap]\.?m\.?)?,?\s*{_ZONE}?)?",
    re.IGNORECASE,
)
_TIME = rf"(?:,?\s+(?:at\s+)?(\d{{1,2}}):(\d{{2}})(?::(\d{{2}}))?\s*([ap]\.?m\.?)?\s*{_ZONE}?)?"
_YEAR_FIRST = re.compile(r"(\d{4})(?:[-/.]|\.\s)(\d{1,2})(?:[-/.]|\.\s)(\d{1,2})\.?" + _TIME, re.IGNORECASE)
_MONTH_FIRST = re.compile(r"([A-Z]{3,9})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})" + _TIME, re.IGNORECASE)
_DAY_FIRST = re.compile(
    r"(\d{1,2})(?:st|nd|rd|th)?[\s-]+(?:of\s+)?([A-Z]{3,9})\.?,?[\s-]+(\d{4}|\d{2}(?=\s+\d{1,2}:\d{2}))"
    + _TIME,
    re.IGNORECASE,
)
_YEAR_LAST = re.compile(
    rf"([A-Z]{{3,9}})\s+(\d{{1,2}})\s+(\d{{1,2}}):(\d{{2}})(?::(\d{{2}}))?\s+(?:{_ZONE}\s+)?(\d{{4}})",
    re.IGNORECASE,
)
_MONTH_YEAR = re.compile(r"([A-Z]{3,9})\.?,?\s+(?:of\s+)?(\d{4})", re.IGNORECASE)
_WEEKDAY = re.compile(
    r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s+", re.IGNORECASE
)
_UNSEEN = re.compile(r"[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_DIGIT = re.compile(r"\d")
_LENGTH = re.compile(r"\d+(?:\s?m(?:ins?)?)?", re.IGNORECASE)
_BESIDE = re.compile(r"\s+[·•|]\s+")


def iso_date(value: Any, now: datetime) -> str | None:
    """Read a provider's date as ISO 8601 in the zone of `now`, as precise as it was given; None when unknown.

    `value` may be text of up to 64 characters, or seconds, milli-, micro- or nanoseconds since 1970; an object may
    hold either under a provider's name for it. Text without a zone is kept without one. What could be read in two
    ways (03/04/2026), and what would have to be filled in from today (`March`, `Monday`, `12:30`), is unknown.
    """
    try:
        if isinstance(value, dict):
            return _of_object(value, now)
        if isinstance(value, str):
            reading = _of_text(value) if len(value) <= 2 * _LONGEST else None
        elif isinstance(value, int | float) and not isinstance(value, bool):
            reading = _of_number(value)
        else:
            return None
        return None if reading is None else iso_of(reading, now)
    except (ValueError, OverflowError, OSError):
        return None


def _of_object(value: dict[Any, Any], now: datetime) -> str | None:
    """Read a date given in parts, `{"date-parts": [[2026, 7, 26]]}`, or named, `{"start_date": "Jul 29, 2026"}`."""
    match value:
        case {"date-parts": [[int(year), *rest], *_]} if len(rest) < 3 and all(
            type(part) is int for part in rest
        ):
            if not rest or not _EARLIEST <= year <= 9999:
                return _of_text_or_none(f"{year:04d}", now)
            day = date(year, rest[0], rest[1] if len(rest) > 1 else 1).isoformat()
            return day if len(rest) > 1 else day[:7]
        case _:
            texts = (value.get(name) for name in _NAMES_INSIDE)
            return next((found for text in texts if (found := _of_text_or_none(text, now)) is not None), None)


def _of_text_or_none(text: Any, now: datetime) -> str | None:
    return iso_date(text, now) if isinstance(text, str | int | float) else None


def _of_number(value: float) -> Reading | None:
    if isinstance(value, int):
        if 1500 <= value <= 2200:
            return f"{value:04d}"
        if 1500_00_00 <= value <= 2200_00_00:
            return date(value // 10_000, value // 100 % 100, value % 100).isoformat()
    for scale in (1, 1_000, 1_000_000, 1_000_000_000):
        if 10**8 <= value / scale < 10**10:
            return datetime.fromtimestamp(value / scale, UTC)
    return None


@lru_cache(maxsize=8_192)
def _of_text(text: str) -> Reading | None:
    """Read a text; what it says does not depend on the present, so that it is read once."""
    text = text.strip()
    if not text.isascii():
        text = _with_plain_characters(text)
    if not text or len(text) > _LONGEST:
        return None
    try:
        return _of_plain_text(text)
    except (ValueError, OverflowError, OSError):
        return None


def _of_plain_text(text: str) -> Reading | None:
    found = _in_english(text)
    if found is not None:
        return found
    if _BESIDE.search(text):
        # The date beside its source: "Wire · 3 hours ago"; a count of minutes there is a length.
        parts = [part for part in _BESIDE.split(text) if not _LENGTH.fullmatch(part)]
        readings = [reading for part in parts if (reading := _of_plain_text(part)) is not None]
        return readings[0] if len(readings) == 1 else None
    if (shorter := _LEAD.sub("", text)) != text:
        found = _in_english(shorter)
        if found is not None:
            return found
    # The words of other languages need a large library, which most sessions never load.
    from observers.search.dates.multilingual import foreign_date

    return foreign_date(shorter)


def _with_plain_characters(text: str) -> str:
    """The text with ASCII digits and spaces, and without marks that are not seen."""
    text = unicodedata.normalize("NFC", _UNSEEN.sub("", text))
    text = _DIGIT.sub(lambda digit: str(unicodedata.digit(digit[0])), text)
    return " ".join(text.split())


def _in_english(text: str) -> Reading | None:
    if text.isascii() and text.isdigit():
        return _of_digits(text)
    if match := _ISO.fullmatch(text):
        return _iso(match)
    return _relative(text.casefold()) or _written(_WEEKDAY.sub("", text, count=1))


def _of_digits(text: str) -> Reading | None:
    return _basic(text) if len(text) in (8, 14) else _of_number(int(text))


def _basic(text: str) -> Reading | None:
    match = _BASIC.fullmatch(text)
    if match is None:
        return None
    return _moment(match[1], match[2], match[3], match.group(4, 5, 6), zone=match[7])


def _relative(text: str) -> Ago | None:
    if text in _PLAIN:
        return _PLAIN[text]
    if match := _RELATIVE.fullmatch(text):
        return _distance(match[1], match[2], match[3], match[4])
    if match := _AHEAD.fullmatch(text):
        ahead = _distance(match[1], match[2])
        return Ago(ahead.unit, -ahead.count) if ahead else None
    if match := _SHORT.fullmatch(text):
        return _distance(match[1], match[2])
    if match := _DAY_AND_TIME.fullmatch(text):
        if match[3] is None and match[5] is None:
            return None
        at = time(_hour(int(match[2]), match[5]), int(match[3] or 0), int(match[4] or 0))
        return Ago("day", _PLAIN[match[1]].count, at)
    return None


def _distance(count: str, unit: str, count_2: str | None = None, unit_2: str | None = None) -> Ago | None:
    first = _step(count, unit)
    if first is None or count_2 is None or unit_2 is None:
        return first
    second = _step(count_2, unit_2)
    if second is None or second.unit != "second" or first.unit not in _SECONDS:
        return None
    return Ago("second", first.count * _SECONDS[first.unit] + second.count)


def _step(count: str, unit: str) -> Ago | None:
    found = _UNITS.get(unit)
    number = int(count) if count.isdigit() else 1
    return Ago(found[0], number * found[1]) if found and number <= _MOST else None


def _iso(match: re.Match[str]) -> Reading | None:
    if match[4] is None:
        return _day(match[1], match[2], match[3])
    fraction = int((match[7] or "0")[:6].ljust(6, "0"))
    return _moment(
        match[1], match[2], match[3], (match[4], match[5], match[6]), zone=match[8], fraction=fraction
    )


def _written(text: str) -> Reading | None:
    """Dates with the month as a word, and numeric dates that can be read in one way only."""
    if match := _MONTH_FIRST.fullmatch(text):
        return _calendar(match[3], match[1], match[2], match.group(4, 5, 6), match[7], match[8])
    if match := _DAY_FIRST.fullmatch(text):
        return _calendar(match[3], match[2], match[1], match.group(4, 5, 6), match[7], match[8])
    if match := _YEAR_LAST.fullmatch(text):
        return _calendar(match[7], match[1], match[2], match.group(3, 4, 5), None, match[6])
    if match := _MONTH_YEAR.fullmatch(text):
        month = _MONTHS.get(match[1].lower())
        return f"{match[2]}-{month:02d}" if month else None
    if match := _ISO_MONTH.fullmatch(text):
        # "2011-12" may well be a season of two years.
        is_season = int(match[2]) == (int(match[1]) + 1) % 100
        return text if 1 <= int(match[2]) <= 12 and not is_season else None
    if match := _YEAR_FIRST.fullmatch(text):
        return _moment(match[1], match[2], match[3], match.group(4, 5, 6), half=match[7], zone=match[8])
    if match := _NUMERIC.fullmatch(text):
        return _numeric(match)
    if _FRACTION.fullmatch(text):
        return _of_number(float(text))
    return _basic(text)


def _numeric(match: re.Match[str]) -> Reading | None:
    first, second = int(match[1]), int(match[3])
    month_first = bool(match[8]) and match[2] == "/"  # only American pages write a slash date with AM or PM
    if first == second or (second > 12 >= first) or (month_first and first <= 12):
        month, day = first, second
    elif first > 12 >= second:
        month, day = second, first
    else:
        return None
    return _moment(match[4], month, day, match.group(5, 6, 7), half=match[8], zone=match[9])


def _calendar(
    year: str, name: str, day: str, clock: Sequence[str | None], half: str | None, zone: str | None
) -> Reading | None:
    month = _MONTHS.get(name.lower())
    if month is None:
        return None
    if len(year) == 2:  # as RFC 5322 reads it
        year = f"{'20' if int(year) < 50 else '19'}{year}"
    return _moment(year, month, day, clock, half=half, zone=zone)


def _day(year: str, month: str | int, day: str | int) -> str | None:
    # Programs write the year 1 for a date they do not have.
    return date(int(year), int(month), int(day)).isoformat() if int(year) >= _EARLIEST else None


def _moment(
    year: str,
    month: str | int,
    day: str | int,
    clock: Sequence[str | None],
    *,
    half: str | None = None,
    zone: str | None = None,
    fraction: int = 0,
) -> Reading | None:
    """A day or a moment of it; text when it has no zone, so that none is put on it."""
    if clock[0] is None:
        return _day(year, month, day)
    if int(year) < _EARLIEST:
        return None
    hour, minute, second = (int(part or 0) for part in clock)
    moment = datetime(  # noqa: DTZ001 - the zone, where given, is put on below
        int(year), int(month), int(day), _hour(hour, half), minute, second, fraction
    )
    return moment_text(moment) if not zone else moment.replace(tzinfo=_zone(zone.strip().upper()))


def _hour(hour: int, half: str | None) -> int:
    if not half:
        return hour
    if not 1 <= hour <= 12:
        raise ValueError(f"no such hour of half a day: {hour}")
    return hour % 12 + (12 if half[0] in "pP" else 0)


def _zone(name: str) -> timezone:
    if name in _ZONES:
        return timezone(timedelta(hours=_ZONES[name]))
    sign, digits = re.sub(r"UTC|GMT|[\s:]", "", name)[0], re.sub(r"\D", "", name)
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:4] or 0))
    return timezone(-offset if sign == "-" else offset)
