"""The dates search providers write, as ISO 8601; what cannot be read for certain stays unknown."""

from __future__ import annotations

import re
import unicodedata
from calendar import monthrange
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Any, Literal

import msgspec
from msgspec.structs import replace


class _Ago(msgspec.Struct, frozen=True):
    """A distance back from now, as exact as `unit`, or as the first `length` characters; negative ones lie ahead."""

    unit: Literal["second", "day", "month"]
    count: int
    at: time | None = None
    length: int | None = None


class _Yearless(msgspec.Struct, frozen=True):
    """A day without its year, with the day of the week (0 is Monday) and the time of day if the text says them."""

    month: int
    day: int
    weekday: int | None
    at: time | None


# ISO 8601 text that is final, a moment with a zone, or what becomes either once the present is known.
_Reading = str | datetime | _Ago | _Yearless

_LONGEST = 64
_YEARS = range(1500, 2201)
_MONTH_NAMES = "january february march april may june july august september october november december"
_MONTHS = {
    name: number for number, month in enumerate(_MONTH_NAMES.split(), start=1) for name in (month, month[:3])
} | {"sept": 9}
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_UNITS = {
    name: step
    for step, names in (
        (_Ago("second", 1), "s sec secs second seconds"),
        (_Ago("second", 60), "m min mins minute minutes"),
        (_Ago("second", 3600), "h hr hrs hour hours"),
        (_Ago("day", 1), "d day days"),
        (_Ago("day", 7), "w wk wks week weeks"),
        (_Ago("month", 1), "mo mos mon month months"),
        (_Ago("month", 12), "y yr yrs year years"),
    )
    for name in names.split()
}
_PLAIN = dict.fromkeys(("now", "just now", "moments ago"), _Ago("second", 0)) | {
    "today": _Ago("day", 0),
    "yesterday": _Ago("day", 1),
    "tomorrow": _Ago("day", -1),
    "last month": _Ago("month", 1, length=7),
    "last year": _Ago("month", 12, length=4),
}
# The abbreviations of RFC 5322, and those of Central Europe; others (IST, BST) stand for several zones.
_ZONES = dict.fromkeys(("z", "ut", "utc", "gmt"), "+00") | {
    "est": "-05", "edt": "-04", "cst": "-06", "cdt": "-05", "mst": "-07", "mdt": "-06", "pst": "-08", "pdt": "-07",
    "cet": "+01", "cest": "+02",
}  # fmt: skip
_NAMES_INSIDE = "utc iso date-time date start_date start posted_at value raw text"

_LEAD = re.compile(
    r"^(?:(?:last|first|posted|updated?|published|modified|edited|added|created|released|uploaded|date"
    r"|about|around|over|almost|nearly|on|at|streamed|premiered|active|publicad[oa]|a[ck]tuali[sz]ad[oa]"
    r"|atualizad[oa]|publiée?|mis à jour|modifié|veröffentlicht|aktualisiert|stand|pubblicato|aggiornato"
    r"|gepubliceerd|bijgewerkt|opublikowano|опубликовано|обновлено|добавлено)(?:\s*:\s*|\s+))+(?=\S)",
    re.IGNORECASE,
)
_BESIDE = re.compile(r"\s+[·•|]\s+")
_LENGTH = re.compile(r"\d+(?:\s?m(?:ins?)?)?", re.IGNORECASE)
_UNSEEN = re.compile(r"[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_EPOCH = re.compile(r"(\d{9,10})(?:(\d{3}|\d{6}|\d{9})(?:\.0)?|\.(\d{1,9}))?")
_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]|$)|\d{8}(?:T|$)")
_AGO = re.compile(r"[\s.]*\bago\b[\s.]*")
_SHORT = re.compile(r"\d{1,4}\s?(?:m|min|mins|h|hr|hrs|d|w|wk|mo|y|yr|yrs)")
_STEP = re.compile(r"(\d{1,4}|an?|one)\s*([a-z]+)\.?(?:,\s*|\s+and\s+|\s+|$)")
_CLOCK = re.compile(
    r"(?:^|,?\s+(?:at\s+)?|(?<=\d)t)(\d{1,2})(?=:|\s*[ap]\.?m)(?::(\d\d))?(?::(\d\d(?:[.,]\d{1,9})?))?"
    rf"\s*(?:([ap])\.?m\b\.?)?(?:,?\s*({'|'.join(_ZONES)}|(?:utc|gmt)?\s?[+-]\d\d(?::?\d\d)?(?:\s+utc)?))?(?=[\s,]|$)"
)
_WEEKDAY = re.compile(r"\b(mon|tue|wed|thu|fri|sat|sun)(?:s|nes|rs|ur)?(?:day)?\b\.?")
_BETWEEN = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b|\bof\b|[\s.,-]+")
_FIGURES = re.compile(r"(\d{1,4})([-/.]\s?)(\d{1,2})(?:\2(\d{1,4})\.?)?")


