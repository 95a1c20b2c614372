"""A line of tabs, each of which is chosen by a click on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.content import Content
from textual.style import Style
from textual.widget import Widget


class TabLine(Widget):
    """A line that `tab_line` has laid out; a click on a tab calls `choose` with its name."""

    def __init__(self, choose: Callable[[str], None]) -> None:
        super().__init__()
        self._choose = choose

    def on_click(self, event: events.Click) -> None:
        """Choose the tab under the pointer."""
        if name := str(event.style.meta.get("tab", "")):
            self._choose(name)


def tab_line(tabs: Sequence[tuple[str, Content]], gap: int) -> Content:
    """Lay out tabs by their names with so many cells between them, which belong to the tab before."""
    shown = [
        Content.assemble(tab, " " * (gap if number < len(tabs) else 0)).stylize(
            Style.from_meta({"tab": name})
        )
        for number, (name, tab) in enumerate(tabs, 1)
    ]
    return Content("").join(shown)
