from __future__ import annotations

import logging
from datetime import UTC, datetime

import msgspec
import pytest

from ua_tui.core.bus import Bus
from ua_tui.core.events.types import ErrorRaised, Event, QueryReceived

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def query(text: str = "hello") -> QueryReceived:
    return QueryReceived(query_id="q1", text=text)


def test_publish_stamps_place_and_time_and_forwarded_events_keep_theirs() -> None:
    bus = Bus(last_seq=41, now=lambda: NOON)
    seen: list[Event] = []
    bus.subscribe(seen.append)
    event = bus.publish(query())
    assert (event.seq, event.at) == (42, NOON)
    old = QueryReceived(seq=57, at=NOON, query_id="q1", text="old")
    bus.forward(old)
    assert seen == [event, old]
    assert bus.publish(query()).seq == bus.last_seq == 58


def test_unsubscribing_ends_delivery_to_that_subscriber_only() -> None:
    bus = Bus()
    first, second = list[Event](), list[Event]()
    leave = bus.subscribe(first.append)
    bus.subscribe(second.append)
    bus.publish(query())
    leave()
    leave()
    bus.publish(query())
    assert (len(first), len(second)) == (1, 2)


def test_a_failing_subscriber_is_logged_and_the_others_receive(caplog: pytest.LogCaptureFixture) -> None:
    bus = Bus()
    seen: list[Event] = []

    def broken(event: Event) -> None:
        raise RuntimeError("no room")

    bus.subscribe(broken)
    bus.subscribe(seen.append)
    with caplog.at_level(logging.ERROR):
        bus.publish(query())
        bus.publish(query())
    assert [event.seq for event in seen] == [1, 2]
    assert [record.exc_info is not None for record in caplog.records] == [True, False]
    assert "no room" in caplog.text


class Holder(msgspec.Struct, eq=False):
    """A subscriber that fails and holds a text that is not for a log."""

    text: str = "what was written so far"

    def __call__(self, event: Event) -> None:
        """Handle one event of the bus."""
        raise RuntimeError("no room")


def test_a_failing_subscriber_is_logged_without_what_it_holds(caplog: pytest.LogCaptureFixture) -> None:
    bus = Bus()
    bus.subscribe(Holder())
    with caplog.at_level(logging.ERROR):
        bus.publish(query())
    assert [record.getMessage() for record in caplog.records] == [
        "subscriber Holder failed on query_received: no room"
    ]


def test_an_event_published_by_a_subscriber_comes_after_the_one_it_answers() -> None:
    bus = Bus()
    seen: list[str] = []

    def answer(event: Event) -> None:
        if isinstance(event, QueryReceived):
            bus.publish(ErrorRaised(where="test", message="no"))

    bus.subscribe(answer)
    bus.subscribe(lambda event: seen.append(f"{event.seq} {event.event_name}"))
    bus.publish(query())
    assert seen == ["1 query_received", "2 error_raised"]
