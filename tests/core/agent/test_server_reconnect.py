from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Literal

import pytest

from core.agent.mcp.reconnect import MAX_ATTEMPTS, ReconnectSchedule
from core.agent.mcp.status_poll import StatusPoll
from core.events.types import QueryFinished, QueryReceived, ToolCallFinished, ToolCallStarted
from core.observation import McpObservation

NOW = datetime(2026, 11, 21, tzinfo=UTC)


class Due:
    """One thing that is due at a time."""

    def __init__(self, at: float, call: Callable[[], None]) -> None:
        self.at = at
        self.call = call
        self.off = False

    def cancel(self) -> None:
        self.off = True


class Time:
    """A clock that goes on when told, and calls what is due then."""

    def __init__(self) -> None:
        self.now = 0.0
        self._due: list[Due] = []

    def later(self, seconds: float, call: Callable[[], None]) -> Due:
        self._due.append(Due(self.now + seconds, call))
        return self._due[-1]

    def pass_by(self, seconds: float) -> None:
        until = self.now + seconds
        while ready := [each for each in self._due if each.at <= until and not each.off]:
            first = min(ready, key=lambda each: each.at)
            self._due.remove(first)
            self.now = first.at
            first.call()
        self.now = until

    @property
    def waits(self) -> bool:
        return any(not each.off for each in self._due)


class Desk:
    """What was connected again and when, and what was given up."""

    def __init__(self) -> None:
        self.time = Time()
        self.tried: list[float] = []
        self.given_up: list[str] = []
        self.restarting = ReconnectSchedule(
            lambda _name: self.tried.append(self.time.now),
            self.given_up.append,
            later=self.time.later,
            clock=lambda: self.time.now,
        )

    def fail_on(self) -> list[float]:
        """Fail at every try until there is none any more; gives the waits."""
        waits = []
        while (wait := self.restarting.note_failed("notes")) is not None:
            waits.append(wait)
            self.time.pass_by(wait)
        return waits


def test_it_is_tried_six_times_with_waits_that_double_and_given_up_once() -> None:
    desk = Desk()
    desk.restarting.note_connected("notes")
    assert desk.fail_on() == [1, 2, 4, 8, 16, 32]
    assert desk.tried == [1, 3, 7, 15, 31, 63]
    assert len(desk.tried) == MAX_ATTEMPTS
    assert desk.given_up == ["notes"]
    assert desk.restarting.note_failed("notes") is None
    assert desk.given_up == ["notes"]
    assert not desk.time.waits


def test_what_never_worked_is_left_alone() -> None:
    desk = Desk()
    assert desk.restarting.note_failed("notes") is None
    assert not desk.time.waits


def test_what_is_due_is_not_due_twice_and_not_when_it_works_again() -> None:
    desk = Desk()
    desk.restarting.note_connected("notes")
    assert desk.restarting.note_failed("notes") == 1
    assert desk.restarting.note_failed("notes") is None
    desk.restarting.note_connected("notes")
    desk.time.pass_by(100)
    assert desk.tried == []


@pytest.mark.parametrize(("held", "wait"), [(170, 2), (190, 1)])
def test_tries_count_again_only_after_it_held_for_a_while(held: float, wait: float) -> None:
    desk = Desk()
    desk.restarting.note_connected("notes")
    desk.restarting.note_failed("notes")
    desk.time.pass_by(1)
    desk.restarting.note_connected("notes")
    desk.time.pass_by(held)
    assert desk.restarting.note_failed("notes") == wait


def test_what_fails_whenever_it_was_connected_is_given_up_too() -> None:
    desk = Desk()
    for _ in range(MAX_ATTEMPTS):
        desk.restarting.note_connected("notes")
        wait = desk.restarting.note_failed("notes")
        assert wait is not None
        desk.time.pass_by(wait)
    desk.restarting.note_connected("notes")
    assert desk.restarting.note_failed("notes") is None
    assert desk.given_up == ["notes"]


def test_a_person_who_sees_to_it_begins_again() -> None:
    desk = Desk()
    desk.restarting.note_connected("notes")
    desk.fail_on()
    desk.restarting.reset("notes")
    assert desk.fail_on() == [1, 2, 4, 8, 16, 32]
    assert desk.given_up == ["notes", "notes"]


