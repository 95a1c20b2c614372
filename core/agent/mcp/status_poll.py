"""When to look how the MCP servers stand: the command line does not tell by itself that one failed.

A look costs a millisecond, and nothing is looked at while no query runs. Of a program that died the command line says
that it is connected: it starts it again for the next call, and only the error of a call tells that this did not work.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from core.agent.mcp.reconnect import CallLater, Timer, call_later
from core.agent.permissions.patterns import server_of
from core.events.types import Event, QueryFinished, QueryReceived, ToolCallFinished, ToolCallStarted

__all__ = ["StatusPoll"]

_UNREACHABLE = re.compile(r"(SSE error: )?(ECONN|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT)")
_LOOK_EVERY = 10.0
_NOTICED_WITHIN = 5.0
"""Seconds in which the command line has found out by itself that a remote server is gone."""


class StatusPoll:
    """Has the servers looked at when a query begins and ends, after a call failed, and now and then between.

    Args:
        look: looks at them all.
        gone: told of a server that a call found gone, and the words.
        lives: told of a server that answered.
        is_remote: whether a server is reached over the network.
        later: calls after a while.
    """

    def __init__(
        self,
        look: Callable[[], None],
        gone: Callable[[str, str], None],
        lives: Callable[[str], None],
        is_remote: Callable[[str], bool],
        later: CallLater = call_later,
    ) -> None:
        self._poll = look
        self._gone = gone
        self._lives = lives
        self._is_remote = is_remote
        self._later = later
        self._calls: dict[str, str] = {}
        self._next: Timer | None = None
        self._after: Timer | None = None

    def handle_event(self, event: Event) -> None:
        """Take up what happens in the session."""
        match event:
            case QueryReceived():
                self._tick()
            case QueryFinished():
                self._calls.clear()
                self._cancel_next()
                self._poll()
            case ToolCallStarted() if server := server_of(event.name):
                self._calls[event.tool_use_id] = server
            case ToolCallFinished() if server := self._calls.pop(event.tool_use_id, ""):
                self._ended(server, event)
            case _:
                pass

    def is_called(self, server: str) -> bool:
        """Whether a call of one of its tools has not ended."""
        return server in self._calls.values()

    def close(self) -> None:
        """Look no more."""
        self._cancel_next()
        if self._after is not None:
            self._after.cancel()

    def _ended(self, server: str, event: ToolCallFinished) -> None:
        error = (event.observation.error if event.observation is not None else None) or ""
        if event.status == "success":
            self._lives(server)
        elif event.status == "error":
            if self._tells_end(server, error.strip()):
                self._gone(server, error.strip())
            self._poll()
            if self._after is not None:
                self._after.cancel()
            self._after = self._later(_NOTICED_WITHIN, self._poll)

    def _tells_end(self, server: str, error: str) -> bool:
        if error in ("Connection closed", f'MCP server "{server}" is not connected'):
            return True
        # To connect a remote one again does it no harm; a program may speak of somebody else.
        return self._is_remote(server) and _UNREACHABLE.match(error) is not None

    def _tick(self) -> None:
        self._cancel_next()
        self._poll()
        self._next = self._later(_LOOK_EVERY, self._tick)

    def _cancel_next(self) -> None:
        if self._next is not None:
            self._next.cancel()
            self._next = None
