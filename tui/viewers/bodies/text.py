"""Text of any length as rows: lines are wrapped by arithmetic, and styled only when they are shown."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice

from rich.cells import cell_len, get_character_cell_size
from textual.content import Content, Span

from ua_tui.core.concurrency.cancellation import check_stopped
from ua_tui.core.events.units import quantity
from ua_tui.tui.render.markdown.highlight import tokens_of
from ua_tui.tui.render.markdown.renderer import MarkdownTheme
from ua_tui.tui.viewers.document import MATCH_LIMIT, Body, Match, Rows, styled

LineStyler = Callable[[int, str], Sequence[Span]]
"""Returns the spans of a line; called with the number of the line, from 0, and its text, from any thread."""


class TextBody(Body):
    """Lines of cleaned text.

    `style` colours one line at a time; a word is the style of every line. `numbers` shows line numbers if there is
    room. `indent` columns stay empty on the left.
    """

    def __init__(
        self,
        text: str,
        *,
        style: LineStyler | str = "",
        numbers: bool = False,
        indent: int = 0,
    ) -> None:
        self.text = text
        self.lines = text.split("\n")
        if len(self.lines) > 1 and not self.lines[-1]:
            self.lines.pop()
        self.style = style
        self.numbers = numbers
        self.indent = indent

    def lay_out(self, width: int, theme: MarkdownTheme) -> TextRows:
        """Wrap every line to the width."""
        gutter = 0
        if self.numbers and width >= 60:
            gutter = len(str(len(self.lines))) + 2
        return TextRows(self, max(1, width - gutter - self.indent), gutter)


def line_facts(body: TextBody) -> tuple[str]:
    """Return the number of lines as the facts of a document."""
    return (quantity(len(body.lines), "line"),)


class TextRows(Rows):
    """The rows of a text body, computed from the lines and the points where they are wrapped."""

    def __init__(self, body: TextBody, width: int, gutter: int) -> None:
        self._body = body
        self._gutter = gutter
        self._firsts = array("q")
        self._folds: dict[int, list[int]] = {}
        total = 0
        for number, line in enumerate(body.lines):
            self._firsts.append(total)
            points = fold_points(line, width)
            if points:
                self._folds[number] = points
            total += 1 + len(points)
        self._length = total
        self._spans_of = lru_cache(maxsize=512)(self._spans)

    def __len__(self) -> int:
        """The number of rows."""
        return self._length

    def row(self, y: int) -> Content:
        """Row `y` with its gutter and the spans of its line."""
        number = bisect_right(self._firsts, y) - 1
        line = self._body.lines[number]
        part = y - self._firsts[number]
        start, end = part_of(self._folds.get(number, ()), part, len(line))
        spans = clipped(self._spans_of(number), start, end, self._body.indent - start)
        content = Content(" " * self._body.indent + line[start:end], spans)
        if not self._gutter:
            return content
        label = str(number + 1) if part == 0 else ""
        gutter = f"{label:>{self._gutter - 2}}  "
        return styled(gutter, "dim") + content

    def row_of(self, line: int) -> int:
        """Return the first row of a line, from 1; of the last line if there are fewer."""
        return self._firsts[min(max(line, 1), len(self._firsts)) - 1]

    def find(self, needle: str) -> list[Match]:
        """Return every occurrence of `needle`; one that is wrapped is marked up to the end of its row."""
        return (
            list(islice(self._found(re.compile(re.escape(needle.casefold()))), MATCH_LIMIT)) if needle else []
        )

    def _found(self, wanted: re.Pattern[str]) -> Iterator[Match]:
        for number, line in enumerate(self._body.lines):
            points = self._folds.get(number, ())
            for each in wanted.finditer(line.casefold()):
                part = bisect_right(points, each.start())
                start, end = part_of(points, part, len(line))
                shift = self._gutter + self._body.indent - start
                row = self._firsts[number] + part
                yield Match(row, each.start() + shift, min(each.end(), end) + shift)

    def _spans(self, number: int) -> Sequence[Span]:
        style, line = self._body.style, self._body.lines[number]
        if callable(style):
            return style(number, line)
        return [Span(0, len(line), style)] if style else ()


def part_of(points: Sequence[int], part: int, length: int) -> tuple[int, int]:
    """Return where a part of a line of this length begins and ends that is broken at these points."""
    return points[part - 1] if part else 0, points[part] if part < len(points) else length


def clipped(spans: Iterable[Span], start: int, end: int, shift: int) -> list[Span]:
    """Return what is between two characters of the spans of a line, moved by `shift`."""
    return [
        Span(max(first, start) + shift, min(last, end) + shift, style)
        for first, last, style in spans
        if first < end and last > start
    ]


def fold_points(line: str, width: int) -> list[int]:
    """Return where a line is broken so that no part is wider than `width` cells, after a space if one is near."""
    if line.isascii():
        if len(line) <= width:
            return []
        return _fold_ascii(line, width)
    if len(line) * 2 <= width or cell_len(line) <= width:
        return []
    return _fold_cells(line, width)


def _fold_ascii(line: str, width: int) -> list[int]:
    points: list[int] = []
    start = 0
    while len(line) - start > width:
        space = line.rfind(" ", start + width // 2, start + width)
        start = start + width if space < 0 else space + 1
        points.append(start)
    return points


def _fold_cells(line: str, width: int) -> list[int]:
    points: list[int] = []
    start = used = 0
    space = -1
    for index, character in enumerate(line):
        size = get_character_cell_size(character)
        while used + size > width and index > start:
            start = space + 1 if space - start >= width // 4 else index
            points.append(start)
            used = cell_len(line[start:index])
            space = -1
        if character == " ":
            space = index
        used += size
    return points


_COLOURED_SECONDS = 2.0


def style_code(text: str, language: str) -> LineStyler:
    """Return the styler of the lines of source code; it leaves those plain that take long to colour.

    Raises:
        Stopped: the result is no longer needed.
    """
    lines: list[list[Span]] = [[]]
    column = 0
    for token, role in tokens_of(text, language, "document", _COLOURED_SECONDS, most=100_000):
        check_stopped()
        for index, part in enumerate(token.split("\n")):
            if index:
                lines.append([])
                column = 0
            if part and role:
                lines[-1].append(Span(column, column + len(part), role))
            column += len(part)
    return lambda number, line: lines[number] if number < len(lines) else ()
