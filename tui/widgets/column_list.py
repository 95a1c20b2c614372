"""A list below a header, which draws only its visible rows, as there may be ten thousand."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from rich.cells import set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.message import Message
from textual.strip import Strip

from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.render.format import tail_cut
from ua_tui.tui.render.layout import Line, cut_line
from ua_tui.tui.virtual_list.source import EntryList, Rendered
from ua_tui.tui.virtual_list.virtual_list import VirtualList

Row = TypeVar("Row")


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A column of a list: its title, its width in cells, and what it says of a row.

    `style` is that of its cells in the list, or finds it for a row. `gap` are the cells before it.
    """

    title: str
    width: int
    text: Callable[[Row], str]
    style: Any = ""
    right: bool = False
    gap: int = 2
    cut: Callable[[str, int], str] = tail_cut

    def cell(self, text: str) -> str:
        """Lay out a text in the width of the column, after its gap."""
        shown = self.cut(text, self.width)
        return " " * self.gap + (f"{shown:>{self.width}}" if self.right else set_cell_size(shown, self.width))


def titles(columns: Iterable[Column[Row]]) -> str:
    """The names of columns in a line."""
    return "".join(column.cell(column.title) for column in columns)


class Listed(NamedTuple, Generic[Row]):
    """A row and what identifies it. When a row changes, all of them are drawn again."""

    key: str
    row: Row
    revision: int = 0


class KeyedList(VirtualList[Listed[Row]], Generic[Row]):
    """Shows rows that have names: its messages say where the cursor is, and that a row is opened.

    Attributes:
        listed: the rows.
    """

    ALLOW_SELECT = False
    FOLLOWS_END = False

    class Highlighted(Message):
        """The row under the cursor is another one, or has changed."""

        def can_replace(self, message: Message) -> bool:
            """Of several in a row, only the last is handled."""
            return isinstance(message, KeyedList.Highlighted)

    class Opened(Message):
        """A row is opened."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.listed: Sequence[Row] = ()

    @abstractmethod
    def name_of(self, row: Row) -> str:
        """What identifies a row."""

    @property
    def chosen(self) -> Row | None:
        """The row under the cursor."""
        return self.cursor.row if self.cursor is not None else None

    def show(self, rows: Sequence[Row], at: str | None = None) -> None:
        """Show these rows; the cursor moves to the one that `at` names, or stays on its row or at its position."""
        before, line, top = self.cursor, max(0, self.cursor_index), self.bookmark.top[0]
        self.listed = rows
        entries = [Listed(self.name_of(row), row) for row in rows]
        self.replace_all(EntryList(entries, [self.estimate(entry, self.entry_width) for entry in entries]))
        self.touch_all()
        place = self.index_of(at) if at is not None else None if before is None else self.index_of(before.key)
        if place is None:
            place = min(line, max(0, len(rows) - 1))
        elif top and at is None:
            # Rows that are added above do not move the cursor's row on the screen, unless it is at the top.
            top = max(0, top + place - line)
        self.set_cursor(self.entries[place].key if rows else None)
        self.place_at(top, 0)
        if rows and not any(shown.position == place for shown in self.lines):
            self.show_entry(self.entries[place].key)

    def set_cursor(self, key: Hashable | None) -> None:
        """Move the cursor, and report it."""
        super().set_cursor(key)
        self.post_message(self.Highlighted())

    def open_entry(self, entry: Listed[Row]) -> None:
        """Open a row."""
        self.post_message(self.Opened())


class ColumnList(KeyedList[Row], Generic[Row], inherit_bindings=False):
    """Shows rows in columns under a header; the cursor stays on its row when others are added above it.

    A subclass says what identifies a row, has the columns and the mark of a row, and a key that opens one.
    """

    single_lines = True
    BINDINGS = bindings("ColumnList")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "column-list--header",
        "column-list--muted",
        "column-list--cursor",
    }

    @abstractmethod
    def columns(self, width: int) -> Sequence[Column[Row]]:
        """The columns of a list of this width."""

    @abstractmethod
    def mark(self, row: Row) -> tuple[str, Style]:
        """The glyph before a row, and its style."""

    @property
    def muted(self) -> Style:
        """The style of what matters less."""
        return self.get_component_rich_style("column-list--muted")

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._laid_out: tuple[tuple[int, int], Sequence[Column[Row]]] = ((-1, 0), ())

    def redraw(self) -> None:
        """Draw all rows again."""
        self.touch_all()
        self.update_rows()

    def on_resize(self) -> None:
        """Keep the cursor visible."""
        if self._cursor is not None:
            self.show_entry(self._cursor)

    def _columns(self, width: int) -> Sequence[Column[Row]]:
        """The columns, for which all rows may be read: once for all lines that are drawn at a time."""
        if self._laid_out[0] != (self._generation, width):
            self._laid_out = (self._generation, width), self.columns(width)
        return self._laid_out[1]

    @property
    def entry_width(self) -> int:
        """All cells: the scroll bar has a column of its own."""
        return max(1, self.scrollable_content_region.width)

    def render_head(self, width: int, height: int) -> Sequence[Line]:
        """Name the columns."""
        return [
            [Segment("  " + titles(self._columns(self.entry_width)), self.palette["column-list--header"])]
        ]

    def render_entry(self, entry: Listed[Row], width: int) -> Sequence[Line]:
        """Draw a row."""
        glyph, style = self.mark(entry.row)
        line = [Segment(f"{glyph} ", style)]
        for column in self._columns(width):
            style = column.style(entry.row) if callable(column.style) else column.style
            line.append(Segment(column.cell(column.text(entry.row)), style or None))
        return [cut_line(line, width)]

    def highlight(self, entry: Listed[Row], rendered: Rendered, line: int, strip: Strip) -> Strip:
        """Draw the row of the cursor in one colour."""
        if entry.key != self._cursor:
            return strip
        style = self.get_component_rich_style("column-list--cursor")
        return Strip([Segment(strip.text, style)], strip.cell_length)
