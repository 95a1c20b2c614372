"""Sources cut into passages, with an index by words; figures are read when a passage is checked."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

from ua_tui.core.claims.records import Source
from ua_tui.core.concurrency.cancellation import NEVER, Stop
from ua_tui.observers.check.blocks import Cell, label_of
from ua_tui.observers.check.figures.figure import Figure
from ua_tui.observers.check.figures.find import Style, find_figures, style_of
from ua_tui.observers.check.figures.vocabulary import WORD, root
from ua_tui.observers.check.nearness import Moment, Profile, moment, profile
from ua_tui.observers.check.reading import read_document, sentences

_LONGEST_PASSAGE = 700
"""Characters after which a paragraph is cut at the end of a sentence: a paragraph of four or five sentences."""
_LONGEST_SOURCES = 16_000_000
"""Characters of all sources that are read."""


def roots(text: str, common: frozenset[str]) -> list[str]:
    """The roots of the words of a text without common words, and the digits in it."""
    return [root(word) for word in WORD.findall(text.casefold()) if word not in common]


def row_name(text: str, cells: Sequence[Cell]) -> frozenset[str]:
    """The roots of the name of a table row; empty if it has none."""
    return frozenset(roots(label_of(text, cells), frozenset()))


def figures_in(
    text: str, style: Style, cells: Sequence[Cell] = (), caption: str = "", section: str = ""
) -> list[Figure]:
    """The figures of a text; those of a table's cells have the unit of their column, row, caption or section."""
    if not cells:
        return find_figures(text, style)
    found, label = [], label_of(text, cells)
    # "Receipts (EUR thousand)" above the names of the rows is said of all columns.
    corner = next((cell.header for cell in cells if text[cell.start : cell.end] == label), "")
    for cell in cells:
        headings = (cell.header, label, corner, f", {caption}", section)
        figures = find_figures(text[cell.start : cell.end], style, headings)
        for figure in figures:
            is_alone = len(figures) == 1 and figure.text == text[cell.start : cell.end].lstrip("+-−–")
            found.append(
                replace(
                    figure, start=figure.start + cell.start, end=figure.end + cell.start, is_cell=is_alone
                )
            )
    return found


@dataclass
class Passage:
    """A paragraph, list item or table row of a source.

    `source` is the index of its source, `number` its place among all passages, `heading` the one above it. `cells`,
    `table` and `caption` are those of a table row.
    """

    source: int
    number: int
    text: str
    heading: str
    style: Style
    cells: Sequence[Cell] = ()
    table: int = 0
    caption: str = ""

    @cached_property
    def figures(self) -> list[Figure]:
        """The figures in the passage; those of a table's cell with the unit of its column."""
        return figures_in(self.text, self.style, self.cells, self.caption, self.heading)

    @cached_property
    def profiles(self) -> Mapping[int, Profile]:
        """For the place of each figure the words around it."""
        return {each.start: profile(self.text, each, self.style.words, self.cells) for each in self.figures}

    @cached_property
    def moments(self) -> Mapping[int, Moment]:
        """For the place of each figure its time."""
        return {each.start: moment(self.text, each, self.style.words, self.cells) for each in self.figures}

    @cached_property
    def words(self) -> frozenset[str]:
        """The roots of its own words, and of the headings of a table's columns."""
        headers = " ".join(cell.header for cell in self.cells)
        return frozenset(roots(f"{self.text} {headers} {self.caption}", self.style.words.common))

    @cached_property
    def name(self) -> frozenset[str]:
        """The roots of its name, if it is a table row."""
        return row_name(self.text, self.cells)

    @cached_property
    def group(self) -> str:
        """The same for passages that speak of one thing: the rows of a table."""
        return f"{self.source} table {self.table}" if self.table else str(self.number)

    @property
    def headers(self) -> str:
        """The headings of the columns of a table row."""
        return " | ".join(cell.header for cell in self.cells if cell.header)


