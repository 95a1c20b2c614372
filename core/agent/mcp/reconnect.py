"""When a server is connected again, with increasing waits, and when the states of the servers are polled."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable

import msgspec

from ua_tui.core.agent.bounds import STEP_SECONDS
from ua_tui.core.agent.mcp.error_messages import missing_scope
from ua_tui.core.agent.permissions.actions import server_of
from ua_tui.core.concurrency.spawn import Handle
from ua_tui.core.events.types import Event, QueryFinished, QueryReceived
from ua_tui.core.view.calls import EndedCall, OpenCalls

MAX_ATTEMPTS = 6


CallLater = Callable[[float, Callable[[], None]], Handle]
"""Calls a function after that many seconds."""


def call_later(seconds: float, call: Callable[[], None]) -> Handle:
    """Schedule a call on the running event loop."""
    return asyncio.get_running_loop().call_later(seconds, call)


class _History(msgspec.Struct):
    """How one server fared: tries since it last held, since when it is connected, what is due, whether it is over."""

    attempts: int = 0
    since: float | None = None
    due: Handle | None = None
    over: bool = False

    def cancel(self) -> None:
        if self.due is not None:
            self.due.cancel()
            self.due = None


class ReconnectSchedule(msgspec.Struct, eq=False):
    """Reconnects servers that worked before: after 1, 2, 4, ... s, and at most six times in a row.

    The count starts again once a server was connected for three minutes.

    Args:
        restart: reconnects a server.
        gave_up: called with a server that is not tried any more.
        later: calls a function after some seconds.
        clock: monotonic seconds.
    """

    restart: Callable[[str], None]
    gave_up: Callable[[str], None]
    later: CallLater = call_later
    clock: Callable[[], float] = time.monotonic
    _histories: dict[str, _History] = {}

    def note_connected(self, name: str) -> None:
        """Record that a server is connected."""
        history = self._histories.setdefault(name, _History())
        history.cancel()
        if history.since is None:
            history.since = self.clock()

    def note_failed(self, name: str) -> float | None:
        """Record that a server failed; returns the seconds until the next attempt, None if none is scheduled."""
        history = self._histories.get(name)
        if history is None or history.due is not None or history.over:
            return None
        if history.since is not None and self.clock() - history.since >= 180.0:
            history.attempts = 0
        history.since = None
        if history.attempts >= MAX_ATTEMPTS:
            history.over = True
            self.gave_up(name)
            return None
        wait = min(60.0, 2.0**history.attempts)
        history.attempts += 1
        history.due = self.later(wait, lambda: self._restart_now(name, history))
        return wait

    def postpone(self, name: str, seconds: float) -> None:
        """Postpone the attempt that is due now, without counting it."""
        if (history := self._histories.get(name)) is not None and history.due is None:
            history.due = self.later(seconds, lambda: self._restart_now(name, history))

    def reset(self, name: str) -> None:
        """Start counting again, because a person operates on the server."""
        if (history := self._histories.get(name)) is not None:
            history.cancel()
            history.attempts, history.over = 0, False

    def forget(self, name: str) -> None:
        """Ignore a server until it works again."""
        if (history := self._histories.pop(name, None)) is not None:
            history.cancel()

    def clear(self) -> None:
        """Forget every server."""
        for name in list(self._histories):
            self.forget(name)

    def _restart_now(self, name: str, history: _History) -> None:
        history.due = None
        self.restart(name)


_UNREACHABLE = re.compile(r"(SSE error: )?(ECONN|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT)")


class StatusPoll(msgspec.Struct, eq=False):
    """Polls the servers when a query begins and ends, after a failed call, and at intervals in between.

    Args:
        poll: polls all servers.
        gone: called with a server that a call found gone, or that needs another login, and the error.
        lives: called with a server that answered; returns whether that is new.
        is_remote: whether a server is reached over the network.
        later: calls after a while.
    """

    poll: Callable[[], None]
    gone: Callable[[str, str], None]
    lives: Callable[[str], object]
    is_remote: Callable[[str], bool]
    later: CallLater = call_later
    _calls: OpenCalls = msgspec.field(default_factory=OpenCalls)
    _next: Handle | None = None
    _after: Handle | None = None

    def handle_event(self, event: Event) -> None:
        """Poll when an event of the session calls for it."""
        match event:
            case QueryReceived():
                self._tick()
            case QueryFinished():
                self._calls.clear()
                self._cancel_next()
                self.poll()
            case _ if (ended := self._calls.ended_by(event)) and (server := server_of(ended.started.name)):
                self._on_end(server, ended)

    def is_called(self, server: str) -> bool:
        """Whether a call of one of its tools is unfinished."""
        return any(server_of(call.started.name) == server for call in self._calls.values())

    def close(self) -> None:
        """Stop polling."""
        self._cancel_next()
        if self._after is not None:
            self._after.cancel()

    def _on_end(self, server: str, ended: EndedCall) -> None:
        event = ended.finished
        error = (event.observation.error if event.observation is not None else None) or ""
        if event.status == "success":
            if self.lives(server):
                self.poll()
        elif event.status == "error":
            if self._means_end(server, error.strip()):
                self.gone(server, error.strip())
            self.poll()
            if self._after is not None:
                self._after.cancel()
            self._after = self.later(STEP_SECONDS, self.poll)

    def _means_end(self, server: str, error: str) -> bool:
        if error in ("Connection closed", f'MCP server "{server}" is not connected'):
            return True
        # Reconnecting a remote server does no harm; the error of a local program may be about another host.
        return self.is_remote(server) and (
            _UNREACHABLE.match(error) is not None or bool(missing_scope(error))
        )

    def _tick(self) -> None:
        self._cancel_next()
        self.poll()
        self._next = self.later(10.0, self._tick)

    def _cancel_next(self) -> None:
        if self._next is not None:
            self._next.cancel()
            self._next = None
