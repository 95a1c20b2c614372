"""Tables of any length as rows: columns fitted to the width, cells on one line, rows made when shown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content, Span

from tui.format import tail_cut
from tui.markdown import MarkdownTheme
from tui.viewers.document import Match, find_in_rows

__all__ = ["TableBody"]

_NUMBER = re.compile(r"[-+]?[$€£]?\d[\d,.]*\s?%?")
_MEASURED_ROWS = 500
_GAP = 2
_NARROWEST = 6
_WIDEST = 60
_NARROW = 40


class TableBody:
    """A header and rows of cells; columns that hold only numbers stand to the right."""

    def __init__(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self.header = header
        self.rows = rows
        sample = rows[:_MEASURED_ROWS]
        count = len(header)
        self._natural = [
            min(_WIDEST, max([cell_len(header[i]), *(cell_len(row[i]) for row in sample if i < len(row))]))
            for i in range(count)
        ]
        self._numeric = [
            any(i < len(row) and row[i] for row in sample)
            and all(not row[i] or _NUMBER.fullmatch(row[i]) for row in sample if i < len(row))
            for i in range(count)
        ]

    def lay_out(self, width: int, theme: MarkdownTheme) -> TableRows:
        """Fit as many columns as have room; what does not fit is counted at the end of the header."""
        shown = len(self.header)
        while shown > 1 and self._needed(shown) > width:
            shown -= 1
        hidden = len(self.header) - shown if width > _NARROW else 0
        more = f"+{hidden} columns" if hidden > 1 else "+1 column" if hidden else ""
        room = width - (len(more) + _GAP if more else 0)
        return TableRows(self, self._fit(shown, max(1, room)), more, self._numeric)

    def _needed(self, count: int) -> int:
        return sum(min(_NARROWEST, natural) for natural in self._natural[:count]) + _GAP * (count - 1)

    def _fit(self, count: int, width: int) -> list[int]:
        """Give narrow columns what they need; the others share the rest evenly."""
        widths = [0] * count
        room = width - _GAP * (count - 1)
        waiting = sorted(range(count), key=self._natural.__getitem__)
        while waiting:
            share = max(1, room // len(waiting))
            column = waiting.pop(0)
            widths[column] = max(1, min(self._natural[column], share))
            room -= widths[column]
        return widths


class TableRows:
    """The rows of a table: header, rule, and one row for each row."""

    def __init__(self, body: TableBody, widths: list[int], more: str, numeric: list[bool]) -> None:
        self._body = body
        self._widths = widths
        self._more = more
        self._numeric = numeric

    def __len__(self) -> int:
        """The number of rows, header and rule counted."""
        return len(self._body.rows) + 2

    def row(self, y: int) -> Content:
        """Row `y`."""
        if y == 0:
            text = self._line(self._body.header)
            content = Content(text, [Span(0, len(text), "strong")])
            return (
                content + Content(f"  {self._more}", [Span(0, len(self._more) + 2, "dim")])
                if self._more
                else content
            )
        if y == 1:
            rule = "─" * (sum(self._widths) + _GAP * (len(self._widths) - 1))
            return Content(rule, [Span(0, len(rule), "dim")])
        return Content(self._line(self._body.rows[y - 2]))

    def find(self, needle: str) -> list[Match]:
        """Every place of `needle` that is seen."""
        return find_in_rows(self, needle)

    def _line(self, cells: Sequence[str]) -> str:
        parts: list[str] = []
        for index, width in enumerate(self._widths):
            cell = tail_cut(cells[index], width) if index < len(cells) else ""
            blank = " " * (width - cell_len(cell))
            parts.append(blank + cell if self._numeric[index] else cell + blank)
        return (" " * _GAP).join(parts)
