"""From the bus to the screen: events are gathered, and handed on in batches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from ua_tui.core.events.types import Event

INTERVAL = 1 / 10


class EventPump:
    """A subscriber that hands on what was published, in order, at most 10 times a second.

    The first event after a quiet time is handed on at once; while events keep coming one timer call
    is pending at a time; without events there is none. Belongs to the event loop's thread, as the bus does.
    `last` is the event that came last.

    Args:
        schedule: runs a function on the screen's message queue (`App.call_later`).
        handle: is given each batch, which is never empty.
        interval: the least time between two batches, in seconds.

    Attributes:
        is_paused: whether events are kept back.
    """

    def __init__(
        self,
        schedule: Callable[[Callable[[], None]], object],
        handle: Callable[[Sequence[Event]], None],
        interval: float = INTERVAL,
    ) -> None:
        self._schedule = schedule
        self._handle = handle
        self._interval = interval
        self.last: Event | None = None
        self._waiting: list[Event] = []
        self._due = False
        self._last = -interval
        self.is_paused = False

    def receive(self, event: Event) -> None:
        """Add an event from the bus to the next batch."""
        self.last = event
        self._waiting.append(event)
        self._plan()

    def pause(self) -> None:
        """Keep events until `resume`, because nothing can show them yet."""
        self.is_paused = True

    def resume(self) -> None:
        """Hand on the events that were kept, and all later ones."""
        self.is_paused = False
        self._plan()

    def flush(self) -> None:
        """Hand on the waiting events now."""
        self._due = False
        if self.is_paused or not self._waiting:
            return
        batch, self._waiting = self._waiting, []
        self._last = asyncio.get_running_loop().time()
        self._handle(batch)

    def _plan(self) -> None:
        if self._due or self.is_paused or not self._waiting:
            return
        self._due = True
        loop = asyncio.get_running_loop()
        delay = self._last + self._interval - loop.time()
        if delay <= 0:
            self._schedule(self.flush)
        else:
            loop.call_later(delay, self._schedule, self.flush)
