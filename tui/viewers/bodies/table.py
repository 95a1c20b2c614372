"""Tables with a cursor: sorted by any column, filtered by text, scrolled by columns."""

from __future__ import annotations

import heapq
import re
from array import array
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

from rich.cells import cell_len
from textual.content import Content, Span

from ua_tui.core.concurrency.cancellation import checked
from ua_tui.core.storage.csv_text import csv_text, spreadsheet_cell
from ua_tui.core.text import clean_line
from ua_tui.tui.render.format import middle_cut, tail_cut
from ua_tui.tui.render.markdown.renderer import MarkdownTheme
from ua_tui.tui.viewers.bodies.text import TextBody
from ua_tui.tui.viewers.cursor_body import (
    BackgroundWork,
    BodyCommand,
    CopyText,
    CursorBody,
    CursorRows,
    KeyHint,
    Outcome,
    SaveCsv,
)
from ua_tui.tui.viewers.document import Body, joined, styled

FILTER_KEY = KeyHint("f", "filter", "ask_filter")
EXPORT_KEY = KeyHint("X", "CSV", "export")
TABLE_KEYS = (KeyHint("s", "sort", "sort"), FILTER_KEY, KeyHint("←→", "column", "unfold"))
GAP = 2
_NARROW = 40
_MAX_CELL = 2_000


