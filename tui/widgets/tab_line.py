"""A line of tabs, each of which is chosen by a click on it."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.content import Content
from textual.style import Style


def tab_line(tabs: Sequence[tuple[str, Content]], gap: int) -> Content:
    """Lay out tabs by their names with so many cells between them, which belong to the tab before."""
    shown = [
        Content.assemble(tab, " " * (gap if number < len(tabs) else 0)).stylize(
            Style.from_meta({"tab": name})
        )
        for number, (name, tab) in enumerate(tabs, 1)
    ]
    return Content("").join(shown)


def clicked_tab(event: events.Click) -> str:
    """Return the name of the tab below the pointer; empty if there is none."""
    return str(event.style.meta.get("tab", ""))
