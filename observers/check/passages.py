"""Passages of the sources and sentences of the report: their figures, and what the words around those speak of."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ua_tui.observers.check.blocks import Cell
from ua_tui.observers.check.figures.context import CLAUSE, Context
from ua_tui.observers.check.figures.figure import Figure
from ua_tui.observers.check.figures.find import find_figures
from ua_tui.observers.check.figures.numbers import Style
from ua_tui.observers.check.figures.vocabulary import YEAR, root, roots

_TOKEN = re.compile(r"[^\W\d_]{2,}|(?<![\d.,])(?:19|20)\d\d(?![\d%])|[;:()|—]|[.,](?!\d)")
"""Words, years and marks between clauses; other numbers would say that exchanged ones are in their places."""
_STOPS = frozenset(".|")
_REACH = 60
"""Characters around a figure that are checked."""
_BOUNDARY = 10
"""Words that a comma or "and" counts for; a full stop counts twice."""

Profile = Mapping[str, float]
"""The roots around a figure; the nearer one is, the more it counts, up to 1."""
Moment = tuple[int, int]
"""-1 for a former value, 1 for the present one, 0 if that is unknown; and the year that a value belongs to, or 0."""


def order_of(one: Moment, other: Moment) -> int:
    """1 if the first value is the later one or the thing itself, -1 if it is the other way round, 0 if unknown."""
    by_role = one[0] - other[0]
    by_year = one[1] - other[1] if one[1] and other[1] else 0
    return (by_year > 0) - (by_year < 0) or (by_role > 0) - (by_role < 0)


@dataclass
class Passage:
    """A paragraph, list item or table row of a source, or a sentence of the report.

    `source` is the index of its source, `number` its place among all passages, or that of its block in the report,
    `heading` the one above it. `cells`, `table` and `caption` are those of a table row. A sentence is `text[start:end]`
    of its block: the figures are those of the sentence, the words around them may be outside of it.
    """

    source: int
    number: int
    text: str
    heading: str
    style: Style
    cells: Sequence[Cell] = ()
    table: int = 0
    caption: str = ""
    start: int = 0
    end: int | None = None

    @property
    def sentence(self) -> str:
        """The sentence; all of a source's passage."""
        return self.text[self.start : self.end]

    @cached_property
    def figures(self) -> list[Figure]:
        """The figures in it; those of a table's cells have the unit of their column, row, caption or section."""
        if not self.cells:
            found = find_figures(self.sentence, self.style)
            return [replace(each, start=each.start + self.start, end=each.end + self.start) for each in found]
        text, found, label = self.text, [], self.label
        # "Receipts (EUR thousand)" above the names of the rows is said of all columns.
        corner = next((cell.header for cell in self.cells if text[cell.start : cell.end] == label), "")
        for cell in self.cells:
            headings = (cell.header, label, corner, f", {self.caption}", self.heading)
            figures = find_figures(text[cell.start : cell.end], self.style, headings)
            for each in figures:
                is_alone = each.text == text[cell.start : cell.end].lstrip("+-−–")
                start, end = each.start + cell.start, each.end + cell.start
                found.append(replace(each, start=start, end=end, is_cell=is_alone))
        return found

    @cached_property
    def blanked(self) -> str:
        """Its text without the figures: "per cent" announces no mean."""
        pieces, last = [], 0
        for each in self.figures:
            pieces += [self.text[last : each.start], "#" * (each.end - max(last, each.start))]
            last = max(last, each.end)
        return "".join([*pieces, self.text[last:]])

    @cached_property
    def profiles(self) -> Mapping[int, Profile]:
        """For the place of each figure the words around it."""
        return {each.start: self._profile(each) for each in self.figures}

    @cached_property
    def moments(self) -> Mapping[int, Moment]:
        """For the place of each figure its time."""
        return {each.start: self._moment(each) for each in self.figures}

    @cached_property
    def words(self) -> frozenset[str]:
        """The roots of its own words, and of the headings of a table's columns."""
        headers = " ".join(cell.header for cell in self.cells)
        return frozenset(roots(f"{self.text} {headers} {self.caption}", self.style.words.common))

    @property
    def label(self) -> str:
        """The name of a table row: the first of its first cells that has letters, else the first one."""
        names = [self.text[cell.start : cell.end] for cell in self.cells[:3]]
        return next((name for name in names if sum(map(str.isalpha, name)) > 1), names[0] if names else "")

    @cached_property
    def name(self) -> frozenset[str]:
        """The roots of its name, if it is a table row."""
        return frozenset(roots(self.label, frozenset()))

    @cached_property
    def group(self) -> str:
        """The same for passages that speak of one thing: the rows of a table."""
        return f"{self.source} table {self.table}" if self.table else str(self.number)

    @property
    def headers(self) -> str:
        """The headings of the columns of a table row."""
        return " | ".join(cell.header for cell in self.cells if cell.header)

    def column(self, figure: Figure) -> int:
        """The number of the cell that a figure is in."""
        return sum(cell.end <= figure.start for cell in self.cells[:-1])

    def header(self, figure: Figure) -> str:
        """The headings of the column that a figure is in; empty outside of tables."""
        return self.cells[self.column(figure)].header if self.cells else ""

    def _moment(self, figure: Figure) -> Moment:
        """What the words beside a figure, or the heading of its cell, say of its time."""
        text, words = self.text, self.style.words
        context, former = Context(text, words, figure.start, figure.end), words.calculation["former"]
        near = [*context.before[:4], *context.behind[:40].casefold().split()[:5]]
        role = -1 if any(root(word) in former for word in near) else context.role(4)
        # The year of the column, of the row, or of the clause: "(2031: 402)" is the value of 2031.
        before = text[max(0, figure.start - 60) : figure.start].rstrip(": \u00a0")
        around = CLAUSE.split(before)[-1]
        around += CLAUSE.split(text[figure.end : figure.end + 60])[0]
        named = YEAR.findall(self.header(figure)) or YEAR.findall(text if self.cells else around)
        return figure.role or role, int(named[0]) if len(named) == 1 else 0

    def _profile(self, figure: Figure) -> Profile:
        """The words around a figure; of a table's cell those of its row's name and of its column."""
        text, words = self.text, self.style.words
        if self.cells:
            own = self.cells[self.column(figure)]
            label = "" if self.label == text[own.start : own.end] else self.label
            around = (own.header, label, text[own.start : figure.start], text[figure.end : own.end])
            return dict.fromkeys(roots(" ".join(around), words.common), 1.0)
        weights: dict[str, float] = {}
        before = _TOKEN.findall(text[max(0, figure.start - _REACH) : figure.start].casefold())
        after = _TOKEN.findall(text[figure.end : figure.end + _REACH].casefold())
        for tokens in (reversed(before), after):
            distance = 0
            for token in tokens:
                if not token[0].isalnum():
                    distance += _BOUNDARY * (2 if token in _STOPS else 1)
                    continue
                if token in words.joining:
                    distance += _BOUNDARY
                elif token not in words.common:
                    key = root(token)
                    weights[key] = max(weights.get(key, 0.0), 1 / (1 + distance / 4))
                distance += 1
        return weights


def alike(one: Profile, other: Profile, idf: Callable[[str], float]) -> float:
    """The share of the first profile's weight that the second has, too."""
    whole = sum(weight * idf(word) for word, weight in one.items())
    shared = sum(min(weight, other[word]) * idf(word) for word, weight in one.items() if word in other)
    return shared / whole if whole else 0.0
