"""The headings of a document, to jump to one of them where there is no room for a column of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import OptionList

from ua_tui.tui.keys.keymap import keys_of
from ua_tui.tui.keys.places import KeyPlace, key_binding
from ua_tui.tui.viewers.document import Landmark
from ua_tui.tui.viewers.view.outline import OutlineList
from ua_tui.tui.widgets.dialog import Box, Dialog, Foot


class HeadingsScreen(Dialog[int | None]):
    """Lists headings; closes with the number of the chosen one, from 0, or with None.

    Args:
        headings: the headings of the document.
        row: the row that the reader is at, whose heading the cursor starts on.
    """

    PLACE: ClassVar[KeyPlace] = KeyPlace("Among headings", fixed=(("Enter", "go to it"),))
    BINDINGS: ClassVar[list[BindingType]] = [key_binding("screen.back", "escape,q", "close", "back")]

    def __init__(self, headings: Sequence[Landmark], row: int) -> None:
        super().__init__(requested=True)
        self._headings = headings
        self._row = row

    def compose(self) -> ComposeResult:
        """Create the list and its keys."""
        with Box("Headings"):
            yield OutlineList(id="headings-found")
            close = keys_of(self.app).shown("screen.back")
            yield Foot(hint=f"Enter go to it   {close} close")

    def on_mount(self) -> None:
        """Start on the heading that the reader is below."""
        found = self.query_one(OutlineList)
        found.show(self._headings)
        found.mark_current(self._row)
        found.focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Close with the number of the chosen heading."""
        event.stop()
        self.dismiss(event.option_index)
