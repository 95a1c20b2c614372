"""Loads a past session into the panes of a frame: its end at once, then all of it, then what still happens."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from core.concurrency.garbage_collection import pause_collection, resume_collection
from core.errors import JournalError
from core.events.types import Event
from core.history.session import PastSession
from core.history.stats import PastFacts
from tui.layout.frame import Frame

if TYPE_CHECKING:
    from tui.panes.conversation.notices import Message

__all__ = ["PANES", "SessionLoader"]

PANES = ("conversation", "trace", "observers", "workspace")
TURN_SECONDS = 0.005
"""How long events are handled before other tasks have their turn."""
A_FEW = 25
"""Events that are handled without checking the time."""
PROGRESS_SECONDS = 0.25

log = logging.getLogger(__name__)


class SessionLoader:
    """Reads a past session into panes that can be filled from their beginning while they show the end.

    Args:
        frame: has the panes, which are there already.
        past: the session, not started yet.
        message: makes the message below the session, if there is one.
        report_progress: gets the share of the journal that was read.
        notify: gets what cannot be shown, and what is shown instead.
        follows: whether to show what still happens in a session that runs in another program.
    """

    def __init__(
        self,
        frame: Frame,
        past: PastSession,
        *,
        message: Callable[[PastFacts, Sequence[str]], Message | None],
        report_progress: Callable[[float], None],
        notify: Callable[[str, str], None],
        follows: bool = False,
    ) -> None:
        self._frame = frame
        self._past = past
        self._message = message
        self._report_progress = report_progress
        self._notify = notify
        self._wants_to_follow = follows

    @property
    def follows(self) -> bool:
        """Whether the session still runs and is followed."""
        return self._wants_to_follow and self._past.runs_elsewhere

    @property
    def panes(self) -> list[Any]:
        """The panes that are loaded."""
        return [self._frame.query_one(f"#{name}") for name in PANES]

    async def show_end(self) -> None:
        """Show the end of the session."""
        events: list[Event] = []
        unsubscribe = self._past.bus.subscribe(events.append)
        await self._past.start()
        unsubscribe()
        panes = self.panes
        trace = panes[PANES.index("trace")]
        trace.calls.journal = self._past.journal
        trace.calls.still_runs = self._past.runs_elsewhere
        for pane in panes:
            self._apply([pane], events)
            # Each renders what it shows: let the screen update in between.
            await asyncio.sleep(0)
        # A part of a session cannot be followed.
        self._end(panes, continues=self._past.complete and self.follows)

    async def load_all(self) -> bool:
        """Read the whole session into twins of the panes, a little at a time, then put them on the screen.

        False if that fails: the end stays on the screen.
        """
        panes = self.panes
        twins = [pane.twin() for pane in panes]
        reported_at = 0.0
        # The objects made here stay; a collector that visited them would take longer and longer.
        pause_collection()
        try:
            async for events in self._past.whole():
                for twin, pane in zip(twins[:-1], panes, strict=False):
                    twin.gather_for(pane)
                await self._handle_in_turns(twins, events)
                if time.monotonic() - reported_at > PROGRESS_SECONDS:
                    reported_at = time.monotonic()
                    self._report_progress(self._past.facts.read)
        except JournalError as error:
            if not self._past.closed:
                self._notify(str(error), "its end is shown")
                self._report_progress(1.0)
            return False
        finally:
            resume_collection()
        if self._past.closed:
            return False
        self._end(twins, continues=self.follows)
        for pane, twin in zip(panes, twins, strict=True):
            pane.adopt(twin)
            await asyncio.sleep(0)
        return True

    async def follow(self, on_change: Callable[[], None]) -> None:
        """Show what happens in the session where it runs, and call `on_change` each time, until it ends."""
        panes = self.panes
        try:
            async for events in self._past.follow():
                await self._handle_in_turns(panes, events)
                on_change()
        except JournalError as error:
            if not self._past.closed:
                self._notify(str(error), "what was read until then is shown")
            return
        if not self._past.closed:
            panes[PANES.index("trace")].calls.still_runs = False
            self._end(panes, continues=False)
            on_change()

    def _apply(self, panes: Sequence[Any], events: Sequence[Event]) -> None:
        for pane in panes:
            try:
                pane.handle_events(events)
            except Exception:
                log.exception("%s could not show %d events", type(pane).__name__, len(events))
                self._notify(f"{type(pane).__name__} could not show a part of the session.", "")

    def _end(self, panes: Sequence[Any], *, continues: bool) -> None:
        conversation, *others, _ = panes
        message = self._message(self._past.facts, self._past.unsent)
        if continues:
            conversation.report(message)
            return
        conversation.end(message)
        for pane in others:
            pane.end()

    async def _handle_in_turns(self, twins: Sequence[Any], events: Sequence[Event]) -> None:
        began = time.perf_counter()
        for at in range(0, len(events), A_FEW):
            self._apply(twins, events[at : at + A_FEW])
            if time.perf_counter() - began > TURN_SECONDS:
                await asyncio.sleep(0)
                began = time.perf_counter()
