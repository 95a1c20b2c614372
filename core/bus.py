"""The event bus: delivers every published event to every subscriber."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from ua_tui.core.events.types import Event
from ua_tui.core.log import log

Receive = Callable[[Event], None]
Publish = Callable[[Event], Event]
"""Publishes an event, and returns it as it was delivered."""


class Bus(msgspec.Struct, eq=False, weakref=True):
    """Publish and subscribe within one process, in the thread of the event loop.

    Every subscriber receives every event, in the order of `seq`. An event that a subscriber publishes while it handles
    another is delivered after that one has reached all subscribers. Other threads publish with
    `loop.call_soon_threadsafe(bus.publish, event)`.

    Args:
        last_seq: the `seq` of the last event of a resumed session; the next event gets one more.
        now: the wall clock, as aware UTC time.
        mask: removes the secrets of every event that is published.
    """

    last_seq: int = 0
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    mask: Callable[[Event], Event] = lambda event: event
    _subscribers: tuple[Receive, ...] = ()
    _failed: set[Receive] = set()
    _waiting: deque[Event] = msgspec.field(default_factory=deque)
    _delivering: bool = False

    def publish(self, event: Event) -> Event:
        """Stamp an event with its `seq` and time, deliver it to every subscriber, and return the stamped event."""
        self.last_seq += 1
        stamped = msgspec.structs.replace(self.mask(event), seq=self.last_seq, at=self.now())
        self._deliver(stamped)
        return stamped

    def forward(self, event: Event) -> None:
        """Deliver an event that is already stamped, as when a journal is replayed."""
        self.last_seq = max(self.last_seq, event.seq)
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
                        # One that fails once tends to fail on every event: one traceback is enough.
                        first = receive not in self._failed
                        self._failed.add(receive)
                        log.error(
                            "subscriber %s failed on %s: %s",
                            # Not its repr, which may have all that it holds.
                            getattr(receive, "__qualname__", type(receive).__name__),
                            current.event_name,
                            error,
                            exc_info=error if first else None,
                        )
        finally:
            self._delivering = False
