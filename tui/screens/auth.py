"""An account must be connected: the link, where it leads, and what to do when done."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Button, Static

from core.events import AuthRequired
from tui.copying import copy_text
from tui.links import browser_link
from tui.screens.arguments import reveal
from tui.screens.dialog import Box, Choice, Dialog, Foot, fields

__all__ = ["AuthScreen"]

Outcome = Literal["completed", "cancelled"]


class AuthScreen(Dialog[Outcome | None]):
    """Shows an auth link; Enter or `d` says it is done, Esc gives up. None means it was settled elsewhere."""

    UNASKED = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "open", "Open in the browser", show=False),
        Binding("y", "copy", "Copy the link", show=False),
        Binding("d,enter", "done", "Done", show=False),
        Binding("escape", "cancel", "Cancel", show=False),
    ]

    def __init__(self, event: AuthRequired, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self.event = event
        self._link = browser_link(event.url)

    def compose(self) -> ComposeResult:
        """Say which account, where the link leads, and show the whole of it."""
        toolkit = reveal(self.event.toolkit)
        rows = [
            ("Account", toolkit),
            ("Opens", self._link.host if self._link else "not a web link: copy only"),
        ]
        if self.event.expires_at is not None:
            rows.append(("Valid", f"until {self.event.expires_at.astimezone():%H:%M}"))
        with Box(classes="box -asks") as box:
            box.border_title = Content("Connect an account")
            yield Static(Content(f"The agent needs your {toolkit} account."), classes="heading")
            yield Static(fields(*rows), classes="facts")
            yield Static(Content(reveal(self.event.url)), classes="link")
            yield Static(
                Content("Open the link, sign in there, then come back and press Enter: the agent goes on."),
                classes="advice",
            )
            yield Foot(
                Choice("o", "Open", "open", disabled=self._link is None),
                Choice("y", "Copy", "copy"),
                Choice("Enter", "Done", "done"),
                Choice("Esc", "Cancel", "cancel"),
            )

    def on_mount(self) -> None:
        """Put the focus on what comes next."""
        self.begin_with("#done")

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Do what the button says."""
        event.stop()
        match event.button.id:
            case "done":
                self.action_done()
            case "open":
                self.action_open()
            case "copy":
                self.action_copy()
            case _:
                self.action_cancel()

    def action_open(self) -> None:
        """Hand the link to the system's browser; its host stands in the dialog."""
        if not self.listening:
            return
        if self._link is None:
            self.notify("Only http and https links are opened. Copy it instead.", markup=False)
            return
        self.app.open_url(self._link.url)
        self.notify(f"Opening {self._link.host} in the browser", markup=False)

    def action_copy(self) -> None:
        """Copy the link."""
        if self.listening:
            copy_text(self, self.event.url, "Link")

    def action_done(self) -> None:
        """Say that the account is connected."""
        self.answer("completed")

    def action_cancel(self) -> None:
        """Give up on the account."""
        self.answer("cancelled")
