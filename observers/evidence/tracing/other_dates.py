"""Years and quarters that the source has beside a figure, where the report has another one."""

from __future__ import annotations

from collections.abc import Sequence

from ua_tui.observers.evidence.tracing.index import Place
from ua_tui.observers.evidence.tracing.selection import Checked

_BESIDE = 160
_FEW = 3


def other_date(each: Checked, places: Sequence[Place], companions: Sequence[Place]) -> Place | None:
    """Find the only year of a source that stands in the line of a sentence's other figures and differs from its date.

    Args:
        each: a year, or a quarter, half-year or season with its year.
        places: where the sources have it.
        companions: where the sources have the other figures of its sentence.

    Returns:
        The date of the source; None if the sentence's own date is near one of the figures, or no date is, or several
        years are.
    """
    year, month, day = each.figure.date
    if not year or day or 1 <= month <= 12 or not companions:
        return None
    for place in companions:
        if any(other.source is place.source and _distance(other, place) <= _BESIDE for other in places):
            return None
    found = [date for place in companions for date in _beside(place)]
    years = {date.figure.date[0] for date in found}
    if len(years) != 1 or (year in years and not month):
        return None
    return found[0]


def _distance(one: Place, other: Place) -> int:
    return abs(one.figure.start - other.figure.start)


def _beside(place: Place) -> list[Place]:
    """The years and quarters in the line of a figure."""
    figures, text = place.source.figures, place.source.text
    found = []
    for number in range(max(place.number - _FEW, 0), min(place.number + _FEW + 1, len(figures))):
        date = figures[number]
        first, last = min(date.start, place.figure.start), max(date.end, place.figure.end)
        is_year = date.kind == "date" and date.date[0] and not date.date[2] and not 1 <= date.date[1] <= 12
        if is_year and last - first <= _BESIDE and "\n" not in text[first:last]:
            found.append(Place(place.source, date, number))
    return found
