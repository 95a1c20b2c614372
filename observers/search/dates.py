"""The dates search providers write, as ISO 8601; what cannot be read for certain stays unknown.

English is read here; other languages are first put into English with the words of `dateparser`, a large library that
is imported when it is first needed.
"""

from __future__ import annotations

import json
import re
import unicodedata
from calendar import monthrange
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from functools import cache, lru_cache
from typing import Any, Literal

import msgspec

from ua_tui.core.json_values import table_of


class _Ago(msgspec.Struct, frozen=True):
    """A distance back from now, as exact as `unit`."""

    unit: Literal["second", "day", "month"]
    count: int


class _Yearless(msgspec.Struct, frozen=True):
    """A day without its year, with the time of day and the number of the weekday if the text says them."""

    month: int
    day: int
    at: time | None
    weekday: int | None


# ISO 8601 text that is final, a moment with a zone, or what becomes either once the present is known.
_Reading = str | datetime | _Ago | _Yearless

_LONGEST = 64
_YEARS = range(1500, 2201)
_DATA: dict[str, Any] = table_of(__file__, "dates.toml")
_MONTHS: dict[str, int]
_WEEKDAYS: dict[str, int]
_MONTHS, _WEEKDAYS = (
    {name: number for number, names in enumerate(_DATA[each], first) for name in names.split()}
    for each, first in (("months", 1), ("weekdays", 0))
)
_NOISE = {*_WEEKDAYS, "of", "the", "at"}
_UNITS = {name: _Ago(*step) for names, step in _DATA["units"].items() for name in names.split()}
_SHORT_UNITS = _DATA["short_units"].split()
_PLAIN = {name: _Ago(*step) for name, step in _DATA["plain"].items()}
_ZONES: dict[str, str] = _DATA["zones"]
_NAMES_INSIDE = "utc iso date-time date start_date start posted_at value raw text"
_BESIDE = re.compile(r"\s+[·•|]\s+")
_STEP = re.compile(r"(\d{1,4}|an?|one)\s*([a-z]+)")
_CLOCK = re.compile(
    r"(?:^|,?\s+(?:at\s+)?|(?<=\d)t)(\d{1,2})(?=:|\s*[ap]\.?m)(?::(\d\d))?(?::(\d\d(?:[.,]\d{1,9})?))?"
    rf"\s*(?:([ap])\.?m\b\.?)?(?:,?\s*({'|'.join(_ZONES)}|(?:utc|gmt)?\s?[+-]\d\d(?::?\d\d)?(?:\s+utc)?))?(?=[\s,]|$)"
)
_BETWEEN = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b|[\s.,-]+")
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

    Tomorrow counts as well: it has begun where the clocks are ahead. If the text says another day of the week, the
    year is unknown.
    """
    reading = _reading(value) if isinstance(value, str) else None
    if not isinstance(reading, _Yearless):
        return None
    latest = now.date() + timedelta(days=1)
    for year in range(latest.year, latest.year - 9, -1):
        with suppress(ValueError):  # 29 February
            if (found := date(year, reading.month, reading.day)) <= latest:
                if reading.weekday not in (None, found.weekday()):
                    return None
                return _iso_of(_in_calendar(year, reading.month, reading.day, at=reading.at), now)
    return None


def _iso_of(reading: _Reading | None, now: datetime) -> str | None:
    match reading:
        case str():
            return reading
        case datetime() if reading.time() == time.min:
            # A day that was written as its first moment would be the day before, farther west.
            return reading.date().isoformat()
        case datetime():
            return reading.astimezone(now.tzinfo).isoformat()
        case _Ago("second", count):
            # In a zone with summer time the clock's hours are not the hours that have passed.
            moment = (now.astimezone(UTC) - timedelta(seconds=count)).astimezone(now.tzinfo)
            return moment.isoformat(timespec="seconds")
        case _Ago("day", count):
            return (now.date() - timedelta(days=count)).isoformat()
        case _Ago("month", count):
            year, month = divmod(now.year * 12 + now.month - 1 - count, 12)
            return date(year, month + 1, min(now.day, monthrange(year, month + 1)[1])).isoformat()
        case _:
            return None


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
    if not text.isascii():
        # ASCII digits, and no marks that are not seen.
        seen = (each for each in unicodedata.normalize("NFC", text) if unicodedata.category(each) != "Cf")
        text = "".join(str(unicodedata.decimal(each, each)) for each in seen)
    text = " ".join(text.split())
    if not text or len(text) > _LONGEST:
        return None
    if (found := _in_english(text)) is not None:
        return found
    if len(parts := _BESIDE.split(text)) > 1:
        # The date beside its source: "Wire · 3 hours ago"; a count of minutes there is a length.
        readings = {_of_text(part) for part in parts if not _STEP.fullmatch(part)} - {None}
        return readings.pop() if len(readings) == 1 else None
    # Without the words before it, such as `Updated:`.
    words = text.split()
    while len(words) > 1 and words[0].rstrip(":").casefold() in _DATA["before"].split():
        del words[: 2 if words[1] == ":" else 1]
    bare = " ".join(words)
    if bare != text and (found := _in_english(bare)) is not None:
        return found
    readings = {_in_english(english, order) for english, order in _translations(bare)} - {None}
    return readings.pop() if len(readings) == 1 else None


def _in_english(text: str, order: str = "") -> _Reading | None:
    """Read English text; `order` says what 03/04/2026 is, if that is known: `DMY` or `MDY`."""
    with suppress(ValueError, OverflowError, OSError):
        return _moment(text) or _iso(text) or _relative(text.casefold()) or _written(text.casefold(), order)
    return None


def _moment(text: str) -> datetime | None:
    """Read a number of seconds since 1970, or of a thousand, million or billion times as many parts of one."""
    if not text.replace(".", "", 1).isdigit() or not 1e8 <= (number := float(text)) < 1e20:
        return None
    while number >= 1e11:
        number /= 1000
    moment = datetime.fromtimestamp(number, UTC)
    return moment if moment.year in _YEARS else None


def _iso(text: str) -> _Reading | None:
    with suppress(ValueError):
        moment = datetime.fromisoformat(text)
        return _in_calendar(
            moment.year, moment.month, moment.day, at=moment.timetz() if len(text) > 10 else None
        )
    return None


def _relative(text: str) -> _Ago | None:
    words = text.replace(".", " ").split()
    step = _STEP.fullmatch(" ".join(word for word in words if word != "ago"))
    if text in _PLAIN or step is None or not ("ago" in words or step[2] in _SHORT_UNITS):
        return _PLAIN.get(text)
    unit = _UNITS.get(step[2])
    return _Ago(unit.unit, unit.count * (int(step[1]) if step[1].isdigit() else 1)) if unit else None


def _written(text: str, order: str) -> _Reading | None:
    """Read a day, in words or figures, perhaps with a time of day and a day of the week."""
    clock = _CLOCK.search(text)
    at = _time(*clock.groups()) if clock else None
    day = (f"{text[: clock.start()]} {text[clock.end() :]}" if clock else text).strip(" ,")
    if at and (ago := _relative(day)):
        return ago if ago.unit == "day" else None
    if clock and clock[4] and "/" in day:  # only American pages write a slash date with AM or PM
        order = "MDY"
    said = _BETWEEN.sub(" ", day).split()
    words = [word for word in said if word not in _NOISE]
    if figures := _FIGURES.fullmatch(day):
        return _in_figures(order, at, *figures.groups())
    months = [_MONTHS[word] for word in words if word in _MONTHS]
    years, days = (
        [int(word) for word in words if word.isdigit() and len(word) in size] for size in ((4,), (1, 2))
    )
    counters = words.count("year") + words.count("day") if months else 0  # 2026年11月5日
    if len(months) + len(years) + len(days) + counters != len(words) or (at and not days):
        return None
    match years, months, days:
        case [], [month], [day_of_month]:
            weekday = next((_WEEKDAYS[word] for word in said if word in _WEEKDAYS), None)
            return _Yearless(month, date(2024, month, day_of_month).day, at, weekday)
        case [], [month], [day_of_month, year] if at:  # as RFC 5322 reads it
            return _in_calendar(year + (2000 if year < 50 else 1900), month, day_of_month, at=at)
        case ([year], [], []) | ([year], [_], [] | [_]):
            return _in_calendar(year, *months, *days, at=at)
        case _:
            return None


def _in_figures(
    order: str, at: time | None, first: str, mark: str, second: str, third: str | None
) -> _Reading | None:
    one, two = int(first), int(second)
    if len(first) == 4 and third:
        return _in_calendar(one, two, int(third), at=at)
    if not third:
        # "2011-12" may well be a season of two years.
        is_month = mark == "-" and len(second) == 2 and (one + 1 - two) % 100
        return _in_calendar(one, two) if is_month and not at else None
    if one == two or two > 12 >= one or order == "MDY":
        return _in_calendar(int(third), one, two, at=at)
    return _in_calendar(int(third), two, one, at=at) if one > 12 >= two or order == "DMY" else None


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


def _time(hour: str, minute: str | None, second: str | None, half: str | None, zone: str | None) -> time:
    number = int(hour)
    if half:  # no hour but these has a half
        number = (12, *range(1, 12)).index(number) + (12 if half == "p" else 0)
    offset = _ZONES.get(zone or "") or (zone or "").replace("utc", "").replace("gmt", "").replace(" ", "")
    return time.fromisoformat(f"{number:02d}:{minute or '00'}:{second or '00'}{offset}")


_UNSPACED = ("zh", "zh-Hant", "ja", "ko", "th")
# "Listopad" is November in Polish and October in Croatian, where the day before it has a full stop.
_NOT = {"pl": re.compile(r"\d\.\s*[^\W\d_]"), "hr": re.compile(r"\d\s+[^\W\d_]+\s+\d{4}")}
_LETTERS = re.compile(r"[^\W\d_]+")
_OPTIONAL = re.compile(r"\w\?")


def _translations(text: str) -> Iterator[tuple[str, str]]:
    """A date in English, once for each language it may be in, with that language's order (`DMY`).

    Languages that do not know all words of the text are left out.
    """
    if not 0 < len(words := _bare_words(text)) <= 8:
        return
    from dateparser.conf import settings  # type: ignore[import-untyped]
    from dateparser.languages.loader import default_loader  # type: ignore[import-untyped]

    scripts = {unicodedata.name(letter, "").partition(" ")[0] for letter in text if letter.isalpha()}
    languages = next(
        (names for script, names in _DATA["scripts"].items() if script in scripts), _DATA["latin"]
    )
    for language in languages.split():
        is_odd = language in _NOT and _NOT[language].search(text)
        if is_odd or not (language in _UNSPACED or words - _ZONES.keys() <= _vocabulary(language)):
            continue
        locale = default_loader.get_locale(language)
        # The texts come from anywhere, and so may the errors they cause.
        with suppress(Exception):
            english = locale.translate(text, settings=settings)
            periods = locale.info.get("relative-type", {}).get(english, ())
            # "Last week" is a period, which the library takes for a distance.
            if "day" in english or "second" in english or text.lower() not in periods:
                yield english.strip().removesuffix(" year."), locale.info.get("date_order", "")


@cache
def _vocabulary(language: str) -> frozenset[str]:
    from dateparser.languages.loader import default_loader

    info = json.dumps(default_loader.get_locale(language).info, ensure_ascii=False)
    # Patterns leave out what their question marks make optional.
    return frozenset(_bare_words(f"{info} {_OPTIONAL.sub('', info)} {info.replace('?', '')}"))


def _bare_words(text: str) -> set[str]:
    folded = unicodedata.normalize("NFKD", text).casefold()
    return set(_LETTERS.findall("".join(part for part in folded if not unicodedata.combining(part))))
