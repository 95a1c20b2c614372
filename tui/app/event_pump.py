"""From the bus to the panes: events are gathered and handed on in batches, and nothing runs in between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from core.events.types import Event

__all__ = ["EventPump"]

INTERVAL = 1 / 15


class EventPump:
    """A subscriber that calls `deliver` with everything that came, in order, at most 15 times a second.

    The first event after a quiet time is handed on at once; while events keep coming one timer call
    is pending at a time; without events there is none. Belongs to the event loop's thread, as the bus does.

    Args:
        schedule: runs a function on the screen's message queue (`App.call_later`).
        deliver: gets each batch, never empty.
    """

    def __init__(
        self,
        schedule: Callable[[Callable[[], None]], object],
        deliver: Callable[[Sequence[Event]], None],
        interval: float = INTERVAL,
    ) -> None:
        self._schedule = schedule
        self._deliver = deliver
        self._interval = interval
        self._waiting: list[Event] = []
        self._due = False
        self._last = -interval
        self._held = False

    def receive(self, event: Event) -> None:
        """Take an event from the bus."""
        self._waiting.append(event)
        self._plan()

    def hold(self) -> None:
        """Keep events until `release`: there is nobody to show them to yet."""
        self._held = True

    def release(self) -> None:
        """Hand on what was kept, and everything from now on."""
        self._held = False
        self._plan()

    def flush(self) -> None:
        """Hand on now what waits."""
        self._due = False
        if self._held or not self._waiting:
            return
        batch, self._waiting = self._waiting, []
        self._last = asyncio.get_running_loop().time()
        self._deliver(batch)

    def _plan(self) -> None:
        if self._due or self._held or not self._waiting:
            return
        self._due = True
        loop = asyncio.get_running_loop()
        delay = self._last + self._interval - loop.time()
        if delay <= 0:
            self._schedule(self.flush)
        else:
            loop.call_later(delay, self._schedule, self.flush)
