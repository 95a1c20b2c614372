"""A past session as the source of the screen: its end is shown first, all of it as soon as it is read."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from textual.content import Content

from ua_tui.core.history.event_replay import SessionStats
from ua_tui.core.history.session import PastSession
from ua_tui.core.settings.model import Settings
from ua_tui.tui.app.session_source import SessionSource
from ua_tui.tui.panes.status.bar import StatusLine
from ua_tui.tui.panes.status.facts import StatusFacts, money
from ua_tui.tui.panes.status.layout import KEPT, MUTED, Cell, cell, short_count, short_model, short_time

if TYPE_CHECKING:
    from ua_tui.core.team.fleet.followed_session import FollowedSession
    from ua_tui.core.view.session import SessionView
    from ua_tui.tui.app.app import UaTuiApp
    from ua_tui.tui.replay.loader import SessionLoader

PAST, RUNNING = "· past session", "… running elsewhere · followed"


READ_ONLY = "Read-only: past session"
UNCHANGED = ("session.mode", "session.rewind", "file.edit", "file.delete")
"""The actions that change a session."""
WITHOUT_AGENT = (*UNCHANGED, "session.stop", "stop", "questions", "subagent", "screen.prompt")
FOLLOWED = "Read-only: the session is running in another program and is followed here."


class PastSource(SessionSource):
    """Shows one session from its journal. It accepts no query, and writes nothing.

    Args:
        session: the session, not started yet; None if a subclass makes it.
        from_list: whether it was opened from a list of sessions, to which Esc returns.
    """

    placeholder = READ_ONLY
    is_read_only = True
    has_prompt = False
    idle_actions: tuple[str, ...] = WITHOUT_AGENT
    is_of_list = True
    """Whether it is a session of this machine's list, which can be resumed when nothing runs it."""
    unread = PAST
    """What the status line says before anything is known."""
    followed = FOLLOWED
    """The text of the empty prompt while the session is followed."""

    def __init__(self, session: PastSession | FollowedSession | None, *, from_list: bool = False) -> None:
        self.session = session
        self._stats: SessionStats | None = None
        self._read = 0.0
        self.closes_on_escape = from_list
        self.quits = "back" if from_list else "quit"
        self.end_shown = asyncio.Event()
        """Set when the end of the session is on the screen."""
        self.all_shown = asyncio.Event()
        """Set when the whole session is on the screen."""

    def make_status(self, settings: Settings, view: SessionView) -> StatusLine:
        """Make the status line, which shows figures of the whole session."""
        return StatusLine(StatusFacts(view, past=self._cells))

    def _cells(self) -> list[Cell]:
        """The parts of the status line: a figure is shown only if it is that of the whole session."""
        stats = self._stats
        if stats is None:
            return [cell(self.unread, KEPT)]
        state = RUNNING if stats.state == "running" else f"{PAST} · {stats.state}"
        cost = ""
        if stats.unpriced:
            cost = "cost ?"
        elif stats.cost is not None:
            cost = f"{'~' if stats.is_estimated else ''}{money(stats.cost)}"
        parts = (
            (" DEMO " if stats.setup.demo else "", "bold $warning reverse", 99),
            (state, {"crashed": "$warning", "running": "$accent"}.get(stats.state, MUTED), 100),
            (f"reading {self._read:>4.0%}" if self._read < 1.0 else "", "$accent", 98),
            (short_time(stats.seconds) if stats.seconds else "", MUTED, 90),
            (cost, MUTED, 80),
            (f"{short_count(stats.tokens)} tok" if stats.tokens else "", MUTED, 70),
            (short_model(stats.setup.model or ""), MUTED, 40),
        )
        return [Cell(Content.styled(text, style), rank) for text, style, rank in parts if text]

    async def open(self, host: UaTuiApp) -> None:
        """Show the end of the session, then all of it, then what still happens in it."""
        from ua_tui.tui.replay.footer import past_message
        from ua_tui.tui.replay.loader import SessionLoader

        def report_progress(read: float) -> None:
            self._read = read
            host.status.refresh()

        session = self.session
        assert session is not None
        host.session = session
        loader = SessionLoader(
            host, session, message=past_message, report_progress=report_progress, read_only=True
        )
        await loader.show_end()
        self.show_stats(host)
        self.end_shown.set()
        host.spawn(partial(self._load_rest, host, loader), "past session", "past")

    async def _load_rest(self, host: UaTuiApp, loader: SessionLoader) -> None:
        if self.session is not None and not self.session.complete:
            if not await loader.load_all():
                return
            self.show_stats(host)
        self.all_shown.set()
        if loader.follows:
            await self.follow(host, loader)

    async def follow(self, host: UaTuiApp, loader: SessionLoader) -> None:
        """Show what happens in the session, until it ends."""
        await loader.follow(lambda: self.show_stats(host))

    def show_stats(self, host: UaTuiApp) -> None:
        """Show what is known of the session, and whether it is followed."""
        session = self.session
        assert session is not None
        self._stats, self._read = session.stats, session.stats.read
        host.status.refresh()
        self.resumes = self.is_of_list and not session.runs_elsewhere
        resume = f" · {host.keys.shown('restart')} resumes it" if self.resumes else ""
        self.placeholder = self.followed if session.runs_elsewhere else f"{READ_ONLY}{resume}"
        host.frame.prompt.placeholder = Content(self.placeholder)
