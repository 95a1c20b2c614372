"""The full screen around a past session: its end is shown first, the whole of it as soon as it is read."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from textual.app import ComposeResult

from core.errors import JournalError
from core.events import Event
from core.past_session import PastSession
from core.settings import Settings
from core.workspace import SAVED_REPORTS, WORKSPACES
from tui.app import UaTuiApp
from tui.clipboard import Clipboard
from tui.garbage import put_off, resume
from tui.panes.notice import NoticeBar
from tui.past.frame import PastFrame
from tui.past.status import PastStatus
from tui.ports import SessionPort, Spawn

__all__ = ["PastApp"]

PANES = ("conversation", "trace", "observers", "workspace")
TURN_SECONDS = 0.005
"""How long events are taken in before others have their turn."""
A_FEW = 25
"""Events that are taken in without looking at the time."""
TELL_SECONDS = 0.25

log = logging.getLogger(__name__)


class PastApp(UaTuiApp):
    """Shows one session as its journal tells it; nothing can be asked of it, and nothing is written.

    Args:
        settings: what the person configured; only the looks matter.
        session: the session, not started yet.
        clipboard: knows the routes to one; by default those that fit this terminal.
    """

    AUTO_FOCUS = ""

    def __init__(
        self, settings: Settings, session: PastSession, *, clipboard: Clipboard | None = None
    ) -> None:
        async def build(_: Spawn) -> SessionPort:
            return session

        super().__init__(settings, build, clipboard=clipboard)
        self._past = session
        self.begun = asyncio.Event()
        """Set when the end of the session is on the screen."""
        self.filled = asyncio.Event()
        """Set when the whole session is on the screen."""

    def compose(self) -> ComposeResult:
        """Put down what the first frame shows."""
        yield PastFrame(self.size.width)
        yield NoticeBar()
        yield PastStatus()

    @property
    def session_folder(self) -> Path | None:
        """There is no folder where a file may be left."""
        return None

    async def _start_session(self) -> None:
        past = self._past
        self._session = past
        folder = past.workspace.path
        self.frame.folder = folder
        # Beside sessions, as they lie where the program made them, are the reports.
        reports = folder.parent.parent / SAVED_REPORTS if folder.parent.name == WORKSPACES else None
        self._pane("workspace").set_root(folder, reports)
        self._pane("trace").journal = past.journal
        events: list[Event] = []
        unsubscribe = past.bus.subscribe(events.append)
        await past.start()
        unsubscribe()
        self._pane("trace").still_runs = past.facts.state == "running"
        panes = [self._pane(name) for name in PANES]
        for pane in panes:
            self._apply([pane], events)
            # Each renders what it shows: the screen goes on between them.
            await asyncio.sleep(0)
        self._end(panes)
        self.past_status.show(past.facts)
        if self.focused is None:
            self.frame.show("conversation")
        self.begun.set()
        if past.complete:
            self.filled.set()
        else:
            self.spawn(self._fill_in(), "past session", "past")

    async def _open_history(self) -> None:
        """Leave the history of the prompt alone: nothing is typed here."""

    @property
    def past_status(self) -> PastStatus:
        """The status line."""
        return self.screen_stack[0].query_one(PastStatus)

    def _pane(self, name: str) -> Any:
        return self.frame.query_one(f"#{name}")

    # -- events -----------------------------------------------------------------------------------

    def _apply(self, panes: Sequence[Any], events: Sequence[Event]) -> None:
        for pane in panes:
            try:
                pane.apply(events)
            except Exception:
                log.exception("%s could not show %d events", type(pane).__name__, len(events))
                self.notice.show(f"{type(pane).__name__} could not show a part of the session.")

    def _end(self, panes: Sequence[Any]) -> None:
        from tui.past.ending import past_message

        conversation, *others, _ = panes
        conversation.end(past_message(self._past.facts, self._past.unsent))
        for pane in others:
            pane.end()

    async def _fill_in(self) -> None:
        """Read the whole session into twins of the panes, a little at a time, then put them on the screen."""
        panes = [self._pane(name) for name in PANES]
        twins = [pane.twin() for pane in panes]
        told = 0.0
        # What is made here stays; looking for garbage in it would take longer and longer.
        put_off()
        try:
            async for events in self._past.whole():
                for twin, pane in zip(twins[:-1], panes, strict=False):
                    twin.keep_up(pane)
                await self._take_in(twins, events)
                if time.monotonic() - told > TELL_SECONDS:
                    told = time.monotonic()
                    self.past_status.progress(self._past.facts.read)
        except JournalError as error:
            if not self._past.closed:
                self.notice.show(str(error), "its end is shown")
                self.past_status.progress(1.0)
            return
        finally:
            resume()
        if self._past.closed:
            return
        self._end(twins)
        for pane, twin in zip(panes, twins, strict=True):
            pane.take_over(twin)
            await asyncio.sleep(0)
        self.past_status.show(self._past.facts)
        self.filled.set()

    async def _take_in(self, twins: Sequence[Any], events: Sequence[Event]) -> None:
        began = time.perf_counter()
        for at in range(0, len(events), A_FEW):
            self._apply(twins, events[at : at + A_FEW])
            if time.perf_counter() - began > TURN_SECONDS:
                await asyncio.sleep(0)
                began = time.perf_counter()

    # -- keys -------------------------------------------------------------------------------------

    def action_restart(self) -> None:
        """Say that there is nothing to restart."""
        self.notify("A past session is only to be read: nothing to restart.", markup=False)