def iso_date(value: Any, now: datetime) -> str | None:
    """Read a provider's date as ISO 8601 in the zone of `now`, as precise as it was given; None when unknown.

    `value` may be text of up to 64 characters, or seconds, milli-, micro- or nanoseconds since 1970; an object may
    hold either under a provider's name for it. Text without a zone is kept without one. What could be read in two
    ways (03/04/2026), and what would have to be filled in from today (`March`, `Monday`, `12:30`), is unknown.
    """
    with suppress(ValueError, OverflowError):
        return _iso_of(_reading(value), now)
    return None


def inferred_date(value: Any, now: datetime) -> str | None:
    """Read a day without its year (`Nov 5`) as the latest such day up to `now`; None for anything else.

    Tomorrow counts as well: it has begun where the clocks are ahead. A day that is not on the day of the week the
    text says is None.
    """
    reading = _reading(value) if isinstance(value, str) else None
    if not isinstance(reading, _Yearless):
        return None
    latest = now.date() + timedelta(days=1)
    for year in range(latest.year, latest.year - 9, -1):
        with suppress(ValueError):  # 29 February
            day = date(year, reading.month, reading.day)
            if day <= latest:
                is_it = reading.weekday in (None, day.weekday())
                return _iso_of(_in_calendar(year, day.month, day.day, at=reading.at), now) if is_it else None
    return None


def _iso_of(reading: _Reading | None, now: datetime) -> str | None:
    match reading:
        case str():
            return reading
        case datetime():
            return reading.astimezone(now.tzinfo).isoformat()
        case _Ago("second", count):
            # In a zone with summer time the clock's hours are not the hours that have passed.
            moment = (now.astimezone(UTC) - timedelta(seconds=count)).astimezone(now.tzinfo)
            return moment.isoformat(timespec="seconds")
        case _Ago(unit, count, at, length):
            day = now.date()
            day = day - timedelta(days=count) if unit == "day" else _months_before(day, count)
            return day.isoformat()[:length] if at is None else datetime.combine(day, at).isoformat()
        case _:
            return None


