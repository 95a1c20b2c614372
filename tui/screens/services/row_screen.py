"""The base of screens that list rows, with the details of the row under the cursor below them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import ClassVar, Generic, TypeVar

from textual import getters
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content

from ua_tui.tui.viewers.view.chrome import KeyLine, TitleLine
from ua_tui.tui.widgets.choice_list import RowList
from ua_tui.tui.widgets.column_list import Column, titles
from ua_tui.tui.widgets.dialog import Words
from ua_tui.tui.widgets.modal import Modal

MUTED = "$text-muted"

Row = TypeVar("Row")


class RowScreen(Modal[None], Generic[Row]):
    """A title, the rows under the names of their columns, details that scroll, and keys.

    A subclass assigns `rows` and calls `show_rows`. `OFFERED` are its keys, before the one that closes it: the name of
    the binding, what it does, and the action.
    """

    OFFERED: ClassVar[Sequence[tuple[str, str, str]]] = ()
    PARTS = (RowList,)

    rows: Sequence[Row] = ()
    title_line = getters.query_one(TitleLine)

    # What a subclass provides

    @abstractmethod
    def columns(self, width: int) -> Sequence[Column[Row]]:
        """The columns of a list of this width; a style that is found is left out on the row under the cursor.

        Not every colour of a state is legible there; the mark and the word say the same.
        """

    @abstractmethod
    def mark(self, row: Row) -> tuple[str, str]:
        """The sign of the state of a row, and its style."""

    @abstractmethod
    def details(self) -> Iterator[Content]:
        """What is below the rows, of the row under the cursor."""

    # What all of them share

    def compose(self) -> ComposeResult:
        """Create the rows, the details, and the keys."""
        yield TitleLine()
        yield Words(id="header")
        yield RowList()
        with VerticalScroll(id="details", can_focus=False):
            yield from self.compose_details()
        offered = (*self.OFFERED, ("screen.back", "back", "close"))
        yield KeyLine(
            *((self.keys.shown(name), label, f"screen.{action}") for name, label, action in offered)
        )

    def compose_details(self) -> ComposeResult:
        """Create what is below the rows."""
        yield Words(id="about")

    def on_mount(self) -> None:
        """Focus the rows."""
        self.query_one(RowList).focus()

    def on_resize(self) -> None:
        """Lay out everything for the new width."""
        self.show_rows()

    def on_option_list_option_highlighted(self) -> None:
        """Show the details of the row under the cursor, from their beginning."""
        self.query_one("#details").scroll_home(animate=False)
        self._draw()

    def action_scroll_details(self, pages: int) -> None:
        """Scroll the details by a page."""
        details = self.query_one("#details")
        details.scroll_relative(y=pages * max(1, details.size.height - 1), animate=False)

    @property
    def chosen(self) -> Row | None:
        """The row under the cursor."""
        at = self.query_one(RowList).highlighted
        return self.rows[at] if at is not None and at < len(self.rows) else None

    def show_rows(self) -> None:
        """Show the rows as they are now, and the details."""
        shown, count = self.query_one(RowList), len(self.rows)
        header = f"   {titles(self.columns(self._width))}"[: self._width].rstrip()
        self.query_one("#header", Words).update(Content.styled(header, MUTED))
        if count != shown.option_count:
            shown.show_rows(Content("") for _ in self.rows)
        self._draw()

    @property
    def _width(self) -> int:
        return max(20, self.size.width - 3)

    def _draw(self) -> None:
        shown = self.query_one(RowList)
        for index, each in enumerate(self.rows):
            shown.replace_option_prompt_at_index(index, self._row(each, index == shown.highlighted))
        self.show_details()

    def show_details(self) -> None:
        """Show what is below the rows as it is now."""
        self.query_one("#about", Words).update(Content("\n").join(self.details()))

    def _row(self, row: Row, chosen: bool) -> Content:
        """Lay out a row; the chosen one has a mark, as the cursor may have no colour."""
        glyph, style = self.mark(row)
        parts = [("›" if chosen else " ", "bold"), (f"{glyph} ", "" if chosen else style)]
        for column in self.columns(self._width):
            found = column.style
            if callable(found):
                found = "" if chosen else found(row)
            parts.append((column.cell(column.text(row)), found))
        return Content.assemble(*parts).truncate(self._width)


def field(label: str, text: str, width: int, style: str = "") -> Content:
    """Lay out a text after its label, with a hanging indent."""
    return hanging((f"{label}  ", MUTED), text, width, style)


def hanging(head: Content | tuple[str, str], text: str, width: int, style: str = "") -> Content:
    """Lay out a text after `head`, a content or text with a style, with a hanging indent."""
    start = head if isinstance(head, Content) else Content.styled(*head)
    indent = start.cell_length
    lines = [
        line for part in text.splitlines() or [""] for line in wrap(part, max(12, width - indent)) or [""]
    ]
    return Content.assemble(start, (f"\n{' ' * indent}".join(lines), style))
