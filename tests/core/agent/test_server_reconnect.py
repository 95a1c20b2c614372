from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

import pytest

from tests.core.cases import cases_of
from ua_tui.core.agent.mcp.error_messages import describe_call_error
from ua_tui.core.agent.mcp.servers import Servers
from ua_tui.core.agent.mcp.states import MAX_ATTEMPTS, ServerFacts, ServerStates
from ua_tui.core.events.types import QueryFinished, QueryReceived, ToolCallFinished, ToolCallStarted
from ua_tui.core.observation import McpObservation

CASES = cases_of(__file__)

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


def test_what_is_due_is_not_due_twice_and_not_when_it_works_again_or_is_left_alone() -> None:
    time, tried = Time(), list[str]()
    facts = {name: ServerFacts() for name in ("notes", "works", "more")}
    for name, each in facts.items():
        each.note_connected(time.now)
        assert (each.next_attempt(time.now), each.again_s) == (True, 1)
        each.due = time.later(1, partial(tried.append, name))
    assert not facts["notes"].next_attempt(time.now)
    facts["works"].note_connected(time.now)
    facts["notes"].leave_alone()
    assert facts["notes"].again_s is None
    assert not facts["notes"].next_attempt(time.now)
    time.pass_by(100)
    assert tried == ["more"]


@pytest.mark.parametrize(("held", "wait"), [(170, 2), (190, 1)])
def test_tries_count_again_only_after_it_held_for_a_while(held: float, wait: float) -> None:
    facts = ServerFacts()
    facts.note_connected(0)
    assert facts.next_attempt(0)
    facts.note_connected(1)
    assert facts.next_attempt(1 + held)
    assert facts.again_s == wait


def test_what_fails_whenever_it_was_connected_is_given_up_too() -> None:
    facts = ServerFacts()
    # What never worked is left alone.
    assert not facts.next_attempt(0)
    waits: list[float] = []
    for _ in range(MAX_ATTEMPTS):
        facts.note_connected(sum(waits))
        assert facts.next_attempt(sum(waits))
        assert facts.again_s is not None
        waits.append(facts.again_s)
    facts.note_connected(sum(waits))
    assert facts.next_attempt(sum(waits))
    assert (facts.again_s, waits) == (None, [1, 2, 4, 8, 16, 32])
    facts.note_connected(sum(waits))
    assert not facts.next_attempt(1_000)


class Polled(Servers):
    """A port to servers that notes when it polls them, instead."""

    def __init__(self, states: ServerStates, time: Time, scopes: list[str]) -> None:
        super().__init__(
            states,
            never,
            renew=never,
            report=never,
            login_made_at=never,
            note_scope=lambda _name, scope: scopes.append(scope),
            later=time.later,
        )
        self.looks: list[float] = []
        self._time = time

    def refresh(self) -> None:
        self.looks.append(self._time.now)


def never(*_: object) -> Any:
    raise AssertionError


class Watched:
    """A watch, and what it did."""

    def __init__(self) -> None:
        self.time = Time()
        self.states = ServerStates()
        self.states["tickets"].is_remote = True
        self.scopes: list[str] = []
        self.watch = Polled(self.states, self.time, self.scopes)
        self.looks = self.watch.looks

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
    # Nor after it is closed.
    desk.watch.handle_event(QueryReceived(query_id="q2", text="x"))
    desk.call("it failed")
    desk.watch.close()
    desk.time.pass_by(100)
    assert desk.looks[4:] == [1025, 1025]


def test_the_status_is_polled_when_a_call_of_a_server_failed_and_again_when_its_cause_is_known() -> None:
    desk = Watched()
    desk.call("ECONNRESET: the socket was closed")
    assert desk.looks == [0]
    desk.time.pass_by(100)
    assert desk.looks == [0, 5]
    assert not desk.states["notes"].dead
    desk = Watched()
    desk.states.mark_dead("notes", "Connection closed")
    desk.call()
    assert not desk.states["notes"].dead
    desk.call()
    desk.call("no such file", tool="Read")
    desk.time.pass_by(100)
    assert desk.looks == [0]


def test_only_the_words_of_the_command_line_and_what_a_remote_server_answers_show_that_one_is_gone() -> None:
    for tool, error, gone in CASES["only_the_words_of_the_command_line_and_what_a_remote_server"]:
        desk = Watched()
        desk.call(error, tool=tool)
        assert bool(desk.states[tool.split("__")[1]].dead) is gone, error
        assert desk.scopes == [], error


def test_a_login_that_is_not_enough_for_a_remote_server_is_noted_with_what_it_lacks() -> None:
    error = describe_call_error('Insufficient scope: required "notes:write"', "tickets")
    for tool, scopes in (("mcp__tickets__list", ["notes:write"]), ("mcp__notes__take_note", [])):
        desk = Watched()
        desk.call(error, tool=tool)
        assert desk.scopes == scopes
        assert bool(desk.states[tool.split("__")[1]].dead) is bool(scopes)
