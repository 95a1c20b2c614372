"""A list to choose from, whose cursor is visible without colours, too."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.strip import Strip
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from ua_tui.tui.keys.bindings import bindings


class ChoiceList(OptionList):
    """Reverses the colours of the chosen row where the theme asks for it, and where there are no colours."""

    def __init__(self, *options: Option, id: str | None = None) -> None:
        super().__init__(*options, id=id, markup=False, compact=True)

    def show_rows(self, rows: Iterable[Content], at: int | None = None) -> None:
        """Show these rows, with the cursor on the row `at`, or where it was as far as there are rows."""
        wanted = self.highlighted or 0 if at is None else at
        self.clear_options()
        self.add_options([Option(row) for row in rows])
        self.highlighted = min(wanted, self.option_count - 1) if self.option_count else None

    def _move_page(self, direction: Literal[-1, 1]) -> None:
        """Stay where there is no room for a line: Textual has none to count."""
        if self.scrollable_content_region:
            super()._move_page(direction)

    def render_line(self, y: int) -> Strip:
        """Render one line of a row."""
        strip = super().render_line(y)
        if not self.has_focus or self._row(y) != self.highlighted:
            return strip
        highlight = self.get_component_styles("option-list--option-highlighted").text_style
        if not (highlight.reverse or self.app.no_color):
            return strip
        # One style for the whole row, as reversed colours would be patches; the meta lets a click find its row.
        style = self.rich_style + highlight + Style(reverse=True)
        return Strip(
            [
                Segment(segment.text, style + Style(meta=segment.style.meta if segment.style else None))
                for segment in strip
            ],
            strip.cell_length,
        )

    def _row(self, y: int) -> int:
        """The row that a line belongs to; -1 below the last one."""
        line = y + int(self.scroll_offset.y)
        return self._lines[line][0] if line < len(self._lines) else -1


class LetterKeyList(ChoiceList):
    """A list in which j and k move, too."""

    BINDINGS = bindings("LetterKeyList")


class RowList(ChoiceList, inherit_bindings=False):
    """The rows of a screen with details of the chosen one, which the other keys scroll."""

    BINDINGS = bindings("RowList")
