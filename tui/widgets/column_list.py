"""A list that draws only visible rows, as there may be ten thousand, below a header."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from rich.cells import set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.render.format import tail_cut

HEADER = 1

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


class ColumnList(ScrollView, Generic[Row], can_focus=True):
    """Shows rows in columns under a header; the cursor stays on its row when others are added above it.

    A subclass says what identifies a row, has the columns and the mark of a row, and a key that opens one.

    Attributes:
        rows: the listed rows.
    """

    BINDINGS = bindings("ColumnList")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "column-list--header",
        "column-list--muted",
        "column-list--cursor",
    }

    class Highlighted(Message):
        """The row under the cursor is another one, or has changed."""

    class Opened(Message):
        """A row is opened."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.rows: Sequence[Row] = ()
        self._at = 0

    @abstractmethod
    def name_of(self, row: Row) -> str:
        """What identifies a row."""

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

    @property
    def chosen(self) -> Row | None:
        """The row under the cursor."""
        return self.rows[self._at] if self._at < len(self.rows) else None

    def show(self, rows: Sequence[Row], at: str | None = None) -> None:
        """Show these rows; the cursor moves to the one that `at` names, or stays on its row or at its position."""
        before = self.chosen
        wanted = at if at is not None else self.name_of(before) if before is not None else None
        below = self._at - int(self.scroll_offset.y)
        self.rows = rows
        place = next((place for place, row in enumerate(rows) if self.name_of(row) == wanted), None)
        moved = place is not None and place != self._at
        self._at = min(self._at, max(0, len(rows) - 1)) if place is None else place
        self.virtual_size = Size(0, len(rows) + HEADER)
        if moved and before is not None and wanted == self.name_of(before) and self.scroll_offset.y:
            # Rows that are added above do not move the cursor's row on the screen, unless it is at the top.
            self.scroll_to(y=max(0, self._at - below), animate=False, immediate=True)
        self._reveal()
        self.refresh()
        self.post_message(self.Highlighted())

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        self._go(self._at + by)

    def action_page(self, by: int) -> None:
        """Move the cursor by a screen."""
        self._go(self._at + by * max(1, self.scrollable_content_region.height - HEADER - 1))

    def action_go(self, to: int) -> None:
        """Move the cursor to the first or the last row."""
        self._go(to if to >= 0 else len(self.rows) - 1)

    def action_open(self) -> None:
        """Open the row under the cursor."""
        if self.chosen is not None:
            self.post_message(self.Opened())

    def on_click(self, event: events.Click) -> None:
        """Move the cursor; a double click opens."""
        event.prevent_default()
        offset = event.get_content_offset(self)
        if offset is None or offset.y < HEADER:
            return
        place = offset.y - HEADER + int(self.scroll_offset.y)
        if place < len(self.rows):
            self._go(place)
            if event.chain == 2:
                self.action_open()

    def on_resize(self) -> None:
        """Keep the cursor visible."""
        self.virtual_size = Size(0, len(self.rows) + HEADER)
        self._reveal()

    def _go(self, to: int) -> None:
        if self.rows:
            self._at = max(0, min(to, len(self.rows) - 1))
            self._reveal()
            self.refresh()
            self.post_message(self.Highlighted())

    def _reveal(self) -> None:
        # The header covers the first line: a row is visible if it is below that.
        region = Region(0, self._at, 1, HEADER + 1)
        self.scroll_to_region(region, animate=False, immediate=True, force=True)

    def render_line(self, y: int) -> Strip:
        """Draw the header, or a row."""
        width = self.scrollable_content_region.width
        if y < HEADER:
            style = self.get_component_rich_style("column-list--header")
            text = "  " + titles(self.columns(width))
            return Strip([Segment(text, style)]).adjust_cell_length(width, style)
        place = y - HEADER + int(self.scroll_offset.y)
        if place >= len(self.rows):
            return Strip.blank(width, self.rich_style)
        row, base = self.rows[place], self.rich_style
        glyph, style = self.mark(row)
        parts = [(f"{glyph} ", style)]
        for column in self.columns(width):
            style = column.style(row) if callable(column.style) else column.style
            parts.append((column.cell(column.text(row)), style))
        if place == self._at:
            base = self.get_component_rich_style("column-list--cursor")
            parts = [(text, base) for text, _ in parts]
        return Strip([Segment(text, style) for text, style in parts]).adjust_cell_length(width, base)
