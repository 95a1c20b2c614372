"""Puts a past session into the panes of a frame: its end at once, then the whole of it, then what still happens."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from core.concurrency.garbage_collection import put_off, resume
from core.errors import JournalError
from core.events.types import Event
from core.history.session import PastSession
from core.history.stats import PastFacts
from tui.layout.frame import Frame

if TYPE_CHECKING:
    from tui.panes.conversation.notices import Message

__all__ = ["PANES", "Filling"]

PANES = ("conversation", "trace", "observers", "workspace")
TURN_SECONDS = 0.005
"""How long events are taken in before others have their turn."""
A_FEW = 25
"""Events that are taken in without looking at the time."""
TELL_SECONDS = 0.25

log = logging.getLogger(__name__)


class Filling:
    """Reads a past session into panes that can be filled from their beginning while they show the end.

    Args:
        frame: has the panes, which are there already.
        past: the session, not started yet.
        message: makes what is said below the session, if anything.
        progress: is told how much of the journal was read.
        notice: is told what cannot be shown, and what is shown instead.
        follows: whether a session that runs in another program is to look as it does there.
    """

    def __init__(
        self,
        frame: Frame,
        past: PastSession,
        *,
        message: Callable[[PastFacts, Sequence[str]], Message | None],
        progress: Callable[[float], None],
        notice: Callable[[str, str], None],
        follows: bool = False,
    ) -> None:
        self._frame = frame
        self._past = past
        self._message = message
        self._progress = progress
        self._notice = notice
        self._wants_to_follow = follows

    @property
    def follows(self) -> bool:
        """Whether there is something to follow."""
        return self._wants_to_follow and self._past.runs_elsewhere

    @property
    def panes(self) -> list[Any]:
        """The panes that are filled."""
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
            # Each renders what it shows: the screen goes on between them.
            await asyncio.sleep(0)
        # What is only a part has nothing to go on from.
        self._end(panes, go_on=self._past.complete and self.follows)

    async def fill_in(self) -> bool:
        """Read the whole session into twins of the panes, a little at a time, then put them on the screen.

        False when that could not be done: the end stays.
        """
        panes = self.panes
        twins = [pane.twin() for pane in panes]
        told = 0.0
        # What is made here stays; looking for garbage in it would take longer and longer.
        put_off()
        try:
            async for events in self._past.whole():
                for twin, pane in zip(twins[:-1], panes, strict=False):
                    twin.gather_for(pane)
                await self._take_in(twins, events)
                if time.monotonic() - told > TELL_SECONDS:
                    told = time.monotonic()
                    self._progress(self._past.facts.read)
        except JournalError as error:
            if not self._past.closed:
                self._notice(str(error), "its end is shown")
                self._progress(1.0)
            return False
        finally:
            resume()
        if self._past.closed:
            return False
        self._end(twins, go_on=self.follows)
        for pane, twin in zip(panes, twins, strict=True):
            pane.adopt(twin)
            await asyncio.sleep(0)
        return True

    async def follow(self, told: Callable[[], None]) -> None:
        """Show what happens where the session runs, and call `told` each time, until it ends there."""
        panes = self.panes
        try:
            async for events in self._past.follow():
                await self._take_in(panes, events)
                told()
        except JournalError as error:
            if not self._past.closed:
                self._notice(str(error), "what was read until then is shown")
            return
        if not self._past.closed:
            panes[PANES.index("trace")].calls.still_runs = False
            self._end(panes, go_on=False)
            told()

    def _apply(self, panes: Sequence[Any], events: Sequence[Event]) -> None:
        for pane in panes:
            try:
                pane.handle_events(events)
            except Exception:
                log.exception("%s could not show %d events", type(pane).__name__, len(events))
                self._notice(f"{type(pane).__name__} could not show a part of the session.", "")

    def _end(self, panes: Sequence[Any], *, go_on: bool) -> None:
        conversation, *others, _ = panes
        message = self._message(self._past.facts, self._past.unsent)
        if go_on:
            conversation.report(message)
            return
        conversation.end(message)
        for pane in others:
            pane.end()

    async def _take_in(self, twins: Sequence[Any], events: Sequence[Event]) -> None:
        began = time.perf_counter()
        for at in range(0, len(events), A_FEW):
            self._apply(twins, events[at : at + A_FEW])
            if time.perf_counter() - began > TURN_SECONDS:
                await asyncio.sleep(0)
                began = time.perf_counter()
