"""When a server is reconnected: after it failed, with increasing waits, and when its session is over."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

import msgspec

from ua_tui.core.agent.permissions.actions import server_of
from ua_tui.core.concurrency.spawn import Handle
from ua_tui.core.connections.base import Connection
from ua_tui.core.errors import ConnectionFailed
from ua_tui.core.observation import ToolResult

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


class ReconnectSchedule:
    """Reconnects servers that worked before: after 1, 2, 4, ... s, and at most six times in a row.

    The count starts again once a server was connected for three minutes.

    Args:
        restart: reconnects a server.
        gave_up: called with a server that is not tried any more.
        later: calls a function after some seconds.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        restart: Callable[[str], None],
        gave_up: Callable[[str], None],
        *,
        later: CallLater = call_later,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._restart = restart
        self._gave_up = gave_up
        self._later = later
        self._clock = clock
        self._histories: dict[str, _History] = {}

    def note_connected(self, name: str) -> None:
        """Record that a server is connected."""
        history = self._histories.setdefault(name, _History())
        history.cancel()
        if history.since is None:
            history.since = self._clock()

    def note_failed(self, name: str) -> float | None:
        """Record that a server failed; returns the seconds until the next attempt, None if none is scheduled."""
        history = self._histories.get(name)
        if history is None or history.due is not None or history.over:
            return None
        if history.since is not None and self._clock() - history.since >= 180.0:
            history.attempts = 0
        history.since = None
        if history.attempts >= MAX_ATTEMPTS:
            history.over = True
            self._gave_up(name)
            return None
        wait = min(60.0, 2.0**history.attempts)
        history.attempts += 1
        history.due = self._later(wait, lambda: self._restart_now(name, history))
        return wait

    def postpone(self, name: str, seconds: float) -> None:
        """Postpone the attempt that is due now, without counting it."""
        if (history := self._histories.get(name)) is not None and history.due is None:
            history.due = self._later(seconds, lambda: self._restart_now(name, history))

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
        self._restart(name)


log = logging.getLogger(__name__)

_MIN_INTERVAL = 30.0


class SessionRenewal:
    """Checks the errors of tools, and reconnects a server whose session is over according to them.

    Args:
        connection_of: returns the connection of a server, if there is one.
        reconnect: reconnects a server; returns why that cannot be tried.
        report: reports an error and where it occurred.
    """

    def __init__(
        self,
        connection_of: Callable[[str], Connection | None],
        reconnect: Callable[[str], str],
        report: Callable[[str, Exception], None],
    ) -> None:
        self._connection_of = connection_of
        self._reconnect = reconnect
        self._report = report
        self._tried: dict[str, float] = {}

    def check_result(self, result: ToolResult) -> None:
        """Reconnect the server if the result says that its session is over, at most once in 30 seconds."""
        error = result.observation.error
        server = server_of(result.call.name)
        connection = self._connection_of(server)
        if (
            not error
            or connection is None
            or connection.expiry is None
            or not connection.expiry.matches(error)
        ):
            return
        last = self._tried.get(server)
        if last is not None and time.monotonic() - last < _MIN_INTERVAL:
            return
        if refusal := self._reconnect(server):
            log.info("the session of %s seems to be over: %s", server, refusal)
            return
        self._tried[server] = time.monotonic()
        self._report(
            server,
            ConnectionFailed(
                "its session is over, and a new one is being opened: try again in a moment",
                code="http_404",
            ),
        )
