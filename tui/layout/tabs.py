"""A row of tabs for panes that have no room side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from ua_tui.tui.panes.spec import PaneSpec
from ua_tui.tui.widgets.modal import unscrolled_size


class PaneTabs(Widget):
    """One line of names, the active one marked by weight and underline; a click chooses.

    No name is cut: where there is no room for all, the others than the active one are there as their numbers.
    """

    virtual_size = unscrolled_size()

    @dataclass
    class Chosen(Message):
        """A tab was clicked."""

        pane: str

    def __init__(self) -> None:
        super().__init__()
        self._panes: tuple[PaneSpec, ...] = ()
        self._active = ""

    def show(self, panes: tuple[PaneSpec, ...], active: str) -> None:
        """Offer `panes`, each with the number that is its key; mark `active`."""
        if (panes, active) != (self._panes, self._active):
            self._panes, self._active = panes, active
            self.refresh()

    def render(self) -> Content:
        """Draw the names as far as there is room."""
        tabs, gap = self._laid_out()
        return Content(" " * gap).join(tabs)

    def _laid_out(self) -> tuple[list[Content], int]:
        """The tabs in the widest form that fits, and how many cells stand between two of them."""
        for tabs, gap in self._forms():
            if sum(tab.cell_length for tab in tabs) + gap * (len(tabs) - 1) <= self.content_size.width:
                break
        return tabs, gap

    def _forms(self) -> Iterator[tuple[list[Content], int]]:
        """Every form of the tabs, the widest first."""
        named = {pane.name for pane in self._panes}
        yield self._tabs(named, " "), 2
        yield self._tabs(named), 2
        yield self._tabs(named), 1
        yield self._tabs({self._active}), 2
        yield self._tabs({self._active}), 1
        yield self._tabs(set()), 1

    def _tabs(self, named: set[str], edge: str = "") -> list[Content]:
        """The tabs with the titles of those that are `named`, each between two edges."""
        return [
            self._tab(
                pane.number or 0, pane.title if pane.name in named else "", pane.name == self._active, edge
            )
            for pane in self._panes
        ]

    def _tab(self, number: int, title: str, active: bool, edge: str) -> Content:
        if not active:
            return Content.styled(f"{edge}{number}{' ' if title else ''}{title}{edge}", "$text-muted")
        if not title:
            return Content.assemble(edge, (str(number), "bold underline $accent"), edge)
        return Content.assemble((f"{edge}{number} ", "$accent"), (title, "bold underline $accent"), edge)

    def on_click(self, event: events.Click) -> None:
        """Choose the tab under the pointer."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        tabs, gap = self._laid_out()
        end = 0
        for pane, tab in zip(self._panes, tabs, strict=True):
            end += tab.cell_length + gap
            if offset.x < end:
                self.post_message(self.Chosen(pane.name))
                return
