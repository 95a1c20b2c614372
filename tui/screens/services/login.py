"""The dialog of a login to an MCP server: its link opens in the browser, and it closes when the login is made."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from textual import events
from textual.content import Content

from ua_tui.core.connections.oauth.flow import log_in
from ua_tui.core.connections.oauth.redirect import Redirect
from ua_tui.core.connections.oauth.store import LoginStore
from ua_tui.core.connections.user_servers import UserServer, connection_to
from ua_tui.core.errors import ConnectionFailed, UniversalAgentError
from ua_tui.core.text import clean_line
from ua_tui.tui.screens.requests.link_dialog import LinkDialog
from ua_tui.tui.terminal.links import leads_to
from ua_tui.tui.widgets.dialog import Box, Choice, Foot, Words, fields
from ua_tui.tui.workers import start_job

_FINDING = "Looking for the server's login…"
_WAITING = (
    "Log in on that page. The dialog then closes automatically, and the server is connected. If the browser "
    "is on another machine, it is sent to a localhost address that it cannot open: paste that address here."
)
_WRONG = "This is not the address that this login redirects to. Copy the full address from the browser."


class LoginScreen(LinkDialog[bool]):
    """Logs in to a `server`, which is trusted; the result says whether that was done."""

    def __init__(self, server: UserServer) -> None:
        self._server = server
        self._redirect: Redirect | None = None
        box = Box(
            "Log in",
            "",
            Words(f"Log in to {clean_line(server.name, 60)}.", "heading"),
            Words(self._facts(), "facts"),
            Words(kind="link"),
            Words(_FINDING, "advice"),
            Foot(
                Choice("o", "Open", "open", disabled=True),
                Choice("y", "Copy", "copy", disabled=True),
                Choice("a", "Try again", "again", disabled=True),
                Choice("Esc", "Cancel", "cancel"),
            ),
        )
        super().__init__(box, requested=True)

    def on_mount(self) -> None:
        """Begin."""
        self._begin()

    def _facts(self) -> Content:
        rows = [("Server", clean_line(self._server.target, 200))]
        if self.address:
            rows.append(("Opens", leads_to(self.link)))
        return fields(*rows)

    def _begin(self) -> None:
        self._show("", _FINDING)
        start_job(self, self._run, "login")

    async def _run(self) -> None:
        try:
            connection = await asyncio.to_thread(connection_to, self._server, os.environ, Path.cwd())
            if connection.login is None:
                raise ConnectionFailed(f"{self._server.shown_name} has a key: remove it to log in instead")
            await log_in(connection.login, LoginStore(), self._show_link)
        except UniversalAgentError as error:
            if getattr(error, "code", "") == "not_needed":
                self.dismiss(True)
            else:
                self._show("", clean_line(f"{error}.", 600), failed=True)
        else:
            self.dismiss(True)

    async def _show_link(self, address: str, redirect: Redirect) -> None:
        self._redirect = redirect
        self._show(address, _WAITING)
        if (link := self.link) is not None:
            self.app.open_url(link.url)

    def _show(self, address: str, advice: str, *, failed: bool = False) -> None:
        """Show the link, or why there is none."""
        self.address = address
        self.query_one(Box).set_class(failed, "-fails")
        self.query_one(".facts", Words).update(self._facts())
        self.query_one(".link", Words).show(clean_line(address, 4_000))
        self.query_one(".advice", Words).update(advice)
        self.query_one("#open", Choice).disabled = self.link is None
        self.query_one("#copy", Choice).disabled = not address
        self.query_one("#again", Choice).disabled = not failed
        self.show_note("")
        self.focus_choice("#again" if failed else "#open" if self.link else "#cancel")

    def on_paste(self, event: events.Paste) -> None:
        """Take the address at which the login ended in a browser elsewhere."""
        event.stop()
        event.prevent_default()
        if self._redirect is not None and not self._redirect.paste(event.text):
            self.show_note(_WRONG)

    def action_again(self) -> None:
        """Begin again after a failure."""
        if not self.query_one("#again", Choice).disabled:
            self._begin()

    def action_cancel(self) -> None:
        """Stop waiting."""
        self.answer(False)
