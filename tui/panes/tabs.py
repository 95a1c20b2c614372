"""A row of tabs that stands for panes which have no room to be shown side by side."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

__all__ = ["PaneTabs"]


class PaneTabs(Widget):
    """One line of names, the active one marked by weight and underline; a click chooses."""

    @dataclass
    class Chosen(Message):
        """A tab was clicked."""

        pane: str

    def __init__(self) -> None:
        super().__init__()
        self._panes: tuple[tuple[int, str, str], ...] = ()
        self._active = ""

    def show(self, panes: tuple[tuple[int, str, str], ...], active: str) -> None:
        """Offer `panes`, each `(number, name, title)` with the number that is its key; mark `active`."""
        if (panes, active) != (self._panes, self._active):
            self._panes, self._active = panes, active
            self.refresh()

    def render(self) -> Content:
        """Draw the names, shortened to their numbers when there is no room."""
        full = Content("  ").join([self._tab(*pane) for pane in self._panes])
        if full.cell_length <= self.content_size.width:
            return full
        return Content(" ").join([self._tab(number, name, title[:4]) for number, name, title in self._panes])

    def _tab(self, number: int, name: str, title: str) -> Content:
        if name == self._active:
            return Content.assemble((f" {number} ", "$accent"), (title, "bold underline $accent"), " ")
        return Content.styled(f" {number} {title} ", "$text-muted")

    def on_click(self, event: events.Click) -> None:
        """Choose the tab under the pointer."""
        titles = [title for _, _, title in self._panes]
        if sum(len(title) + 4 for title in titles) + 2 * (len(titles) - 1) > self.content_size.width:
            widths = [len(title[:4]) + 4 + 1 for title in titles]
        else:
            widths = [len(title) + 4 + 2 for title in titles]
        end = 0
        for (_, name, _), width in zip(self._panes, widths, strict=True):
            end += width
            if event.x < end:
                self.post_message(self.Chosen(name))
                return
