"""A past session as the source of the screen: its end is shown first, all of it as soon as it is read."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from textual.content import Content

from ua_tui.core.history.event_replay import SessionStats
from ua_tui.core.history.session import PastSession
from ua_tui.core.settings.model import Settings
from ua_tui.tui.app.session_source import SessionSource
from ua_tui.tui.panes.status.bar import StatusLine
from ua_tui.tui.panes.status.facts import StatusFacts, money
from ua_tui.tui.panes.status.layout import KEPT, Cell, cell, short_count, short_model, short_time

if TYPE_CHECKING:
    from ua_tui.core.team.fleet.followed_session import FollowedSession
    from ua_tui.core.view.session import SessionView
    from ua_tui.tui.app.app import UaTuiApp
    from ua_tui.tui.replay.loader import SessionLoader

PAST, RUNNING = "· past session", "… running elsewhere · followed"


class PastStatus(msgspec.Struct, eq=False):
    """A figure is shown only if it is that of the whole session.

    Attributes:
        stats: what is known of the session.
        read: the share of the journal that was read.
        unread: what the line says before anything is known.
    """

    unread: str = PAST
    stats: SessionStats | None = None
    read: float = 0.0

    def describe(self) -> list[tuple[str, str]]:
        """Nothing more than the line shows."""
        return []

    def cells(self, state: str, frame: int, width: int) -> list[Cell]:
        """Return the parts of the line."""
        stats = self.stats
        if stats is None:
            return [cell(self.unread, KEPT)]
        text = RUNNING if stats.state == "running" else f"{PAST} · {stats.state}"
        style = {"crashed": "$warning", "running": "$accent"}.get(stats.state, "$text-muted")
        cells = [Cell(Content.styled(text, style), 100)]
        if stats.setup.demo:
            cells.insert(0, Cell(Content.styled(" DEMO ", "bold $warning reverse"), 99))
        if self.read < 1.0:
            cells.append(Cell(Content.styled(f"reading {self.read:>4.0%}", "$accent"), 98))
        if stats.seconds:
            cells.append(cell(short_time(stats.seconds), 90))
        if stats.unpriced:
            cells.append(cell("cost ?", 80))
        elif stats.cost is not None:
            cells.append(cell(f"{'~' if stats.is_estimated else ''}{money(stats.cost)}", 80))
        if stats.tokens:
            cells.append(cell(f"{short_count(stats.tokens)} tok", 70))
        if stats.setup.model:
            cells.append(cell(short_model(stats.setup.model), 40))
        return cells


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
    followed = FOLLOWED
    """The text of the empty prompt while the session is followed."""

    def __init__(self, session: PastSession | FollowedSession | None, *, from_list: bool = False) -> None:
        self.session = session
        self._status = PastStatus()
        self.closes_on_escape = from_list
        self.quits = "back" if from_list else "quit"
        self.end_shown = asyncio.Event()
        """Set when the end of the session is on the screen."""
        self.all_shown = asyncio.Event()
        """Set when the whole session is on the screen."""

    def make_status(self, settings: Settings, view: SessionView) -> StatusLine:
        """Make the status line, which shows figures of the whole session."""
        return StatusLine(StatusFacts(view), self._status)

    async def open(self, host: UaTuiApp) -> None:
        """Show the end of the session, then all of it, then what still happens in it."""
        from ua_tui.tui.replay.footer import past_message
        from ua_tui.tui.replay.loader import SessionLoader

        def report_progress(read: float) -> None:
            self._status.read = read
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
        self._status.stats, self._status.read = session.stats, session.stats.read
        host.status.refresh()
        self.resumes = self.is_of_list and not session.runs_elsewhere
        resume = f" · {host.keys.shown('restart')} resumes it" if self.resumes else ""
        self.placeholder = self.followed if session.runs_elsewhere else f"{READ_ONLY}{resume}"
        host.frame.prompt.placeholder = Content(self.placeholder)
