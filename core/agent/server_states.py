"""What is known of the MCP servers of a session, over all connections of its agent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from core.events import McpServer, McpStatus
from core.text import Redactor, clean, clean_line

__all__ = ["Doing", "ServerStates"]

_MOST_TOOLS = 500
_LONGEST_ERROR = 2_000

Doing = Literal["reconnecting", "enabling", "disabling"]
"""What is being done with a server; it is told of as the server's state."""


class ServerStates:
    """What is known of the servers, over all connections of the agent; tells of it when anything is new.

    `off` are servers that are not there and why, told of with the others.
    """

    def __init__(self, redactor: Redactor | None = None, off: Sequence[McpServer] = ()) -> None:
        self._redactor = redactor or Redactor()
        self._off: dict[str, McpServer] = {server.name: server for server in off}
        self._told: dict[str, McpServer] = {}
        self._doing: dict[str, Doing] = {}
        self._errors: dict[str, str] = {}
        self._shown: list[McpServer] = []

    @property
    def known(self) -> tuple[McpServer, ...]:
        """Every server as it was last told of."""
        return tuple(self._shown)

    @property
    def left_out(self) -> frozenset[str]:
        """The servers that the agent has never been told of."""
        return frozenset(name for name in self._off if name not in self._told)

    def leave_out(self, server: McpServer) -> None:
        """Take down that a server is not there, and why."""
        self._off[server.name] = server

    def let_in(self, name: str) -> None:
        """Take down that the agent has been told of a server."""
        self._off.pop(name, None)

    def seen(self, told: Sequence[Any]) -> Iterator[McpStatus]:
        """Take what the agent tells of its servers; what was known of the tools of a connected one is kept."""
        servers: dict[str, McpServer] = {}
        for raw in told:
            if (server := self._read(raw)) is None:
                continue
            known = self._told.get(server.name)
            if server.tools is None and known is not None and known.status == server.status:
                servers[server.name] = msgspec.structs.replace(
                    server, tools=known.tools, tool_names=known.tool_names
                )
            else:
                servers[server.name] = server
            if server.error:
                self._errors[server.name] = server.error
        self._told = servers or self._told
        yield from self._tell()

    def failed(self, name: str, why: str) -> Iterator[McpStatus]:
        """Keep why something that was asked of a server did not work."""
        self._errors[name] = self._tidy(why)
        yield from self._tell()

    def doing(self, name: str, doing: Doing | None) -> Iterator[McpStatus]:
        """Take down what is being done with a server; None when it is done."""
        if doing is None:
            self._doing.pop(name, None)
        else:
            self._doing[name] = doing
        yield from self._tell()

    def busy(self, name: str) -> Doing | None:
        """What is being done with a server."""
        return self._doing.get(name)

    def _tell(self) -> Iterator[McpStatus]:
        servers = [*self._told.values(), *(off for off in self._off.values() if off.name not in self._told)]
        shown = [
            msgspec.structs.replace(
                server,
                status=self._doing.get(server.name, server.status),
                last_error=self._errors.get(server.name),
            )
            for server in servers
        ]
        if shown and shown != self._shown:
            self._shown = shown
            yield McpStatus(servers=shown)

    def _read(self, raw: Any) -> McpServer | None:
        if not isinstance(raw, Mapping) or not isinstance(raw.get("name"), str):
            return None
        tools = raw.get("tools")
        names = (
            [tool.get("name") for tool in tools if isinstance(tool, Mapping)]
            if isinstance(tools, list)
            else []
        )
        return McpServer(
            name=clean(raw["name"]),
            status=clean(str(raw.get("status") or "unknown")),
            tools=len(tools) if isinstance(tools, list) else None,
            tool_names=[clean_line(name, 100) for name in names if isinstance(name, str)][:_MOST_TOOLS],
            error=self._tidy(_plainly(str(raw["error"]))) if raw.get("error") else None,
        )

    def _tidy(self, text: str) -> str:
        return clean(self._redactor.redact(text))[:_LONGEST_ERROR]


def _plainly(error: str) -> str:
    # What the command line says when a server answers 401: it looks for a way to sign in, and finds none.
    if error.startswith("Dynamic Client Registration"):
        return f"the server refused the key, and has no other way to sign in ({error})"
    return error
