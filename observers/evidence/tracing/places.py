"""Finds the place of a source that a figure of the report was taken from."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.observers.evidence.figures.figure import Figure
from ua_tui.observers.evidence.sources import SourceText
from ua_tui.observers.evidence.tracing.dates import date_places, published_on, readings
from ua_tui.observers.evidence.tracing.index import FigureIndex, Place
from ua_tui.observers.evidence.tracing.rounding import How, are_dollars, how_same, in_unit, windows
from ua_tui.observers.evidence.tracing.units import is_unit_left_out, is_unit_near
from ua_tui.observers.evidence.tracing.words import Weights, stems_around

_KEPT = 60
"""Places that are remembered of the sources that matter most, and of the others."""
_WIDE = 0.4
"""What a word of the section or of the sentence before says, compared with one of the sentence."""
_BEFORE = 32
"""Characters before a figure that say whether it is exact."""
_SCALES = (1_000, 1_000_000, 1_000_000_000)
_ORDER: dict[How, int] = {"same": 2, "converted": 1, "rounded": 1}


@dataclass(frozen=True)
class Context:
    """What is around a figure in the report.

    `near` are the stems of its sentence, with a cell's headers; `wide` those of the section's heading and of the
    sentence before; `before` is the text before the figure.
    """

    near: frozenset[str]
    wide: frozenset[str]
    before: str


@dataclass(frozen=True, slots=True)
class Trace:
    """A place with how the figure follows from it.

    `share` is how much of what the sentence says is found around the place, from 0 to 1, and `common` the number of
    its words that are. `needs_year` says that the year stands elsewhere in the source.
    """

    place: Place
    how: How
    share: float
    common: int
    needs_year: bool = False

    @property
    def rank(self) -> tuple[bool, bool, int, float]:
        """The larger, the better."""
        return self.common > 0, not self.needs_year, _ORDER[self.how], self.share


class Tracer:
    """Compares figures of a report with the figures of the sources."""

    def __init__(self, texts: Sequence[SourceText], weights: Weights, stop: Stop = NEVER) -> None:
        self._texts = texts
        self._weights = weights
        self._stop = stop
        self._stems: dict[tuple[int, int], frozenset[str]] = {}
        self._traces: dict[object, Sequence[Trace]] = {}

    @cached_property
    def index(self) -> FigureIndex:
        """The figures of all sources."""
        return FigureIndex(self._texts, self._stop)

    def stems_at(self, place: Place) -> frozenset[str]:
        """The stems around a figure of a source."""
        key = place.source.number, place.number
        if (found := self._stems.get(key)) is None:
            figure = place.figure
            found = self._stems[key] = stems_around(place.source.text, figure.start, figure.end)
        return found

    def score(self, place: Place, context: Context) -> tuple[float, int]:
        """How much of what the sentence says is around a place, and how many of its words."""
        around = self.stems_at(place)
        near = context.near & around
        wide = (context.wide - context.near) & around
        total = self._weights.of(context.near)
        found = self._weights.of(near) + _WIDE * self._weights.of(wide)
        return (min(found / total, 1.0) if total else 0.0), len(near)

    def traces(self, figure: Figure, context: Context, first: Sequence[int] = ()) -> Sequence[Trace]:
        """Give the places of all sources that a figure may be taken from, the best first.

        `first` are the numbers of the sources that are cited for it, of which more places are compared.
        """
        self._stop.check()
        key = (
            figure.text, figure.value, figure.unit, figure.date, context.near, context.wide,
            context.before[-_BEFORE:], tuple(first),
        )  # fmt: skip
        if (known := self._traces.get(key)) is None:
            found = sorted(self._compare(figure, context, first), key=lambda trace: trace.rank, reverse=True)
            cited = [trace for trace in found if trace.place.source.number in first]
            others = [trace for trace in found if trace.place.source.number not in first]
            known = self._traces[key] = [*cited[:_KEPT], *others[:_KEPT]]
        return known

    def _compare(self, figure: Figure, context: Context, first: Sequence[int]) -> Iterator[Trace]:
        is_date = figure.kind == "date"
        # "minus 1.9" and "fell by 1.9" are the same.
        size = figure if figure.value >= 0 or figure.unit == "°C" else replace(figure, value=-figure.value)
        found = self._dates(figure, first) if is_date else self._numbers(figure, context, first)
        others = () if size is figure else self._numbers(size, context, first)
        for place, how in chain(found, others):
            share, common = self.score(place, context)
            is_exact = how == "same" or (how == "converted" and figure.value == place.figure.value)
            # With its unit left out, a figure of few digits is the same only in the source that is cited.
            is_same = is_date or figure.unit == place.figure.unit or place.source.number in first
            if not common and not (is_exact and is_same):
                continue
            needs_year = bool(
                is_date and figure.date[0] and place.figure.kind == "date" and not place.figure.date[0]
            )
            if not needs_year or self.has_year(place.source, figure):
                yield Trace(place, how, share, common, needs_year)

    def has_year(self, source: SourceText, figure: Figure) -> bool:
        """Whether a source has the year of a date anywhere, or is of that year."""
        published = published_on(source.record.published)
        return any(
            (published and published[0] == year) or self.index.has_year(source, year)
            for year, _, _ in readings(figure)
        )

    def _dates(self, figure: Figure, first: Sequence[int]) -> Iterator[tuple[Place, How]]:
        for place, is_same in date_places(figure, self.index, first):
            yield place, "same" if is_same else "converted"
        year, month, _ = figure.date
        if year and not month:
            for place in self.index.between(year, year, "", first):
                if place.figure.kind != "date":
                    yield place, "same"

    def _numbers(self, figure: Figure, context: Context, first: Sequence[int]) -> Iterator[tuple[Place, How]]:
        seen = set()
        for number, (unit, low, high) in enumerate(windows(figure, context.before)):
            for place in self.index.between(low, high, unit, first):
                key = place.source.number, place.number
                if key in seen:
                    continue
                if how := self._how(figure, place, context.before, is_first=not number):
                    seen.add(key)
                    yield place, how

    def _how(self, figure: Figure, place: Place, before: str, *, is_first: bool) -> How | None:
        found = place.figure
        if found.kind == "date":
            return "same" if found.other == figure.value else None
        if is_first or found.unit == figure.unit or {figure.unit, found.unit} == {"%", "pp"}:
            how = how_same(figure, found, before)
            if how or found.unit:
                return how
        if not figure.unit and found.unit:
            return "same"
        if are_dollars(figure, found):
            return how_same(figure, found, before)
        if is_unit_left_out(figure, place) and (
            how := how_same(figure, found, before) or how_same(in_unit(figure), found, before)
        ):
            return how
        if not is_unit_near(figure, place):
            return None
        if how := how_same(figure, found, before):
            return how
        # "310.5" under "Sales ($m)" is $310.5 million.
        return "same" if any(figure.value == found.value * scale for scale in _SCALES) else "converted"


def best(traces: Sequence[Trace], numbers: Collection[int] | None = None) -> Trace | None:
    """The best place, of the sources with some numbers only if they are given."""
    return max(
        (trace for trace in traces if numbers is None or trace.place.source.number in numbers),
        key=lambda trace: trace.rank,
        default=None,
    )
