"""When the states of the servers are polled."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

import msgspec

from ua_tui.core.agent.bounds import STEP_SECONDS
from ua_tui.core.agent.mcp.error_messages import missing_scope
from ua_tui.core.agent.permissions.actions import server_of
from ua_tui.core.concurrency.spawn import Handle
from ua_tui.core.events.types import Event, QueryFinished, QueryReceived
from ua_tui.core.view.calls import EndedCall, OpenCalls

CallLater = Callable[[float, Callable[[], None]], Handle]
"""Calls a function after that many seconds."""


def call_later(seconds: float, call: Callable[[], None]) -> Handle:
    """Schedule a call on the running event loop."""
    return asyncio.get_running_loop().call_later(seconds, call)


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
