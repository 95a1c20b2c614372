"""The base of dialogs that show an untrusted link, to be opened in the browser or copied."""

from __future__ import annotations

from typing import TypeVar

from ua_tui.tui.terminal.copy import copy_text
from ua_tui.tui.terminal.links import Link, browser_link, open_browser_link
from ua_tui.tui.widgets.dialog import Dialog

Answer = TypeVar("Answer")


class LinkDialog(Dialog[Answer]):
    """A dialog with a link.

    Attributes:
        address: the address; empty as long as there is none.
        was_used: whether the link was opened or copied.
    """

    address = ""
    was_used = False

    @property
    def link(self) -> Link | None:
        """The link; None if a browser does not open it."""
        return browser_link(self.address)

    def action_open(self) -> None:
        """Open the link in the browser; the dialog shows its host."""
        if self.address and self.accepts_answers and open_browser_link(self, self.link):
            self.note_use()

    def action_copy(self) -> None:
        """Copy the link."""
        if self.address and self.accepts_answers:
            copy_text(self, self.address, "Link")
            self.note_use()

    def note_use(self) -> None:
        """Note that the link was opened or copied."""
        self.was_used = True
