"""The dialog for an account that must be connected: the link, where it leads, and what to do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal

from textual.containers import Horizontal, Vertical
from textual.content import Content

from ua_tui.core.events.types import AuthRequired
from ua_tui.tui.screens.requests.arguments import reveal
from ua_tui.tui.screens.requests.link_dialog import LinkDialog
from ua_tui.tui.screens.requests.qr import QrCode, qr_rows
from ua_tui.tui.terminal.links import leads_to
from ua_tui.tui.widgets.dialog import Box, Choice, Foot, Words, fields
from ua_tui.tui.workers import start_job

Outcome = Literal["completed", "cancelled", "expired"]
EXPIRED = "expired: cancel and ask for a new link"
_ADVICE = (
    "Open the link and sign in. The agent continues as soon as the account is connected. "
    "Press Enter if nothing happens."
)


class AuthScreen(LinkDialog[Outcome | None]):
    """Shows an auth link; Enter or `d` means done, Esc cancels. The result None means that it is no longer needed.

    The session checks by itself whether the account is connected, and then continues. A QR code of the link is shown
    beside it if there is room.
    """

    FIRST = "done"

    def __init__(self, event: AuthRequired, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.event = event
        self.address = event.url
        self._now = now
        toolkit = reveal(event.toolkit)
        account = f"your {toolkit} account" if toolkit else "one of your accounts"
        about = Vertical(
            Words(f"The agent needs {account}.", "heading"),
            Words(self._facts(), "facts"),
            Words(reveal(event.url), "link"),
            Words(_ADVICE, "advice"),
        )
        foot = Foot(
            Choice("o", "Open", "open", disabled=self.link is None),
            Choice("y", "Copy", "copy"),
            Choice("Enter", "Done", "done", "answer('completed')"),
            Choice("Esc", "Cancel", "cancel"),
        )
        super().__init__(Box("Connect an account", "-asks", Horizontal(about, id="link-and-code"), foot))

    def on_mount(self) -> None:
        """Start the countdown, and create the code in a thread."""
        if self.event.expires_at is not None:
            self.set_interval(1.0, self._count_down)
        if (link := self.link) is not None:
            start_job(self, self._draw_code, "code", link.url)

    def on_resize(self) -> None:
        """Show the code only if there is room."""
        self.call_after_refresh(self._fit_code)

    @property
    def _left(self) -> float | None:
        """The seconds until the link expires; None if unknown."""
        if self.event.expires_at is None:
            return None
        return (self.event.expires_at - self._now()).total_seconds()

    def _facts(self) -> Content:
        rows = [
            ("Account", reveal(self.event.toolkit) or "unknown"),
            ("Opens", leads_to(self.link)),
        ]
        if (left := self._left) is not None:
            rows.append(("Valid", f"for {_clock_time(left)}" if left > 0 else EXPIRED))
        return fields(*rows)

    def _count_down(self) -> None:
        for facts in self.query(".facts").results(Words):
            facts.update(self._facts())

    async def _draw_code(self, url: str) -> None:
        rows = await asyncio.to_thread(qr_rows, url)
        if rows and self.is_mounted:
            await self.query_one("#link-and-code").mount(QrCode(rows))
            self._fit_code()

    def _fit_code(self) -> None:
        width = self.query_one(Box).scrollable_content_region.width
        for code in self.query(QrCode):
            size = code.code_size
            # The text beside the code needs some cells; edges, answers and margins of the dialog some rows.
            has_room = size.width + 34 <= width and size.height + 8 <= self.size.height
            code.display = has_room

    def action_cancel(self) -> None:
        """Cancel the request."""
        left = self._left
        self.answer("cancelled" if left is None or left > 0 else "expired")


def _clock_time(seconds: float) -> str:
    """Format seconds as `9:58` or `2:09:58`."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
