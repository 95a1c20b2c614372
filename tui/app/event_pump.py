"""From the bus to the screen: events are gathered and handed in batches to a list of handlers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from ua_tui.core.events.types import Event

INTERVAL = 1 / 10

log = logging.getLogger(__name__)


class EventHandler(Protocol):
    """A pane or a controller that is given every event."""

    def handle_events(self, events: Sequence[Event]) -> None:
        """Handle a batch of events, in order."""


class EventPump:
    """A subscriber that gives every handler what was published, in order, at most 10 times a second.

    The first event after a quiet time is handed on at once; while events keep coming one timer call
    is pending at a time; without events there is none. Belongs to the event loop's thread, as the bus does.
    `last` is the event that came last.

    Args:
        schedule: runs a function on the screen's message queue (`App.call_later`).
        report_failure: is given a handler that raised; the others get the batch all the same.
        handlers: get each batch, one after the other; a batch is never empty.
        interval: the least time between two batches, in seconds.
    """

    def __init__(
        self,
        schedule: Callable[[Callable[[], None]], object],
        report_failure: Callable[[EventHandler], None],
        handlers: Iterable[EventHandler] = (),
        interval: float = INTERVAL,
    ) -> None:
        self.handlers: list[EventHandler] = list(handlers)
        self._schedule = schedule
        self._report_failure = report_failure
        self._interval = interval
        self.last: Event | None = None
        self._waiting: list[Event] = []
        self._due = False
        self._last = -interval
        self._paused = False

    @property
    def is_paused(self) -> bool:
        """Whether events are kept back."""
        return self._paused

    def receive(self, event: Event) -> None:
        """Add an event from the bus to the next batch."""
        self.last = event
        self._waiting.append(event)
        self._plan()

    def pause(self) -> None:
        """Keep events until `resume`, because nothing can show them yet."""
        self._paused = True

    def resume(self) -> None:
        """Hand on the events that were kept, and all later ones."""
        self._paused = False
        self._plan()

    def flush(self) -> None:
        """Hand on the waiting events now."""
        self._due = False
        if self._paused or not self._waiting:
            return
        batch, self._waiting = self._waiting, []
        self._last = asyncio.get_running_loop().time()
        for handler in self.handlers:
            try:
                handler.handle_events(batch)
            except Exception:
                log.exception("%s could not handle %d events", type(handler).__name__, len(batch))
                self._report_failure(handler)

    def _plan(self) -> None:
        if self._due or self._paused or not self._waiting:
            return
        self._due = True
        loop = asyncio.get_running_loop()
        delay = self._last + self._interval - loop.time()
        if delay <= 0:
            self._schedule(self.flush)
        else:
            loop.call_later(delay, self._schedule, self.flush)
