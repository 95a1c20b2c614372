"""Notices by the errors of its tools that the session behind a connection is over, and has another one opened."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from core.connections.base import Connection
from core.errors import ConnectionFailed
from core.observation import ToolResult

__all__ = ["Renewing"]

log = logging.getLogger(__name__)

_AT_MOST_EVERY = 30.0


class Renewing:
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

    def look(self, result: ToolResult) -> None:
        """Take a result; one that says so is acted upon, though not twice in a short while."""
        error = result.observation.error
        parts = result.call.name.split("__", 2)
        if not error or len(parts) != 3 or parts[0] != "mcp":
            return
        server = parts[1]
        connection = self._connection_of(server)
        if connection is None or connection.expiry is None or not connection.expiry.told_by(error):
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
