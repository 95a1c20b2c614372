"""The links of a document, to open one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from core.text import clean_line
from tui.keys.keymap import keys_of
from tui.keys.places import KeyPlace, key_binding
from tui.render.format import tail_cut
from tui.terminal.links import browser_link
from tui.viewers.view.links import FoundLink
from tui.widgets.choice_list import LetterKeyList
from tui.widgets.dialog import Box, Dialog, Foot

__all__ = ["LinksScreen"]

_TEXT, _ADDRESS = 32, 60


class LinksScreen(Dialog[str | None]):
    """Lists links by their text and where they lead; closes with the chosen address, or with None.

    Args:
        links: the links; their addresses are untrusted.
        at: the index the cursor starts on.
    """

    PLACE: ClassVar[KeyPlace] = KeyPlace("Among links", fixed=(("Enter", "open it (asks first)"),))
    BINDINGS: ClassVar[list[BindingType]] = [key_binding("screen.back", "escape,q", "close", "back")]

    def __init__(self, links: Sequence[FoundLink], at: int) -> None:
        super().__init__(requested=True)
        self.links = links
        self._first = at

    def compose(self) -> ComposeResult:
        """Create the list and its keys."""
        with Box("Links"):
            yield LetterKeyList(*(Option(_row(link)) for link in self.links), id="links-found")
            close = keys_of(self.app).shown("screen.back")
            yield Foot(hint=f"Enter open (asks first)   {close} close")

    def on_mount(self) -> None:
        """Start on the first visible link."""
        found = self.query_one(OptionList)
        found.highlighted = self._first
        found.focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Close with the chosen link."""
        event.stop()
        self.dismiss(self.links[event.option_index].url)


def _row(link: FoundLink) -> Content:
    leads = browser_link(link.url)
    if leads is None:
        where = f"not a web link: {link.url}"
    else:
        # The host as the browser will use it.
        where = leads.host + "".join(link.url.partition("://")[2].partition("/")[1:])
    shown = tail_cut(link.text or "(no text)", _TEXT)
    return Content.assemble(shown, (f"  {tail_cut(clean_line(where, 400), _ADDRESS)}", "$text-muted"))