class Corpus:
    """All passages of the sources, found by their words and by their figures.

    Attributes:
        sources: the sources as they were given.
        passages: every passage, in the order of the sources.
        links: for each source the addresses that its text names.
        first: for each source the number of its first passage.
        near: for each passage the roots of its heading and of its source's title.
        by_word: for each root the numbers of the passages that have it.
        idf: how much a shared word says: rare words say more.
        context: the roots around a passage: its headings, the source's title, the passages before and after it.
    """

    def __init__(self, sources: Sequence[Source], stop: Stop = NEVER) -> None:
        self.sources = sources
        self.passages: list[Passage] = []
        self.links: list[set[str]] = []
        self.first: list[int] = []
        self.is_cut = False
        self.context = cache(self._context)
        self.idf = cache(self._idf)
        total = 0
        for number, source in enumerate(sources):
            stop.check()
            self.first.append(len(self.passages))
            total += len(source.text)
            if total > _LONGEST_SOURCES:
                self.is_cut = True
                self.links.append(set())
                continue
            self._add(number, source, stop)
        self.by_word: dict[str, list[int]] = defaultdict(list)
        self.near: list[frozenset[str]] = []
        title = cache(lambda number, common: frozenset(roots(sources[number].title, common)))
        for passage in self.passages:
            if passage.number % 200 == 0:
                stop.check()
            for word in passage.words:
                self.by_word[word].append(passage.number)
            common = passage.style.words.common
            self.near.append(title(passage.source, common) | frozenset(roots(passage.heading, common)))
        self.count = len(self.passages)

    def _idf(self, word: str) -> float:
        return math.log(1 + self.count / (1 + len(self.by_word.get(word, ()))))

    def _context(self, number: int) -> frozenset[str]:
        passage = self.passages[number]
        around = self.near[number]
        for other in (number - 1, number + 1):
            if 0 <= other < self.count and self.passages[other].source == passage.source:
                around |= self.passages[other].words
        return around

    def nearest(self, weights: Mapping[str, float]) -> dict[int, float]:
        """The passages that share words, with the weight of those."""
        scores: dict[int, float] = defaultdict(float)
        for word, weight in weights.items():
            for number in self.by_word.get(word, ()):
                scores[number] += weight
        return dict(scores)

    @cached_property
    def values(self) -> Mapping[str, Sequence[tuple[float, int, int]]]:
        """For each class of unit or set of digits the values of its figures, with their passages and places there."""
        found: dict[str, list[tuple[float, int, int]]] = defaultdict(list)
        for passage in self.passages:
            for at, figure in enumerate(passage.figures):
                if len(figure.digits) > 2:
                    found[figure.shuffled].append((figure.value, passage.number, at))
                for reading in figure.readings:
                    found[reading.unit].append((reading.value, passage.number, at))
                    if reading.unit:
                        found["plain"].append((reading.plain, passage.number, at))
                    if figure.is_cell:
                        found["cell"].append((reading.shown, passage.number, at))
        return {unit: sorted(values) for unit, values in found.items()}

    @cached_property
    def named(self) -> Mapping[str, Sequence[tuple[int, int]]]:
        """For identifiers, and for years and days of dates, the passages and the places of the figures in them."""
        found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for passage in self.passages:
            for at, figure in enumerate(passage.figures):
                year, month, day = figure.date
                for key, is_there in (
                    (figure.name, figure.name),
                    (f"year {year}", year),
                    (f"day {month} {day}", month),
                ):
                    if is_there:
                        found[key].append((passage.number, at))
        return found

    def having(self, unit: str, low: float, high: float) -> Iterator[tuple[int, int]]:
        """The passages, and the places of the figures in them, that have a value of a class from `low` to `high`."""
        values = self.values.get(unit, ())
        found = values[bisect_left(values, (low,)) : bisect_right(values, (high, self.count))]
        return ((passage, place) for _, passage, place in found)

    def _add(self, number: int, source: Source, stop: Stop) -> None:
        document = read_document(source.text, source.media_type, stop)
        style = style_of(" ".join(block.text for block in document.blocks[:200]))
        self.links.append({*source.links, *(url for block in document.blocks for _, _, url in block.links)})
        for block in document.blocks:
            for start, end in _pieces(block.text, style):
                text, place = block.text[start:end], len(self.passages)
                cells = block.cells if end - start == len(block.text) else ()
                if text.strip():
                    self.passages.append(Passage(
                        number, place, text, block.section, style, cells, block.table, block.caption
                    ))  # fmt: skip


def _pieces(text: str, style: Style) -> Iterator[tuple[int, int]]:
    """A paragraph, or the groups of sentences of a long one."""
    if len(text) <= _LONGEST_PASSAGE:
        yield 0, len(text)
        return
    start = last = 0
    for first, end in sentences(text, style.words.abbreviations):
        if end - start > _LONGEST_PASSAGE and first > start:
            yield start, first
            start = first
        last = end
    if start < last:
        yield start, last
