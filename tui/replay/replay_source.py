"""A recording as the source of the screen: played in the panes, read-only."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.history.past_files import PastFolder
from ua_tui.core.history.recording import Recording
from ua_tui.core.history.session import PastSession
from ua_tui.tui.app.session_source import SessionSource
from ua_tui.tui.panes.status.bar import StatusLine
from ua_tui.tui.panes.status.facts import StatusFacts
from ua_tui.tui.replay.past_source import WITHOUT_AGENT
from ua_tui.tui.replay.time_line import TimeLine

if TYPE_CHECKING:
    from textual.widget import Widget

    from ua_tui.core.settings.model import Settings
    from ua_tui.core.view.session import SessionView
    from ua_tui.tui.app.app import UaTuiApp
    from ua_tui.tui.replay.player import Player


class ReplaySource(SessionSource):
    """Replays a session; it accepts no query, and nothing is written into the session's folder.

    Args:
        folder: the session's folder.
        speed: how many seconds are played in one.
        until: the number of the event at which it pauses the first time; None at none.
        label: says what is replayed, if that is not obvious.
        longest_wait: the seconds to which longer waits are shortened; 0 shortens none.
        from_list: whether it was opened from another screen, to which Esc returns.
        clock: a monotonic clock, in seconds.

    Raises:
        JournalError: there is no journal that can be read.
    """

    placeholder = "Read-only: replay."
    refusal = "Read-only: replay."
    is_read_only = True
    has_prompt = shows_prompt = False
    idle_actions = ("restart", *WITHOUT_AGENT, "session.replay")

    def __init__(
        self,
        folder: Path,
        *,
        speed: float = 1.0,
        until: int | None = None,
        label: str = "",
        longest_wait: float = 0.0,
        from_list: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._session = PastSession(folder)
        self._speed = speed
        self._clock = clock
        self._until = until
        self._longest_wait = longest_wait
        self.closes_on_escape = from_list
        self.quits = "back" if from_list else "leave"
        self._time_line = TimeLine(label)
        if label:
            self.fork_refusal = f"{label}: it is not one of your sessions, so it cannot be forked."
        self._folder: PastFolder | None = None
        self.player: Player | None = None
        self.opened = asyncio.Event()
        """Set when it is played."""

    def make_status(self, settings: Settings, view: SessionView) -> StatusLine:
        """Make the status line, which shows what that of the session showed."""
        return StatusLine(StatusFacts(view, badge=" REPLAY "))

    def make_controls(self) -> Widget:
        """Make the time line."""
        return self._time_line

    async def open(self, host: UaTuiApp) -> None:
        """Read the journal, say what it lacks, and play it."""
        from ua_tui.tui.replay.footer import missing_text
        from ua_tui.tui.replay.player import Player

        host.session = self._session
        journal = self._session.journal
        try:
            self._folder = PastFolder(self._session.workspace.path)
            recording = Recording(journal, longest_wait=self._longest_wait)
            shares = recording.read()
            while (share := await asyncio.to_thread(next, shares, None)) is not None:
                self._time_line.show_reading(share)
            await asyncio.to_thread(self._folder.know, recording.files.texts)
        except UniversalAgentError:
            host.early_state = "failed"
            raise
        until = recording.until(self._until) if self._until is not None else None
        player = self.player = self._time_line.player = Player(
            host,
            recording,
            self._folder,
            show=self._time_line.refresh,
            speed=self._speed,
            until=until,
            clock=self._clock,
        )
        host.status.follow(lambda: player.state)
        if text := missing_text(recording):
            host.notice.show(text, level="warning")
        host.spawn(player.run, "replay", "replay")
        player.play(playing=True)
        self.opened.set()

    async def close(self) -> None:
        """Remove the copies of files, and close the journal."""
        await self._session.close("quit")
        if self._folder is not None:
            await asyncio.to_thread(self._folder.close)
