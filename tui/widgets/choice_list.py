"""A list to choose from, whose cursor is seen where there are no colours, too."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widgets import OptionList

__all__ = ["ChoiceList"]


class ChoiceList(OptionList):
    """Turns the colours of the chosen row around where the theme asks for that, and where there are none."""

    def render_line(self, y: int) -> Strip:
        """Render one line of a row."""
        strip = super().render_line(y)
        if not self.has_focus or self._row(y) != self.highlighted:
            return strip
        told = self.get_component_styles("option-list--option-highlighted").text_style
        if not (told.reverse or self.app.no_color):
            return strip
        # One style for all of it, as colours turned around would be patches; a click must still find its row.
        style = self.rich_style + told + Style(reverse=True)
        return Strip(
            [
                Segment(segment.text, style + Style(meta=segment.style.meta if segment.style else None))
                for segment in strip
            ],
            strip.cell_length,
        )

    def _row(self, y: int) -> int:
        """Which row a line belongs to; -1 below the last one."""
        line = y + int(self.scroll_offset.y)
        return self._lines[line][0] if line < len(self._lines) else -1
