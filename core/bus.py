"""The event bus: delivers every published event to every subscriber."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from ua_tui.core.events.types import Event

Receive = Callable[[Event], None]

_log = logging.getLogger(__name__)


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Bus:
    """Publish and subscribe within one process, in the thread of the event loop.

    Every subscriber receives every event, in the order of `seq`. An event that a subscriber publishes while it handles
    another is delivered after that one has reached all subscribers. Other threads publish with
    `loop.call_soon_threadsafe(bus.publish, event)`.

    Args:
        last_seq: the `seq` of the last event of a resumed session; the next event gets one more.
        now: the wall clock, as aware UTC time.
        mask: removes the secrets of every event that is published.
    """

    def __init__(
        self,
        last_seq: int = 0,
        now: Callable[[], datetime] = _utc_now,
        mask: Callable[[Event], Event] = lambda event: event,
    ) -> None:
        self._seq = last_seq
        self._now = now
        self._mask = mask
        self._subscribers: tuple[Receive, ...] = ()
        self._failed: set[Receive] = set()
        self._waiting: deque[Event] = deque()
        self._delivering = False

    @property
    def last_seq(self) -> int:
        """The `seq` of the newest event."""
        return self._seq

    def publish(self, event: Event) -> Event:
        """Stamp an event with its `seq` and time, deliver it to every subscriber, and return the stamped event."""
        self._seq += 1
        stamped = msgspec.structs.replace(self._mask(event), seq=self._seq, at=self._now())
        self._deliver(stamped)
        return stamped

    def forward(self, event: Event) -> None:
        """Deliver an event that is already stamped, as when a journal is replayed."""
        self._seq = max(self._seq, event.seq)
        self._deliver(event)

    def subscribe(self, receive: Receive) -> Callable[[], None]:
        """Call `receive` with every event from now on; calling the returned function ends that."""
        self._subscribers = (*self._subscribers, receive)

        def unsubscribe() -> None:
            self._subscribers = tuple(other for other in self._subscribers if other is not receive)
            self._failed.discard(receive)

        return unsubscribe

    def _deliver(self, event: Event) -> None:
        self._waiting.append(event)
        if self._delivering:
            return
        self._delivering = True
        try:
            while self._waiting:
                current = self._waiting.popleft()
                for receive in self._subscribers:
                    try:
                        receive(current)
                    except Exception as error:
                        self._note_failure(receive, current, error)
        finally:
            self._delivering = False

    def _note_failure(self, receive: Receive, event: Event, error: Exception) -> None:
        # A subscriber that fails once tends to fail on every event: one traceback is enough.
        first = receive not in self._failed
        self._failed.add(receive)
        _log.error(
            "subscriber %s failed on %s: %s",
            getattr(receive, "__qualname__", receive),
            event.event_name,
            error,
            exc_info=error if first else None,
        )