def _months_before(day: date, count: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 - count, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def _reading(value: Any) -> _Reading | None:
    match value:
        case bool():
            return None
        case str() | int() | float():
            text = str(value)
            return _of_text(text) if len(text) <= 2 * _LONGEST else None
        case {"date-parts": [[*parts], *_]} if 0 < len(parts) < 4 and set(map(type, parts)) == {int}:
            return _in_calendar(*parts)
        case dict():
            parts = [value.get(name) for name in _NAMES_INSIDE.split()]
            readings = [_reading(part) for part in parts if isinstance(part, str | int | float)]
            # An event whose year is not given lies ahead more often than not.
            return next((found for found in readings if found and not isinstance(found, _Yearless)), None)
        case _:
            return None


@lru_cache(maxsize=8_192)
def _of_text(text: str) -> _Reading | None:
    """Read a text; what it says does not depend on the present, so that it is read once."""
    text = text.strip()
    if not text.isascii():
        # ASCII digits and spaces, and no marks that are not seen.
        text = unicodedata.normalize("NFC", _UNSEEN.sub("", text))
        text = re.sub(r"\d", lambda digit: str(unicodedata.digit(digit[0])), text)
        text = " ".join(text.split())
    if not text or len(text) > _LONGEST:
        return None
    if (found := _in_english(text)) is not None:
        return found
    if len(parts := _BESIDE.split(text)) > 1:
        # The date beside its source: "Wire · 3 hours ago"; a count of minutes there is a length.
        readings = {_of_text(part) for part in parts if not _LENGTH.fullmatch(part)} - {None}
        return readings.pop() if len(readings) == 1 else None
    bare = _LEAD.sub("", text, count=1)
    if bare != text and (found := _in_english(bare)) is not None:
        return found
    # The words of other languages need a large library, which most sessions never load.
    from ua_tui.observers.search.dates.multilingual import translations

    readings = {_in_english(english, order) for english, order in translations(bare)} - {None}
    return readings.pop() if len(readings) == 1 else None


def _in_english(text: str, order: str = "") -> _Reading | None:
    """Read English text; `order` says what 03/04/2026 is, if that is known: `DMY` or `MDY`."""
    with suppress(ValueError, OverflowError, OSError):
        if match := _EPOCH.fullmatch(text):
            return datetime.fromtimestamp(float(f"{match[1]}.{match[2] or match[3] or 0}"), UTC)
        if text.isdigit() and len(text) == 14:
            text = f"{text[:8]}T{text[8:]}"
        return _iso(text) or _relative(text.casefold()) or _written(text.casefold(), order)
    return None


def _iso(text: str) -> _Reading | None:
    with suppress(ValueError):
        if _ISO.match(text):
            moment = datetime.fromisoformat(text)
            at = moment.timetz() if len(text) > 10 else None
            return _in_calendar(moment.year, moment.month, moment.day, at=at)
    return None


def _written(text: str, order: str) -> _Reading | None:
    """Read a day, in words or figures, perhaps with a time of day and a day of the week."""
    clock = _CLOCK.search(text)
    at = _time(*clock.groups()) if clock else None
    day = f"{text[: clock.start()]} {text[clock.end() :]}" if clock else text
    if at and (ago := _relative(day.strip(" ,"))):
        return replace(ago, at=at) if ago.unit == "day" and at.tzinfo is None else None
    if clock and clock[4] and "/" in day:  # only American pages write a slash date with AM or PM
        order = "MDY"
    named = _WEEKDAY.search(day)
    day = (f"{day[: named.start()]} {day[named.end() :]}" if named else day).strip(" ,")
    weekday = _WEEKDAYS.index(named[1]) if named else None
    if figures := _FIGURES.fullmatch(day):
        return _in_figures(order, at, *figures.groups())
    return _in_words(_BETWEEN.sub(" ", day).split(), weekday, at)


def _in_figures(
    order: str, at: time | None, first: str, mark: str, second: str, third: str | None
) -> _Reading | None:
    if len(first) == 4 and third:
        return _in_calendar(int(first), int(second), int(third), at=at)
    if third:
        return _in_calendar(int(third), *_in_order(int(first), int(second), order), at=at)
    # "2011-12" may well be a season of two years.
    is_month = mark == "-" and len(second) == 2 and (int(first) + 1 - int(second)) % 100
    return _in_calendar(int(first), int(second)) if is_month and not at else None


def _in_words(words: list[str], weekday: int | None, at: time | None) -> _Reading | None:
    """Read a year, or a month's name with a day, a year or both, in any order."""
    months = [_MONTHS[word] for word in words if word in _MONTHS]
    years, days = _numbers(words, 4), _numbers(words, 1, 2)
    counters = words.count("year") + words.count("day") if months else 0  # 2026年11月5日
    if len(months) + len(years) + len(days) + counters != len(words) or (at and not days):
        return None
    match years, months, days:
        case [], [month], [day]:
            return _Yearless(month, date(2024, month, day).day, weekday, at)
        case [], [month], [day, year] if at:  # as RFC 5322 reads it
            return _in_calendar(year + (2000 if year < 50 else 1900), month, day, at=at)
        case [year], [], []:
            return _in_calendar(year)
        case [year], [month], [] | [_]:
            return _in_calendar(year, month, *days, at=at)
        case _:
            return None


def _numbers(words: list[str], *lengths: int) -> list[int]:
    return [int(word) for word in words if word.isdigit() and len(word) in lengths]


def _in_order(first: int, second: int, order: str) -> tuple[int, int]:
    """Which of two numbers is the month, and which the day."""
    if first == second or second > 12 >= first or order == "MDY":
        return first, second
    if first > 12 >= second or order == "DMY":
        return second, first
    raise ValueError(f"no telling which is the month: {first} or {second}")


def _in_calendar(year: int, month: int = 0, day: int = 0, *, at: time | None = None) -> _Reading | None:
    """A date as exact as its parts are; a month and a day of 0 are not known."""
    # Programs write the year 1 for a date they do not have, and Thailand is in its 26th century.
    if year not in _YEARS or (day and not month):
        return None
    whole = date(year, month or 1, day or 1)
    if at is None:
        return whole.isoformat()[: 10 if day else 7 if month else 4]
    moment = datetime.combine(whole, at)
    # Text without a zone stays without one.
    return moment if at.tzinfo else moment.isoformat()


def _relative(text: str) -> _Ago | None:
    bare = _AGO.sub(" ", text).strip().removeprefix("in ")
    if text in _PLAIN or (bare == text and not _SHORT.fullmatch(text)) or _STEP.sub("", bare):
        return _PLAIN.get(text)
    match [(_UNITS.get(unit), int(count) if count.isdigit() else 1) for count, unit in _STEP.findall(bare)]:
        case [(_Ago(unit, size), count)]:
            total = count * size
        case [(_Ago("second" | "day" as larger, size), count), (_Ago("second", smaller), more)]:
            unit, total = "second", count * size * (86_400 if larger == "day" else 1) + more * smaller
        case _:
            return None
    return _Ago(unit, -total if text.startswith("in ") else total)


def _time(hour: str, minute: str | None, second: str | None, half: str | None, zone: str | None) -> time:
    number = int(hour)
    if half:  # no hour but these has a half
        number = (12, *range(1, 12)).index(number) + (12 if half == "p" else 0)
    offset = _ZONES.get(zone or "") or re.sub(r"utc|gmt|\s", "", zone or "")
    return time.fromisoformat(f"{number:02d}:{minute or '00'}:{second or '00'}{offset}")
