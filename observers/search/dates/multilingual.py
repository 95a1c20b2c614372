"""Dates in other languages than English, if they are complete and unambiguous.

`dateparser` knows the words of many languages but fills in whatever a text leaves out. So each text is read
twice, under assumptions as unlike as can be (another present, the past or the future preferred): what the two
readings do not share was made up. And it is read in every language that may be meant: when two of them take
it differently, it is unknown.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from observers.search.dates.value import Ago, Reading, moment_text

if TYPE_CHECKING:
    from dateparser.date import (  # type: ignore[import-untyped]
        DateData,
        DateDataParser,
    )

__all__ = ["foreign_date"]

_LONGEST = 64
_YEARS = (1500, 2200)
_LATIN_NAMES = "en es de fr pt it nl pl sv da nb fi cs sk hu ro hr sl tr vi id ms ca lt lv et"
_LATIN = tuple(_LATIN_NAMES.split())
_SCRIPTS = (
    ("CYRILLIC", ("ru", "uk", "bg", "sr", "be", "mk")),
    ("GREEK", ("el",)),
    ("ARABIC", ("ar", "fa", "ur")),
    ("HEBREW", ("he",)),
    ("DEVANAGARI", ("hi", "mr")),
    ("BENGALI", ("bn",)),
    ("THAI", ("th",)),
    ("HANGUL", ("ko",)),
    ("HIRAGANA", ("ja",)),
    ("KATAKANA", ("ja",)),
    ("CJK", ("zh", "zh-Hant", "ja")),
)
# Words that make a date without any number: "a month ago", "yesterday".
_RELATIVE_WORDS = (
    "un una uno une um uma ein eine einem einer einen een bir jeden jedna jednu egy yksi hace vor geleden sedan "
    "siden sitten temu před önce acum há один одну назад тому преди منذ قبل πριν ayer hoy anteayer gestern heute "
    "vorgestern hier aujourd ontem hoje anteontem ieri oggi gisteren vandaag eergisteren wczoraj dzisiaj dziś "
    "przedwczoraj igår idag går eilen tänään včera dnes včeraj danes tegnap jučer danas dün bugün kemarin semalam "
    "ahir avui vakar šiandien šodien eile täna azi вчера сегодня позавчера вчора сьогодні днес јуче данас أمس اليوم "
    "دیروز امروز אתמול היום χθες σήμερα"
)
_RELATIVE = frozenset(_RELATIVE_WORDS.split())
_UNSPACED_NEAR = re.compile("昨天|今天|前天|昨日|今日|おととい|きのう|어제|오늘|그저께|เมื่อวาน|วันนี้|前$|전$")
_LEAD = re.compile(
    r"^(?:(?:publicad[oa]|actualizad[oa]|atualizad[oa]|publié|publiée|mis à jour|modifié|veröffentlicht"
    r"|aktualisiert|stand|pubblicato|aggiornato|gepubliceerd|bijgewerkt|opublikowano|опубликовано|обновлено"
    r"|добавлено)\s*:?\s+(?:(?:el|le|am|il|em|op|on|den|dnia)\s+)?)",
    re.IGNORECASE,
)
_ZONES = frozenset({"utc", "gmt", "cet", "cest"})
_UNSPACED = frozenset({"zh", "zh-Hant", "ja", "ko", "th"})
_OPTIONAL = re.compile(r"\w\?")
_ORDINAL = re.compile(r"\d\.\s*[^\W\d_]")
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_FRACTION = re.compile(r"\d[.,]\d")
_LETTERS = re.compile(r"[^\W\d_]+")
_NUMBERS = re.compile(r"\d+")
_SHARED = {"RETURN_TIME_AS_PERIOD": True, "PARSERS": ["relative-time", "absolute-time"], "TIMEZONE": "UTC"}
# The odd microseconds mark a result that was counted from the present.
_PRESENTS = (datetime(2001, 1, 1, 0, 0, 1, 444_444), datetime(2009, 7, 1, 23, 59, 58, 555_555))  # noqa: DTZ001
_ASSUMPTIONS: tuple[dict[str, Any], ...] = (
    _SHARED
    | {
        "RELATIVE_BASE": _PRESENTS[0],
        "PREFER_DATES_FROM": "past",
        "PREFER_DAY_OF_MONTH": "first",
        "PREFER_MONTH_OF_YEAR": "first",
    },
    _SHARED
    | {
        "RELATIVE_BASE": _PRESENTS[1],
        "PREFER_DATES_FROM": "future",
        "PREFER_DAY_OF_MONTH": "last",
        "PREFER_MONTH_OF_YEAR": "last",
    },
)
_lock = threading.Lock()


def foreign_date(text: str) -> Reading | None:
    """Read a date in another language; None when it is none, or not whole, or to be read in two ways.

    `text` has ASCII digits and is tried up to 64 characters. The library is loaded by the first text that may
    be a date. Safe to use from several threads.
    """
    text = _LEAD.sub("", text)
    if len(text) > _LONGEST or not _may_be_date(text):
        return None
    languages = _languages_of(text)
    with _lock:
        if not (applying := [language for language in languages if _knows(language, text)]):
            return None
        readings = {reading for language in applying if (reading := _read(text, language)) is not None}
    return readings.pop() if len(readings) == 1 else None


def _may_be_date(text: str) -> bool:
    if not any(character.isalpha() for character in text):
        return False
    if _NUMBERS.search(text):
        return len(_NUMBERS.findall(text)) <= 8
    words = _LETTERS.findall(text.casefold())
    return len(words) <= 6 and (not _RELATIVE.isdisjoint(words) or _UNSPACED_NEAR.search(text) is not None)


def _languages_of(text: str) -> tuple[str, ...]:
    """The languages that a text may be in, by the script of its letters."""
    scripts = {unicodedata.name(letter, "").partition(" ")[0] for letter in text if letter.isalpha()}
    return next((languages for script, languages in _SCRIPTS if script in scripts), _LATIN)


def _knows(language: str, text: str) -> bool:
    """Whether a language has all words of a text: a cheap test that all but dates fail."""
    # "listopad" is November in Polish and October in Croatian, where the day before it has a full stop.
    if (language == "pl" and _ORDINAL.search(text)) or (
        language == "hr" and _YEAR.search(text) and not _ORDINAL.search(text)
    ):
        return False
    return language in _UNSPACED or _bare_words(text) - _ZONES <= _vocabulary(language)


@cache
def _vocabulary(language: str) -> frozenset[str]:
    from dateparser.languages.loader import default_loader  # type: ignore[import-untyped]

    info = default_loader.get_locale(language).info
    return frozenset(word for text in _texts_in(info) for word in _bare_words(text))


def _texts_in(value: Any) -> Iterator[str]:
    match value:
        case str():
            # Patterns leave out what their question marks make optional.
            yield from {value, _OPTIONAL.sub("", value), value.replace("?", "")}
        case dict():
            for key, inner in value.items():
                yield from _texts_in(key)
                yield from _texts_in(inner)
        case list() | tuple():
            for inner in value:
                yield from _texts_in(inner)


def _bare_words(text: str) -> set[str]:
    folded = unicodedata.normalize("NFKD", text).casefold()
    return set(_LETTERS.findall("".join(part for part in folded if not unicodedata.combining(part))))


@cache
def _parsers(language: str) -> tuple[DateDataParser, ...]:
    from dateparser.date import DateDataParser

    return tuple(DateDataParser(languages=[language], settings=settings) for settings in _ASSUMPTIONS)


def _read(text: str, language: str) -> Reading | None:
    """What both readings of a text in one language share."""
    found = []
    for parser in _parsers(language):
        # The texts come from anywhere, and so may the errors they cause.
        with suppress(Exception):
            found.append(parser.get_date_data(text))
    first, second = found if len(found) == 2 else (None, None)
    if first is None or second is None or first.parts != second.parts:
        return None
    moments = first.date_obj, second.date_obj
    if moments[0] is None or moments[1] is None or first.part_of_day or first.period == "quarter":
        return None
    if "year" not in first.parts:
        return None
    if (
        moments[0].microsecond == _PRESENTS[0].microsecond
        and moments[1].microsecond == _PRESENTS[1].microsecond
    ):
        distances = {_distance(data, now, text) for data, now in zip((first, second), _PRESENTS, strict=True)}
        return distances.pop() if len(distances) == 1 else None
    if "day" in first.parts and moments[0] != moments[1]:
        return _near(first, second)
    return _calendar(first, text) if moments[0].year == moments[1].year else None


def _distance(data: DateData, now: datetime, text: str) -> Ago | None:
    """How far a relative date lies back; one of several parts, which would need a calendar, is unknown."""
    moment = data.date_obj
    if moment is None or moment.tzinfo is not None:
        return None
    # Two numbers are "1,5" or those of days and hours; anything else has a number that belongs to nothing.
    numbers = _NUMBERS.findall(text)
    is_simple = len(numbers) < 2 or _FRACTION.search(text) is not None or data.period == "time"
    if len(numbers) > 2 or not is_simple or any(len(number) > 3 for number in numbers):
        return None
    months = (now.year - moment.year) * 12 + now.month - moment.month
    match data.period:
        case "time":
            return Ago("second", round((now - moment).total_seconds()))
        case "day" | "week":
            return Ago("day", (now.date() - moment.date()).days)
        case "month":
            return Ago("month", months)
        case "year":
            return Ago("year", now.year - moment.year)
        case _:
            return None


def _near(first: DateData, second: DateData) -> Ago | None:
    """A day counted from the present with a time of day: "gestern um 15:30"."""
    moments = first.date_obj, second.date_obj
    if moments[0] is None or moments[1] is None or "time" not in first.parts:
        return None
    if moments[0].tzinfo is not None or moments[0].time() != moments[1].time():
        return None
    days = {
        (now.date() - moment.date()).days for now, moment in zip(_PRESENTS, moments, strict=True) if moment
    }
    return Ago("day", days.pop(), moments[0].time()) if len(days) == 1 else None


def _calendar(data: DateData, text: str) -> Reading | None:
    """A date of the calendar, of which the text has the year and the day in figures."""
    moment: datetime | None = data.date_obj
    numbers = [int(number) for number in _NUMBERS.findall(text)]
    if moment is None or moment.year not in numbers or "month" not in data.parts:
        return None
    if not _YEARS[0] <= moment.year <= _YEARS[1]:  # a year of another calendar, such as 2569 in Thailand
        return None
    if "day" not in data.parts:
        return f"{moment:%Y-%m}" if len(numbers) <= 2 else None
    if moment.tzinfo is None and moment.day not in numbers:
        return None
    if "time" in data.parts:
        return moment_text(moment) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment.date().isoformat()
