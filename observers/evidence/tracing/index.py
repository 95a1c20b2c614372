"""All figures of all sources by their value, so that each figure of a report is looked up and not searched for."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.observers.evidence.figures.figure import Figure
from ua_tui.observers.evidence.sources import SourceText
from ua_tui.observers.evidence.tracing.rounding import AS_WRITTEN, unit_factor

_PER_CHECK = 2_000
_MOST = 400
"""Figures of one value that are compared; a value that is found more often says little anyway."""
_EACH = 8
"""Of those, how many of a source that is not cited, at most."""
_SCANNED = 20_000


@dataclass(frozen=True, slots=True)
class Place:
    """A figure of a source, with its number among the figures of the source."""

    source: SourceText
    figure: Figure
    number: int


class FigureIndex:
    """The figures of some sources: numbers in the order of their value for each unit, dates by year, month and day.

    What is frequent is cut down to a number of figures of each source, those that are asked for first, so that the time
    for a figure of the report is bounded.
    """

    def __init__(self, texts: Sequence[SourceText], stop: Stop = NEVER) -> None:
        numbers: dict[str, list[tuple[float, int]]] = {}
        self._places: list[Place] = []
        self._dates: dict[tuple[int, int, int], dict[int, list[Place]]] = {}
        self._frequent: dict[tuple[str, int, int], Mapping[int, Sequence[Place]]] = {}
        for text in texts:
            stop.check()
            for number, figure in enumerate(text.figures):
                if not number % _PER_CHECK:
                    stop.check()
                place = Place(text, figure, number)
                if figure.kind == "date":
                    self._add_date(place)
                self._places.append(place)
                at = len(self._places) - 1
                if figure.kind != "date":
                    numbers.setdefault(figure.unit, []).append((float(figure.value), at))
                if (factor := unit_factor(figure)) not in {0, 1}:
                    numbers.setdefault(AS_WRITTEN, []).append((float(figure.value) / factor, at))
                if figure.other is not None and (figure.kind != "date" or 1000 <= figure.other <= 2200):
                    numbers.setdefault(figure.unit, []).append((float(figure.other), at))
        self._values: dict[str, array[float]] = {}
        self._numbers: dict[str, array[int]] = {}
        for unit, found in numbers.items():
            found.sort()
            self._values[unit] = array("d", (value for value, _ in found))
            self._numbers[unit] = array("l", (at for _, at in found))

    def between(self, low: float, high: float, unit: str, first: Collection[int] = ()) -> Iterator[Place]:
        """Give the figures of a unit whose value lies between two bounds; `first` are numbers of sources."""
        values = self._values.get(unit)
        if values is None:
            return
        slack = 1e-9 * max(abs(low), abs(high))
        start, end = bisect_left(values, low - slack), bisect_right(values, high + slack)
        if end - start > _SCANNED:
            # Those nearest to the middle.
            start = max(start, min(bisect_left(values, (low + high) / 2 - slack), end - _SCANNED))
            end = start + _SCANNED
        if end - start <= _MOST:
            yield from (self._places[at] for at in self._numbers[unit][start:end])
            return
        if (groups := self._frequent.get((unit, start, end))) is None:
            groups = self._frequent[unit, start, end] = self._by_source(self._numbers[unit][start:end])
        yield from _chosen(groups, first)

    def dates(self, parts: tuple[int, int, int], first: Collection[int] = ()) -> Iterator[Place]:
        """Give the dates with a year, month and day, 0 for what is not written; all of a year without the others."""
        if groups := self._dates.get(parts):
            yield from _chosen(groups, first)

    def has_year(self, source: SourceText, year: int) -> bool:
        """Whether a source has a date of a year."""
        return source.number in self._dates.get((year, 0, 0), ())

    def _by_source(self, numbers: Sequence[int]) -> Mapping[int, Sequence[Place]]:
        groups: dict[int, list[Place]] = {}
        for at in numbers:
            place = self._places[at]
            group = groups.setdefault(place.source.number, [])
            if len(group) < _MOST:
                group.append(place)
        return groups

    def _add_date(self, place: Place) -> None:
        year, month, day = place.figure.date
        keys = {(year, month, day), (year, month, 0), (year, 0, 0), (0, month, day), (0, month, 0)}
        for key in keys - {(0, 0, 0)}:
            group = self._dates.setdefault(key, {}).setdefault(place.source.number, [])
            if len(group) < _MOST:
                group.append(place)


def _chosen(groups: Mapping[int, Sequence[Place]], first: Collection[int]) -> Iterator[Place]:
    """As many places of each source as there is room for, of some sources more than of the others."""
    wanted = [number for number in first if number in groups]
    for number in wanted:
        yield from groups[number][: max(_MOST // len(wanted), 1)]
    others = sorted(groups.keys() - set(wanted))
    each = max(_MOST // max(len(others), 1), 1)
    for number in others[:_MOST]:
        yield from groups[number][: min(each, _EACH) if wanted else each]
