"""A past session as the source of the screen: its end is shown first, all of it as soon as it is read."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from textual.content import Content

from core.history.session import PastSession
from core.settings.model import Settings
from tui.app.session_source import SessionSource
from tui.panes.status.bar import StatusLine
from tui.panes.status.facts import StatusFacts
from tui.replay.status import PastStatus

if TYPE_CHECKING:
    from tui.app.port import SessionHost
    from tui.replay.loader import SessionLoader

__all__ = ["PastSource"]

READ_ONLY = "Read-only: past session."
FOLLOWED = "Read-only: the session runs in another program and is followed here."


class PastSource(SessionSource):
    """Shows one session from its journal. It accepts no query, and writes nothing.

    Args:
        session: the session, not started yet.
        from_list: whether it was opened from a list of sessions, to which Esc returns.
    """

    placeholder = READ_ONLY
    is_read_only = True

    def __init__(self, session: PastSession, *, from_list: bool = False) -> None:
        self._session = session
        self._status = PastStatus()
        self.closes_on_escape = from_list
        self.end_shown = asyncio.Event()
        """Set when the end of the session is on the screen."""
        self.all_shown = asyncio.Event()
        """Set when the whole session is on the screen."""

    def make_status(self, settings: Settings) -> StatusLine:
        """Make the status line."""
        return StatusLine(StatusFacts(), self._status)

    async def open(self, host: SessionHost) -> None:
        """Show the end of the session, then all of it, then what still happens in it."""
        from tui.replay.footer import past_message
        from tui.replay.loader import SessionLoader

        def report_progress(read: float) -> None:
            self._status.read = read
            host.status.refresh()

        host.attach(self._session)
        loader = SessionLoader(
            host, self._session, message=past_message, report_progress=report_progress, read_only=True
        )
        await loader.show_end()
        self._show_stats(host)
        self.end_shown.set()
        host.spawn(partial(self._load_rest, host, loader), "past session", "past")

    async def _load_rest(self, host: SessionHost, loader: SessionLoader) -> None:
        if not self._session.complete:
            if not await loader.load_all():
                return
            self._show_stats(host)
        self.all_shown.set()
        if loader.follows:
            await loader.follow(lambda: self._show_stats(host))

    def _show_stats(self, host: SessionHost) -> None:
        self._status.stats, self._status.read = self._session.stats, self._session.stats.read
        host.status.refresh()
        self.placeholder = FOLLOWED if self._session.runs_elsewhere else READ_ONLY
        host.frame.prompt.placeholder = Content(self.placeholder)