def test_nothing_is_tried_of_what_was_forgotten() -> None:
    desk = Desk()
    for name in ("notes", "more"):
        desk.restarting.note_connected(name)
        desk.restarting.note_failed(name)
    desk.restarting.forget("notes")
    desk.restarting.clear()
    desk.time.pass_by(100)
    assert desk.tried == []
    assert desk.restarting.note_failed("notes") is None


# -- when to look ------------------------------------------------------------------------------------


class Watched:
    """A watch, and what it did."""

    def __init__(self) -> None:
        self.time = Time()
        self.looks: list[float] = []
        self.gone: list[tuple[str, str]] = []
        self.alive: list[str] = []
        self.watch = StatusPoll(
            lambda: self.looks.append(self.time.now),
            lambda name, why: self.gone.append((name, why)),
            self.alive.append,
            lambda name: name == "tickets",
            self.time.later,
        )

    def call(self, error: str | None = None, *, tool: str = "mcp__notes__take_note") -> None:
        self.watch.handle_event(
            ToolCallStarted(query_id="q1", tool_use_id="t1", name=tool, input={}, iteration=1)
        )
        status: Literal["success", "error"] = "error" if error else "success"
        what: dict[str, Any] = {
            "tool_name": tool, "tool_use_id": "t1", "server": "s", "started_at": NOW, "ended_at": NOW,
        }  # fmt: skip
        observation = McpObservation(**what, error=error)
        self.watch.handle_event(ToolCallFinished(tool_use_id="t1", status=status, observation=observation))


def test_the_status_is_polled_when_a_query_begins_and_ends_and_in_between() -> None:
    desk = Watched()
    desk.watch.handle_event(QueryReceived(query_id="q1", text="x"))
    desk.time.pass_by(25)
    desk.watch.handle_event(QueryFinished(query_id="q1", status="success"))
    assert desk.looks == [0, 10, 20, 25]
    desk.time.pass_by(1000)
    assert desk.looks == [0, 10, 20, 25]
    assert not desk.time.waits


def test_the_status_is_polled_when_a_call_failed_and_again_when_the_cause_is_known() -> None:
    desk = Watched()
    desk.call("ECONNRESET: the socket was closed")
    assert desk.looks == [0]
    desk.time.pass_by(100)
    assert desk.looks == [0, 5]
    assert desk.gone == []


def test_calls_that_succeed_or_are_of_no_server_are_no_reason() -> None:
    desk = Watched()
    desk.call()
    assert desk.alive == ["notes"]
    desk.call("no such file", tool="Read")
    desk.time.pass_by(100)
    assert desk.looks == []


@pytest.mark.parametrize(
    ("error", "gone"),
    [
        ("Connection closed", True),
        ('MCP server "notes" is not connected', True),
        ('MCP server "other" is not connected', False),
        ("the database said: Connection closed", False),
        ("ECONNREFUSED: Unable to connect.", False),
    ],
)
def test_only_the_words_of_the_command_line_show_that_a_server_is_gone(error: str, *, gone: bool) -> None:
    desk = Watched()
    desk.call(error)
    assert desk.gone == ([("notes", error)] if gone else [])


@pytest.mark.parametrize(("error", "gone"), [("SSE error: ECONNREFUSED: no", True), ("no such page", False)])
def test_a_remote_server_that_cannot_be_reached_is_gone(error: str, *, gone: bool) -> None:
    desk = Watched()
    desk.call(error, tool="mcp__tickets__list")
    assert desk.gone == ([("tickets", error)] if gone else [])


def test_nothing_is_polled_after_it_is_closed() -> None:
    desk = Watched()
    desk.watch.handle_event(QueryReceived(query_id="q1", text="x"))
    desk.call("it failed")
    desk.watch.close()
    desk.time.pass_by(100)
    assert desk.looks == [0, 0]


def test_it_knows_what_is_being_called() -> None:
    desk = Watched()
    started = ToolCallStarted(query_id="q1", tool_use_id="t1", name="mcp__a__b", input={}, iteration=1)
    desk.watch.handle_event(started)
    assert desk.watch.is_called("a")
    desk.watch.handle_event(QueryFinished(query_id="q1", status="interrupted"))
    assert not desk.watch.is_called("a")