class Records(Protocol):
    """Rows of cells by number. All methods may be called from any thread."""

    def __len__(self) -> int:
        """Return the number of records."""

    def __getitem__(self, number: int) -> Sequence[str]:
        """Return the cells of a record as they are written; there may be fewer or more than columns."""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column: its title, the role of its cells, how long cells are cut, and its maximum width."""

    title: str
    role: str = ""
    cut_middle: bool = False
    widest: int = 48


class Table(CursorBody):
    """Records under a head; the reader chooses which are shown, and in which order.

    `notes` are lines above the head that stay visible, `every` the numbers of the records in an order of their own.
    """

    filter: str = ""

    def __init__(
        self,
        columns: Sequence[TableColumn],
        records: Records,
        *,
        notes: Sequence[tuple[str, str]] = (),
        every: Sequence[int] | None = None,
    ) -> None:
        self.columns = list(columns)
        self.records = records
        self.notes = list(notes)
        self.empty_text = "No rows."
        self.column = 0
        self.first_column = 0
        self.order = self.every = range(len(records)) if every is None else every
        self.sorted_by: int | None = None
        self.descending = False
        sample = [records[number] for number in self.every[:400]]
        self.natural = [
            min(
                column.widest,
                max([cell_len(column.title) + 2, *(cell_len(cell_of(row, i)) for row in sample)]),
            )
            for i, column in enumerate(self.columns)
        ]
        self.numeric = [
            any(cell_of(row, i) for row in sample)
            and all(not (cell := cell_of(row, i)) or NUMBER.fullmatch(cell) for row in sample)
            for i in range(len(self.columns))
        ]

    @property
    def entries(self) -> int:
        """The number of records shown."""
        return len(self.order)

    @property
    def keys(self) -> Sequence[KeyHint]:
        """The keys for sorting and filtering."""
        return (*TABLE_KEYS, KeyHint("c", "copy cell", "copy"), EXPORT_KEY)

    @property
    def state(self) -> str:
        """The filter and the sorted column."""
        parts = []
        if self.filter:
            parts.append(f"{self.entries:,} with “{self.filter}”")
        if self.sorted_by is not None:
            parts.append(f"by {self.columns[self.sorted_by].title or f'column {self.sorted_by + 1}'}")
        return " · ".join(parts)

    @property
    def record(self) -> int | None:
        """The number of the record under the cursor."""
        return self.order[min(self.cursor, self.entries - 1)] if self.entries else None

    def lay_out(self, width: int, theme: MarkdownTheme) -> TableView:
        """Return the rows for this width."""
        return TableView(self, width)

    def execute(self, command: BodyCommand) -> Outcome:
        """Choose a column, sort, filter or copy."""
        match command.name:
            case "unfold" | "fold":
                step = 1 if command.name == "unfold" else -1
                before = self.column
                self.column = max(0, min(self.column + step, len(self.columns) - 1))
                return self.column != before
            case "sort":
                column = command.column if command.column >= 0 else self.column
                self.column = column
                # A column is sorted in ascending order, then in descending order, then not at all.
                is_sorted = self.sorted_by == column
                by = None if is_sorted and self.descending else column
                return self._arranging(by, self.filter, descending=is_sorted and not self.descending)
            case "turn" if self.sorted_by is not None:
                return self._arranging(self.sorted_by, self.filter, descending=not self.descending)
            case "filter":
                return self._arranging(self.sorted_by, command.text.strip(), descending=self.descending)
            case "copy":
                number = self.record
                if number is None:
                    return False
                return CopyText("cell", cell_of(self.records[number], self.column))
            case "export":
                return SaveCsv(lambda: csv_text([*map(spreadsheet_cell, row)] for row in self.whole_rows()))
            case _:
                return False

    def whole_rows(self) -> Iterator[Sequence[str]]:
        """Yield the titles and the rows that are shown, as they are exported: not cut for the screen.

        Raises:
            Stopped: the result is no longer needed.
        """
        shown = [i for i, natural in enumerate(self.natural) if natural]
        yield [self.columns[i].title for i in shown]
        for number in checked(self.order):
            row = self.whole_row(number)
            yield [row[i] if i < len(row) else "" for i in shown]

    def whole_row(self, number: int) -> Sequence[str]:
        """Return the cells of a record as they are exported."""
        return self.records[number]

    def find_places(self, needle: str) -> Sequence[Hashable]:
        """Return the records with the text in any cell, in the order in which they are shown."""
        wanted = needle.casefold()
        found = (place for place, number in enumerate(checked(self.order)) if self.holds(number, wanted))
        return list(islice(found, 10_000))

    def detail(self) -> Body | None:
        """Return the record under the cursor, one cell on each line, from the chosen column on."""
        number = self.record
        if number is None:
            return None
        row = self.records[number]
        width = min(24, max((cell_len(column.title) for column in self.columns), default=0))
        titles, lines = list[str](), list[str]()
        count = max(len(self.columns), len(row))
        for step in range(min(count, 40)):
            i = (self.column + step) % count
            title = self.columns[i].title if i < len(self.columns) else f"cell {i + 1}"
            title = tail_cut(title or f"column {i + 1}", width)
            titles.append(f"{title}{' ' * (width - cell_len(title))}")
            lines.append(f"{titles[-1]}  {cell_of(row, i) or '-'}")
        return TextBody("\n".join(lines), style=lambda number, _: [Span(0, len(titles[number]), "key")])

    def holds(self, number: int, wanted: str) -> bool:
        """Whether a cell of a record contains a casefolded text."""
        row = self.records[number]
        return any(wanted in cell_of(row, i).casefold() for i in range(len(row)))

    def sort_keys(self, numbers: Sequence[int], column: int) -> Sequence[SortKey]:
        """Return the sort keys of records, in the order of `numbers`.

        Raises:
            Stopped: the result is no longer needed.
        """
        return [key_of(cell_of(self.records[number], column)) for number in checked(numbers)]

    def _arranging(self, column: int | None, text: str, *, descending: bool) -> BackgroundWork:
        keep = self.record

        def prepare() -> Callable[[], None]:
            wanted = text.casefold()
            order = self.every
            if wanted:
                order = array("q", (number for number in checked(order) if self.holds(number, wanted)))
            if column is not None:
                order = sorted_gently(order, self.sort_keys(order, column), descending=descending)
            near = 0
            if keep is not None and (text or column is None):
                near = next((place for place, number in enumerate(checked(order)) if number == keep), 0)

            def change() -> None:
                self.order = order
                self.sorted_by, self.descending, self.filter = column, descending, text
                self.cursor = near

            return change

        return BackgroundWork(prepare, "filtering" if text != self.filter else "sorting")


class TableView(CursorRows):
    """The rows of a table: notes, head, rule, and one row for each record."""

    _body: Table

    def __init__(self, table: Table, width: int) -> None:
        super().__init__(table, width)
        self.head = len(table.notes) + 2

    def __len__(self) -> int:
        """The number of rows."""
        return max(1, self._body.entries) + self.head

    def row(self, y: int) -> Content:
        """Row `y`."""
        table = self._body
        if y < len(table.notes):
            text, role = table.notes[y]
            return styled(tail_cut(text, self._width), role)
        first, widths, more = self.columns()
        if y == self.head - 2:
            return self._titles(first, widths, more)
        if y == self.head - 1:
            rule = "─" * min(self._width, sum(widths) + GAP * (sum(1 for width in widths if width) - 1))
            return styled(rule, "dim")
        if not table.entries:
            text = f"No row contains “{table.filter}”." if table.filter else table.empty_text
            return styled(tail_cut(text, self._width), "dim")
        number = table.order[y - self.head]
        cells = table.records[number]

        def cell(i: int, width: int) -> tuple[str, str]:
            cut = middle_cut if table.columns[i].cut_middle else tail_cut
            return cut(cell_of(cells, i), width), self.role(number, i)

        return self._line(first, widths, cell)

    def _line(
        self, first: int, widths: Sequence[int], cell: Callable[[int, int], tuple[str, str]], more: str = ""
    ) -> Content:
        """Lay out the cells of the columns from `first` on, of which each has a text of a width, and its role."""
        parts: list[tuple[str, str]] = []
        for i, width in enumerate(widths, first):
            if width:
                text, role = cell(i, width)
                blank = " " * max(0, width - cell_len(text))
                before, after = (blank, "") if self._body.numeric[i] else ("", blank)
                parts += [(before, ""), (text, role), (after + " " * GAP, "")]
        return joined([*parts, (more, "dim")])

    def role(self, number: int, column: int) -> str:
        """Return the role of a cell."""
        return self._body.columns[column].role

    def command_at(self, x: int, y: int) -> BodyCommand | None:
        """Return the command of a click on a title, which sorts by that column."""
        first, widths, _ = self.columns()
        at = 0
        for step, width in enumerate(widths):
            if not width:
                continue
            if at <= x < at + width + GAP:
                if y == self.head - 2:
                    return BodyCommand("sort", column=first + step)
                self._body.column = first + step
            at += width + GAP
        return None

    def _titles(self, first: int, widths: Sequence[int], more: str) -> Content:
        table = self._body

        def title(i: int, width: int) -> tuple[str, str]:
            arrow = "" if table.sorted_by != i else " ▼" if table.descending else " ▲"
            text = tail_cut(table.columns[i].title, max(1, width - len(arrow))) + arrow
            return text, "heading" if i == table.column else "strong"

        return self._line(first, widths, title, more)

    def columns(self) -> tuple[int, list[int], str]:
        """Return the first column shown, the widths from there on, and the number of hidden columns as text."""
        table = self._body
        table.first_column = min(table.first_column, table.column)
        while True:
            first = table.first_column
            shown = self._fitting(first)
            if table.column < first + shown or first >= table.column:
                break
            table.first_column += 1
        hidden = sum(map(bool, table.natural[first + shown :]))
        more = f"+{hidden:,} →" if hidden else ""
        before = sum(map(bool, table.natural[:first]))
        if self._width < _NARROW:
            more = ""
        elif before:
            more = f"← {before:,} {more}".strip()
        room = self._width - (cell_len(more) + GAP if more else 0)
        return first, self.fit(first, shown, max(1, room)), more

    def _fitting(self, first: int) -> int:
        shown = self._count_fitting(first, self._width)
        if self._width < _NARROW or (not first and shown == len(self._body.columns)):
            return shown
        return self._count_fitting(first, self._width - 14)

    def _count_fitting(self, first: int, room: int) -> int:
        used = shown = 0
        for natural in self._body.natural[first:]:
            # An empty column takes no room.
            used += min(max(6, natural // 2), natural) + GAP if natural else 0
            if used - GAP > room and shown:
                break
            shown += 1
        return max(1, shown)

    def fit(self, first: int, count: int, width: int) -> list[int]:
        """Return the widths of columns: narrow ones get what they need, the others share the rest evenly."""
        natural = self._body.natural[first : first + count]
        widths = [0] * count
        # An empty column takes no room.
        waiting = sorted((i for i in range(count) if natural[i]), key=natural.__getitem__)
        room = width - GAP * (len(waiting) - 1)
        while waiting:
            share = max(1, room // len(waiting))
            column = waiting.pop(0)
            widths[column] = max(1, min(natural[column], share))
            room -= widths[column]
        return widths


def cell_of(row: Sequence[str], i: int) -> str:
    """Return a cell of a record for the screen: clean, and on one line."""
    return clean_line(row[i].replace("\n", " "), _MAX_CELL) if i < len(row) else ""


_RUN = 5_000
_NUMBER_STARTS = frozenset("+-.$€£0123456789")
NUMBER = re.compile(r"[-+]?[$€£]?\s?\d[\d,.]*(?:[eE][-+]?\d+)?\s?%?")
_DIGITS = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")

SortKey = float | str | None
"""The sort key of a cell: its number, or its text if it is not a number; None if it is empty."""


def key_of(cell: str) -> SortKey:
    """Return the sort key of a cell."""
    if not cell:
        return None
    if cell[0] in _NUMBER_STARTS or not cell.isascii():
        if cell[-1].isdigit() and cell.isascii():
            try:
                return float(cell)
            except ValueError:
                pass  # such as a date
        if NUMBER.fullmatch(cell) and (found := _DIGITS.search(cell)):
            sign = -1.0 if cell.startswith("-") and not found.group().startswith("-") else 1.0
            with suppress(ValueError):
                return sign * float(found.group().replace(",", ""))
    return cell.casefold()


def sorted_gently(order: Sequence[int], keys: Sequence[SortKey], *, descending: bool = False) -> array[int]:
    """Sort record numbers by their keys in many small sorts, as one large sort would block all other threads.

    Numbers come before texts; records without a key come last in both directions. The sort is stable.

    Raises:
        Stopped: the result is no longer needed.
    """
    sorted_ones = array("q")
    for kind in (str, float) if descending else (float, str):
        places = [place for place in checked(range(len(keys))) if type(keys[place]) is kind]
        key: Any = keys.__getitem__
        runs = [
            sorted(places[at : at + _RUN], key=key, reverse=descending)
            for at in checked(range(0, len(places), _RUN))
        ]
        merged = heapq.merge(*runs, key=key, reverse=descending)
        sorted_ones.extend(order[place] for place in checked(merged))
    sorted_ones.extend(order[place] for place in checked(range(len(keys))) if keys[place] is None)
    return sorted_ones
