"""When a server that failed is connected again: soon at first, then later and later, and at last no more."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from core.connections.base import Connection
from core.errors import ConnectionFailed
from core.observation import ToolResult

__all__ = ["MAX_ATTEMPTS", "CallLater", "ReconnectSchedule", "SessionRenewal", "Timer", "call_later"]

MAX_ATTEMPTS = 6
_LONGEST_WAIT = 60.0
_HOLDS_AFTER = 180.0


class Timer(Protocol):
    """Something that is due, and can be called off."""

    def cancel(self) -> object:
        """Call it off."""
        ...


CallLater = Callable[[float, Callable[[], None]], Timer]
"""Calls a function so many seconds from now."""


def call_later(seconds: float, call: Callable[[], None]) -> Timer:
    """Have the running event loop call it."""
    return asyncio.get_running_loop().call_later(seconds, call)


@dataclass
class _History:
    """How one server fared: tries since it last held, since when it is connected, what is due, whether it is over."""

    attempts: int = 0
    since: float | None = None
    due: Timer | None = None
    over: bool = False

    def cancel(self) -> None:
        if self.due is not None:
            self.due.cancel()
            self.due = None


class ReconnectSchedule:
    """Has each server connected again that worked before: after 1, 2, 4, ... s, and at most six times in a row.

    Tries are counted anew once a server held for three minutes.

    Args:
        restart: connects a server again.
        gave_up: told of a server that is not tried any more.
        later: calls after a while.
        clock: seconds that only grow.
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
        """Take down that a server is connected."""
        history = self._histories.setdefault(name, _History())
        history.cancel()
        if history.since is None:
            history.since = self._clock()

    def note_failed(self, name: str) -> float | None:
        """Take down that a server failed; gives in how many seconds it is tried, None when that is not new or never."""
        history = self._histories.get(name)
        if history is None or history.due is not None or history.over:
            return None
        if history.since is not None and self._clock() - history.since >= _HOLDS_AFTER:
            history.attempts = 0
        history.since = None
        if history.attempts >= MAX_ATTEMPTS:
            history.over = True
            self._gave_up(name)
            return None
        wait = min(_LONGEST_WAIT, 2.0**history.attempts)
        history.attempts += 1
        history.due = self._later(wait, lambda: self._restart_now(name, history))
        return wait

    def postpone(self, name: str, seconds: float) -> None:
        """Try a server later than it was due, without that being another try."""
        if (history := self._histories.get(name)) is not None and history.due is None:
            history.due = self._later(seconds, lambda: self._restart_now(name, history))

    def reset(self, name: str) -> None:
        """Count from the beginning, as a person takes care of the server now."""
        if (history := self._histories.get(name)) is not None:
            history.cancel()
            history.attempts, history.over = 0, False

    def forget(self, name: str) -> None:
        """Have nothing more to do with a server until it works again."""
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

_AT_MOST_EVERY = 30.0


class SessionRenewal:
    """Looks at the results of tools, and connects a server again whose session they say is over.

    Args:
        connection_of: the connection of a server, if there is one.
        reconnect: connects a server again; gives why that cannot be tried.
        report: tells of an error and where it was.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        connection_of: Callable[[str], Connection | None],
        reconnect: Callable[[str], str],
        report: Callable[[str, Exception], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connection_of = connection_of
        self._reconnect = reconnect
        self._report = report
        self._clock = clock
        self._tried: dict[str, float] = {}

    def check_result(self, result: ToolResult) -> None:
        """Take a result; one that says so is acted upon, though not twice in a short while."""
        error = result.observation.error
        parts = result.call.name.split("__", 2)
        if not error or len(parts) != 3 or parts[0] != "mcp":
            return
        server = parts[1]
        connection = self._connection_of(server)
        if connection is None or connection.expiry is None or not connection.expiry.matches(error):
            return
        last = self._tried.get(server)
        if last is not None and self._clock() - last < _AT_MOST_EVERY:
            return
        if refusal := self._reconnect(server):
            log.info("the session of %s seems to be over: %s", server, refusal)
            return
        self._tried[server] = self._clock()
        self._report(
            server,
            ConnectionFailed(
                "its session is over, and another one is being opened: ask again in a moment",
                code="http_404",
            ),
        )
