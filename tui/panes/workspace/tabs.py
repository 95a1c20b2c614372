"""The line above the workspace tree that says which folder is shown, and offers the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from tui.panes.workspace.rows import NEW

__all__ = ["PlaceTabs"]


@dataclass(frozen=True, slots=True)
class _Tab:
    name: str
    title: str
    fresh: bool


class PlaceTabs(Widget):
    """One line of titles: the active one by weight and underline, one with new files by a mark. A click chooses."""

    @dataclass
    class Chosen(Message):
        """A title was clicked."""

        name: str

    def __init__(self) -> None:
        super().__init__()
        self._tabs: tuple[_Tab, ...] = ()
        self._active = ""

    def offer(self, tabs: Sequence[tuple[str, str, bool]], active: str) -> None:
        """Offer `tabs`, each `(name, title, has new files)`; mark `active`."""
        now = tuple(_Tab(*tab) for tab in tabs)
        if (now, active) != (self._tabs, self._active):
            self._tabs, self._active = now, active
            self.refresh()

    def render(self) -> Content:
        """Draw the titles."""
        return Content(" ").join([self._draw(tab) for tab in self._tabs])

    def _draw(self, tab: _Tab) -> Content:
        style = "bold underline $accent" if tab.name == self._active else "$text-muted"
        mark = (f" {NEW}", "$accent") if tab.fresh else ""
        return Content.assemble(" ", (tab.title, style), mark, " ")

    def on_click(self, event: events.Click) -> None:
        """Choose the title under the pointer."""
        end = 0
        for tab in self._tabs:
            end += self._draw(tab).cell_length + 1
            if event.x < end:
                self.post_message(self.Chosen(tab.name))
                return
