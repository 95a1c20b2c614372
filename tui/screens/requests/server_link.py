"""The dialog in which an MCP server asks the person to open a page."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Static

from ua_tui.core.events.types import ElicitationAsked
from ua_tui.tui.keys.places import LINK, KeyPlace, key_binding
from ua_tui.tui.screens.requests.arguments import reveal, reveal_line
from ua_tui.tui.screens.requests.server_form import ServerAnswer
from ua_tui.tui.terminal.copy import copy_text
from ua_tui.tui.terminal.links import browser_link, open_browser_link
from ua_tui.tui.widgets.dialog import Box, Choice, Dialog, Foot, fields


class ServerLinkScreen(Dialog[ServerAnswer | None]):
    """Shows where the page is; it is opened only when the person says so. Esc cancels.

    The result None means that the server no longer waits.
    Continue, which tells the server that the person agreed, is possible once the link was opened or copied.
    """

    PLACE: ClassVar[KeyPlace] = KeyPlace("When a server asks you to open a page")
    FIRST = "decline"
    BINDINGS: ClassVar[list[BindingType]] = [
        key_binding("link.open", "o", "open", "open in the browser", LINK),
        key_binding("link.copy", "y", "copy", "copy the link", LINK),
        key_binding("page.continue", "c", "continue", "continue"),
        key_binding("page.decline", "d", "decline", "decline"),
        key_binding("page.cancel", "escape", "cancel", "cancel"),
    ]

    def __init__(self, event: ElicitationAsked) -> None:
        super().__init__()
        self.event = event
        self._link = browser_link(event.url)

    def compose(self) -> ComposeResult:
        """Show who asks, what, where the link leads and the answers."""
        event, link = self.event, self._link
        with Box("Request of a server", "-asks"):
            yield Static(
                Content(f"The MCP server {reveal_line(event.server)} asks you to open a page:"),
                classes="heading",
            )
            yield Static(Content(reveal(event.message) or "(no message)"), classes="said")
            host = (
                Content.styled(link.host, "bold $warning") if link else Content("not a web link: copy only")
            )
            yield Static(Content.assemble(fields(("Opens", "")), host), classes="facts")
            yield Static(Content(reveal_line(event.url)), classes="link")
            for warning in self._warnings():
                yield Static(Content.assemble(("⚠ ", "bold $warning"), warning), classes="facts")
            yield Static(
                Content("Open it only if you trust this host. Continue when you are done there."),
                classes="advice",
            )
            yield Foot(
                Choice("o", "Open", "open", disabled=link is None),
                Choice("y", "Copy", "copy"),
                Choice("c", "Continue", "continue", disabled=True),
                Choice("d", "Decline", "decline"),
                Choice("Esc", "Cancel", "cancel"),
            )

    def _warnings(self) -> list[str]:
        if self._link is None:
            return []
        warnings = []
        if self._link.url.startswith("http:"):
            warnings.append("The connection is not encrypted.")
        if "xn--" in self._link.host:
            warnings.append("The name of the host has letters that can look like others.")
        return warnings

    def action_open(self) -> None:
        """Open the link in the browser; the dialog shows its host."""
        if self.accepts_answers and open_browser_link(self, self._link):
            self._allow_to_continue()

    def action_copy(self) -> None:
        """Copy the link."""
        if self.accepts_answers:
            copy_text(self, self.event.url, "Link")
            self._allow_to_continue()

    def action_continue(self) -> None:
        """Tell the server that the person agreed, once the link was opened or copied."""
        if not self.query_one("#continue", Choice).disabled:
            self.answer(ServerAnswer("accept"))
        elif self.accepts_answers:
            self.notify("Open or copy the link first.", markup=False)

    def action_decline(self) -> None:
        """Decline."""
        self.answer(ServerAnswer("decline"))

    def action_cancel(self) -> None:
        """Cancel."""
        self.answer(ServerAnswer("cancel"))

    def _allow_to_continue(self) -> None:
        self.query_one("#continue", Choice).disabled = False
        self.focus_choice("#continue")
