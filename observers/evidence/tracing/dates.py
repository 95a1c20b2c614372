"""Whether a date of a report is one of a source: with the same precision, or as a part of a more precise one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import date, timedelta
from functools import lru_cache
from itertools import islice

from ua_tui.observers.evidence.figures.figure import Figure
from ua_tui.observers.evidence.tracing.index import FigureIndex, Place

Parts = tuple[int, int, int]
"""Year, month and day; 0 for what is not written, a quarter has the month 100 + n, a half-year 200 + n, a season
300 + n, a decade 500."""

_QUARTER, _HALF, _SEASON, _DECADE = 100, 200, 300, 500
_ISO = re.compile(r"([12]\d{3})(?:-(\d\d)(?:-(\d\d))?)?")
_DAYS_BACK = 7
_DAYS_AHEAD = 8
_NEXT = r"next|coming|nächsten|kommenden|próximo"
_WEEKDAYS = (
    "monday|montag|lundi|lunes",
    "tuesday|dienstag|mardi|martes",
    "wednesday|mittwoch|mercredi|miércoles",
    "thursday|donnerstag|jeudi|jueves",
    "friday|freitag|vendredi|viernes",
    "saturday|samstag|sonnabend|samedi|sábado",
    "sunday|sonntag|dimanche|domingo",
)
_YESTERDAY = "yesterday|gestern|hier|ayer|last night"
_MONTHS = (
    "january|januar|jänner|janvier|enero",
    "february|februar|février|febrero",
    "march|märz|mars|marzo",
    "april|avril|abril",
    "may|mai|mayo",
    "june|juni|juin|junio",
    "july|juli|juillet|julio",
    "august|août|agosto",
    "sept|september|septembre|septiembre",
    "october|oktober|octobre|octubre",
    "november|novembre|noviembre",
    "december|dezember|décembre|diciembre",
)
_ORDINALS = (
    "first|1st|erste[nrs]?|premier|1er|primer",
    "second|2nd|zweite[nrs]?|deuxième|2e|segundo",
    "third|3rd|dritte[nrs]?|troisième|3e|tercer",
    "fourth|4th|vierte[nrs]?|quatrième|4e|cuarto",
)
_QUARTERS, _HALVES = "quarter|quartals?|trimestre", "half|halbjahre?s?|semestre"
_YEARS = {
    -1: r"(?:last|previous|the past|the prior) year|a year (?:ago|earlier)|vergangene[ns]? jahr"
    r"|letzte[ns] jahr|vorjahr\w*"
    r"|l'an(?:née)? (?:dernière?|passée?)|año (?:pasado|anterior)",
    1: r"next year|nächste[ns] jahr|l'an(?:née)? prochaine?|próximo año|año que viene",
}
_TODAY = "today|heute|aujourd'hui|hoy|tonight|this morning"


def readings(figure: Figure) -> Iterator[Parts]:
    """Give what the date of a figure means, with day and month exchanged as well where that is possible."""
    yield figure.date
    if figure.other is not None and all(figure.date) and 1 <= figure.other <= date.max.toordinal():
        other = date.fromordinal(int(figure.other))
        yield other.year, other.month, other.day


def _months(period: int) -> range:
    """The months of a quarter, a half-year or a season; the month itself."""
    kind, number = period // 100 * 100, period % 100
    if kind == _QUARTER:
        return range(3 * number - 2, 3 * number + 1)
    if kind == _HALF:
        return range(6 * number - 5, 6 * number + 1)
    if kind == _SEASON:
        return range(3 * number, 3 * number + 3) if number < 4 else range(12, 13)
    return range(period, period + 1)


def date_places(
    figure: Figure, index: FigureIndex, first: Collection[int] = ()
) -> Iterator[tuple[Place, bool]]:
    """Give the places of a date, and whether it is written there as the report has it.

    A date without its year is given for one with a year; the caller looks for the year in the source. `first` are
    the numbers of the sources that matter most.
    """
    for year, month, day in readings(figure):
        if month == _DECADE:
            for each in range(year, year + 10):
                found = index.dates((each, 0, 0), first)
                yield from ((place, place.figure.date[1] == _DECADE) for place in found)
            continue
        if month < _QUARTER:
            yield from ((place, True) for place in index.dates((year, month, day), first))
            if year and month:
                # The same day in another notation of the source, or without its year.
                found = index.dates((0, month, day), first)
                yield from ((place, True) for place in found if not place.figure.date[0])
            continue
        yield from ((place, True) for place in index.dates((year, month, 0), first))
        for each in _months(month):
            yield from ((place, False) for place in index.dates((year, each, 0), first))


@lru_cache(maxsize=4_096)
def published_on(published: str) -> Parts | None:
    """The date of publication of a source, as far as it is known."""
    if not (found := _ISO.match(published.strip())):
        return None
    year, month, day = (int(part or 0) for part in found.groups())
    return year, month, day


def relative_day(parts: Parts, published: Parts, text: str) -> tuple[int, int] | None:
    """Find the word of a source that means a date by its distance from the publication, such as "on Tuesday"."""
    if not (all(parts[1:]) and all(published)):
        return None
    try:
        day, issued = date(parts[0] or published[0], *parts[1:]), date(*published)
    except ValueError:
        return None
    if not -timedelta(days=_DAYS_AHEAD) <= issued - day <= timedelta(days=_DAYS_BACK):
        return None
    names: Sequence[str] = [_WEEKDAYS[day.weekday()]]
    if day <= issued and not parts[0]:
        return None
    if day > issued:
        found = re.search(rf"\b(?:{_NEXT})[ \u00a0](?:{names[0]})\b", text[: 64 << 10], re.IGNORECASE)
        return found.span() if found else None
    if issued - day <= timedelta(days=1):
        names = (*names, _YESTERDAY, _TODAY)
    found = re.search(rf"\b(?:{'|'.join(names)})\b", text[: 64 << 10], re.IGNORECASE)
    return found.span() if found else None


def month_named(parts: Parts, text: str) -> Iterator[tuple[int, int]]:
    """Find the name of a month, a quarter or a half without its year, such as "in October", "in the third quarter"."""
    if _QUARTER < parts[1] < _SEASON:
        number, is_half = parts[1] % 100, parts[1] > _HALF
        names, letter = (_HALVES, "H") if is_half else (_QUARTERS, "Q")
        if not 1 <= number <= len(_ORDINALS):
            return
        pattern = rf"\b(?:(?:{_ORDINALS[number - 1]})[ \u00a0](?:{names})|{letter}{number})\b"
        for found in islice(re.finditer(pattern, text[: 1 << 20], re.IGNORECASE), 1_000):
            yield found.span()
    if 1 <= parts[1] <= 12:
        case = 0 if parts[1] in (3, 5) else re.IGNORECASE
        names = "|".join(name.capitalize() if not case else name for name in _MONTHS[parts[1] - 1].split("|"))
        for piece in range(0, min(len(text), 1 << 20), 64 << 10):
            for found in re.finditer(rf"\b(?:{names})\b", text[piece : piece + (64 << 10)], case):
                yield piece + found.start(), piece + found.end()


def relative_year(year: int, published: Parts, text: str) -> tuple[int, int] | None:
    """Find the words of a source that mean a year by its distance from the publication, such as "last year"."""
    if not (pattern := _YEARS.get(year - published[0])):
        return None
    found = re.search(pattern, text[: 64 << 10], re.IGNORECASE)
    return found.span() if found else None
