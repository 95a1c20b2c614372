"""All figures of all sources by their value, so that each figure of a report is looked up and not searched for."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.concurrency.cancellation import NEVER, Stop
from observers.evidence.figures.figure import Figure
from observers.evidence.sources import SourceText

__all__ = ["FigureIndex", "Place"]

_PER_CHECK = 2_000


@dataclass(frozen=True, slots=True)
class Place:
    """A figure of a source, with its number among the figures of the source."""

    source: SourceText
    figure: Figure
    number: int


class FigureIndex:
    """The figures of some sources: numbers in the order of their value for each unit, dates by year, month and day."""

    def __init__(self, texts: Sequence[SourceText], stop: Stop = NEVER) -> None:
        numbers: dict[str, list[tuple[float, int]]] = {}
        self._places: list[Place] = []
        self._dates: dict[tuple[int, int, int], list[Place]] = {}
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
                if figure.other is not None and (figure.kind != "date" or 1000 <= figure.other <= 2200):
                    numbers.setdefault(figure.unit, []).append((float(figure.other), at))
        self._values: dict[str, array[float]] = {}
        self._numbers: dict[str, array[int]] = {}
        for unit, found in numbers.items():
            found.sort()
            self._values[unit] = array("d", (value for value, _ in found))
            self._numbers[unit] = array("l", (at for _, at in found))

    @property
    def units(self) -> Sequence[str]:
        """The units that occur."""
        return tuple(self._values)

    def between(self, low: float, high: float, unit: str, most: int) -> Iterator[Place]:
        """Give the figures of a unit whose value lies between two bounds, at most `most`, nearest to their middle."""
        values = self._values.get(unit)
        if values is None:
            return
        slack = 1e-9 * max(abs(low), abs(high))
        first, last = bisect_left(values, low - slack), bisect_right(values, high + slack)
        if last - first > most:
            first = max(first, min(bisect_left(values, (low + high) / 2 - slack), last - most))
            last = min(last, first + most)
        for at in self._numbers[unit][first:last]:
            yield self._places[at]

    def dates(self, *parts: int) -> Sequence[Place]:
        """The dates with a year, a month and a day; without the month and the day, all dates of the year."""
        year, month, day = parts
        return self._dates.get((year, month, day), ())

    def _add_date(self, place: Place) -> None:
        year, month, day = place.figure.date
        keys = {(year, month, day), (year, month, 0), (year, 0, 0), (0, month, day), (0, month, 0)}
        for key in keys - {(0, 0, 0)}:
            self._dates.setdefault(key, []).append(place)
