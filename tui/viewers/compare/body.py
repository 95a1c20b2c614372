"""A difference as rows: side by side where there is room, otherwise inline; marked by signs, weight and underlines.

Long parts without a change are folded away, unless everything is requested.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.cells import cell_len
from textual.content import Content, Span

from ua_tui.core.events.units import quantity
from ua_tui.tui.render.markdown.renderer import MarkdownTheme
from ua_tui.tui.viewers.bodies.text import clipped, fold_points, part_of
from ua_tui.tui.viewers.compare.difference import Difference, LinePair, Marks
from ua_tui.tui.viewers.document import Body, Landmark, Rows, styled

SIDE_BY_SIDE = 134
"""The cells that a screen of 140 columns leaves for two columns."""
_CONTEXT = 3
_LEAST_FOLDED = 4
_GUTTER = 2
_BETWEEN = " │ "


@dataclass(frozen=True, slots=True)
class _Cell:
    """One side of an entry: the rows of a line with its sign, or none."""

    text: str = ""
    sign: str = " "
    marks: Marks = ()
    role: str = ""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A pair of lines, or a folded part of `folded` lines."""

    left: _Cell | None
    right: _Cell | None
    folded: int = 0


class DifferenceBody(Body):
    """The differences of two texts.

    Args:
        difference: the texts and the pairs of their lines.
        everything: whether parts without a change are shown, too.
    """

    def __init__(self, difference: Difference, *, everything: bool = False) -> None:
        self.difference = difference
        self.everything = everything

    def lay_out(self, width: int, theme: MarkdownTheme) -> DifferenceRows:
        """Lay out both texts side by side, or one below the other."""
        return DifferenceRows(self, width)

    def shown(self) -> list[tuple[int, int]]:
        """The ranges of pairs that are shown."""
        pairs = self.difference.pairs
        if self.everything:
            return [(0, len(pairs))] if pairs else []
        parts: list[tuple[int, int]] = []
        for index, pair in enumerate(pairs):
            if pair.same:
                continue
            start, end = max(0, index - _CONTEXT), min(len(pairs), index + 1 + _CONTEXT)
            if parts and start - parts[-1][1] < _LEAST_FOLDED:
                parts[-1] = (parts[-1][0], end)
            else:
                parts.append((start if start >= _LEAST_FOLDED else 0, end))
        if parts and len(pairs) - parts[-1][1] < _LEAST_FOLDED:
            parts[-1] = (parts[-1][0], len(pairs))
        return parts


def right_column(width: int) -> int:
    """Where the newer text begins in a view of this width; 0 if both texts are in one column."""
    return (width - len(_BETWEEN)) // 2 + len(_BETWEEN) if width >= SIDE_BY_SIDE else 0


class DifferenceRows(Rows):
    """The rows of a difference; only the places where lines are wrapped are computed in advance."""

    landmarks: Sequence[Landmark] = ()
    """Where each change begins."""

    def __init__(self, body: DifferenceBody, width: int) -> None:
        self._difference = body.difference
        self._width = width
        self._column = max(0, right_column(width) - len(_BETWEEN))
        self._entries: list[_Entry] = []
        self._firsts = array("q")
        self._length = 0
        self.landmarks = changed = list[Landmark]()
        changes, pairs = {*body.difference.changes}, body.difference.pairs
        done = 0
        for start, end in body.shown():
            self._add_folded(start - done)
            done = end
            for _, group in groupby(range(start, end), lambda number: pairs[number].same):
                numbers = [*group]
                if numbers[0] in changes:
                    changed.append(Landmark(self._length))
                self._add_pairs([pairs[number] for number in numbers])
        self._add_folded(len(pairs) - done)

    def __len__(self) -> int:
        """The number of rows."""
        return self._length

    def row(self, y: int) -> Content:
        """Row `y`: both sides, or one of them."""
        number = bisect_right(self._firsts, y) - 1
        entry, part = self._entries[number], y - self._firsts[number]
        if entry.folded:
            text = f"⋯ {quantity(entry.folded, 'unchanged line')}"[: self._width]
            return styled(text, "dim")
        if self._column:
            left = self._draw(entry.left, part, self._column)
            return left + styled(_BETWEEN, "dim") + self._draw(entry.right, part, self._column)
        return self._draw(entry.left or entry.right, part, self._width)

    def _add_folded(self, count: int) -> None:
        if count > 0:
            self._add(_Entry(None, None, count), 1)

    def _add_pairs(self, pairs: Sequence[LinePair]) -> None:
        """Add the pairs of a part that has one kind: equal lines, or one change."""
        if not self._column:
            for pair in pairs:
                for cell in self._cells(pair)[: 1 if pair.same else 2]:
                    if cell is not None:
                        self._add_row(cell, None)
            return
        # What was removed is beside what was added at its place.
        waiting: list[_Cell] = []
        for pair in pairs:
            left, right = self._cells(pair)
            if right is None and left is not None:
                waiting.append(left)
                continue
            if left is None and waiting:
                left = waiting.pop(0)
            while waiting and pair.left >= 0:
                self._add_row(waiting.pop(0), None)
            self._add_row(left, right)
        for cell in waiting:
            self._add_row(cell, None)

    def _add_row(self, left: _Cell | None, right: _Cell | None) -> None:
        self._add(_Entry(left, right), max(self._height(left), self._height(right)))

    def _cells(self, pair: LinePair) -> tuple[_Cell | None, _Cell | None]:
        """Both sides of a pair."""
        texts = self._difference
        left = right = None
        if pair.left >= 0:
            text = texts.left[pair.left]
            left = _Cell(text) if pair.same else _Cell(text, "-", pair.left_marks, "removed")
        if pair.right >= 0:
            text = texts.right[pair.right]
            right = _Cell(text) if pair.same else _Cell(text, "+", pair.right_marks, "added")
        return left, right

    def _add(self, entry: _Entry, height: int) -> None:
        self._entries.append(entry)
        self._firsts.append(self._length)
        self._length += height

    def _height(self, cell: _Cell | None) -> int:
        return 0 if cell is None else 1 + len(fold_points(cell.text, self._room))

    @property
    def _room(self) -> int:
        return max(1, (self._column or self._width) - _GUTTER)

    def _draw(self, cell: _Cell | None, part: int, width: int) -> Content:
        """Draw one row of a side, filled to the width."""
        points = [] if cell is None else fold_points(cell.text, self._room)
        if cell is None or part > len(points):
            return Content(" " * width)
        start, end = part_of(points, part, len(cell.text))
        text = cell.text[start:end]
        sign = cell.sign if part == 0 else " "
        fill = " " * max(0, width - _GUTTER - cell_len(text))
        line = f"{sign} {text}{fill}"
        spans = [Span(0, len(line), cell.role)] if cell.role else []
        if cell.role and part == 0:
            spans.append(Span(0, 1, f"{cell.role}-sign"))
        marks = (Span(*mark, f"{cell.role}-words") for mark in cell.marks)
        spans += clipped(marks, start, end, _GUTTER - start)
        if not cell.role and cell.text.startswith("#") and cell.text.lstrip("#").startswith(" "):
            spans.append(Span(_GUTTER, _GUTTER + len(text), "strong"))
        return Content(line, spans)


def describe_counts(counts: Sequence[int]) -> str:
    """Say how many lines were changed, added and removed."""
    words = ("changed", "added", "removed")
    parts = [f"{count:,} {word}" for count, word in zip(counts, words, strict=True) if count]
    return f"lines: {', '.join(parts)}" if parts else ""
