"""What is known of the MCP servers of a session, over all connections of its agent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from ua_tui.core.agent.bounds import LONGEST_TEXT, MOST_ENTRIES
from ua_tui.core.agent.mcp.error_messages import (
    UNLISTED,
    describe_server_error,
    lacks_login,
    login_needed,
    missing_scope,
)
from ua_tui.core.events.types import McpServer, McpStatus
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.text import clean, clean_line

_CLOSED = "Connection closed"

ServerOperation = Literal["reconnecting", "enabling", "disabling"]
"""What is being done with a server; it is reported as the server's state."""


class ServerStates:
    """What is known of the servers, across all connections of the agent; reports it when anything changes.

    `cause_of` gives an error with what the agent knows of it besides its text; None if it will know in a moment.
    """

    def __init__(
        self,
        redactor: Redactor | None = None,
        cause_of: Callable[[str, str], str | None] = lambda _name, error: error,
    ) -> None:
        self._redactor = redactor or Redactor()
        self._cause_of = cause_of
        self._excluded: dict[str, McpServer] = {}
        self._known: dict[str, McpServer] = {}
        self._operations: dict[str, ServerOperation] = {}
        self._errors: dict[str, str] = {}
        self._dead: dict[str, str] = {}
        self._unexplained: set[str] = set()
        self._retry_in: dict[str, float] = {}
        self._worked: set[str] = set()
        self._failed: set[str] = set()
        # Servers that failed to start, while the cause is to come: each with the number of updates since then.
        self._held: dict[str, tuple[McpServer, int]] = {}
        self._remote: set[str] = set()
        self._declared: dict[str, dict[str, Mapping[str, Any]]] = {}
        self._shown: list[McpServer] = []

    @property
    def known(self) -> tuple[McpServer, ...]:
        """Every server as it was last reported."""
        return tuple(self._shown)

    @property
    def is_holding(self) -> bool:
        """Whether the failed start of a server is not reported yet, as its cause is to come."""
        return bool(self._held)

    @property
    def excluded(self) -> frozenset[str]:
        """The servers that the agent has never been given."""
        return frozenset(name for name in self._excluded if name not in self._known)

    @property
    def reported(self) -> tuple[tuple[str, str], ...]:
        """Every server that the agent knows, and its state regardless of what is being done with it."""
        return tuple((name, self._now(server).status) for name, server in self._known.items())

    def exclude(self, server: McpServer) -> None:
        """Record that a server is not available, and why."""
        self._excluded[server.name] = server

    def include(self, name: str) -> None:
        """Record that the agent has been given a server."""
        self._excluded.pop(name, None)

    def report_update(self, listed: Sequence[Any]) -> Iterator[McpStatus]:
        """Update the states from the list at the beginning of a query, and report them when anything changed.

        This list has no errors: a server that failed to start is reported once the next poll says why.
        """
        starting = {name for name, server in self._known.items() if server.status == "pending"}
        self.update(listed)
        for name in starting:
            server = self._known.get(name)
            if server is not None and server.status == "failed" and server.error is None:
                self._failed.add(name)
                self._known[name] = msgspec.structs.replace(server, status="pending")
        yield from self.report()

    def report_failed(self) -> Iterator[McpStatus]:
        """Report the servers that failed to start, if no poll has said why."""
        for name in self._failed & self._known.keys():
            self._known[name] = msgspec.structs.replace(self._known[name], status="failed")
        self._failed.clear()
        self._known |= {name: server for name, (server, _) in self._held.items() if name in self._known}
        self._held.clear()
        yield from self.report()

    def update(self, listed: Sequence[Any]) -> None:
        """Update the states from the agent's list of servers; details of a server whose state is the same are kept."""
        self._failed.clear()
        servers: dict[str, McpServer] = {}
        for raw in listed:
            if (server := self._read(raw)) is None:
                continue
            known = self._known.get(server.name)
            if known is not None and known.status == "needs-auth" and server.status == "failed":
                # Only its error, which this list may lack, says that it is a login that it needs.
                server = server if server.error else msgspec.structs.replace(server, status=known.status)
            if known is not None and known.error and known.tools == 0 and raw.get("tools") is None:
                # Only its tools, which this list lacks, show that they could not be listed.
                server = known if server.status == "connected" else server
            if known is not None and known.status == server.status:
                # The list at the beginning of a query has neither tools nor errors.
                if server.tools is None:
                    server = msgspec.structs.replace(server, tools=known.tools, tool_names=known.tool_names)
                server = msgspec.structs.replace(server, error=server.error or known.error)
            server = self._hold(server, str(raw.get("error") or ""), known)
            servers[server.name] = server
            if server.error and server.status != "needs-auth":
                self._errors[server.name] = server.error
            if server.status == "connected":
                self._worked.add(server.name)
            if isinstance(tools := raw.get("tools"), list):
                self._declared[server.name] = _declared(tools)
            if raw.get("transport") in ("http", "sse"):
                self._remote.add(server.name)
        self._known = servers or self._known
        self._held = {name: held for name, held in self._held.items() if name in servers}
        self._explain()

    def note_failure(self, name: str, why: str) -> Iterator[McpStatus]:
        """Record why an operation on a server failed."""
        self._errors[name] = self._describe_error(name, why)
        yield from self.report()

    def set_operation(self, name: str, doing: ServerOperation | None) -> Iterator[McpStatus]:
        """Record what is being done with a server; None when it is done."""
        if doing is None:
            self._operations.pop(name, None)
        else:
            self._operations[name] = doing
        yield from self.report()

    def mark_dead(self, name: str, why: str) -> None:
        """Record that a server is gone, or its login not enough, whatever the agent reports of it."""
        self._dead[name] = self._errors[name] = self._describe_error(name, why)
        if _CLOSED in why:
            self._unexplained.add(name)

    def mark_alive(self, name: str) -> bool:
        """Record that a server answers; returns whether that is new."""
        self._explain()
        self._unexplained.discard(name)
        return self._dead.pop(name, None) is not None

    def set_retry_in(self, name: str, seconds: float | None) -> None:
        """Record in how many seconds a server is reconnected automatically; None when it is not."""
        if seconds is None:
            self._retry_in.pop(name, None)
        else:
            self._retry_in[name] = seconds

    def reset(self) -> None:
        """Forget what was known of the servers, as another agent connects them."""
        for known in (self._dead, self._unexplained, self._retry_in, self._worked, self._held):
            known.clear()

    def is_remote(self, name: str) -> bool:
        """Whether a server is reached over the network."""
        return name in self._remote

    def is_read_only(self, server: str, tool: str) -> bool:
        """Whether a server declares that a tool of it only reads."""
        return self._declared.get(server, {}).get(tool, {}).get("readOnly") is True

    def is_closed(self, server: str) -> bool:
        """Whether a server declares of all its tools that they reach nothing outside."""
        tools = self._declared.get(server, {}).values()
        return bool(tools) and all(each.get("openWorld") is False for each in tools)

    def operation_of(self, name: str) -> ServerOperation | None:
        """What is being done with a server."""
        return self._operations.get(name)

    def report(self) -> Iterator[McpStatus]:
        """Report the servers when anything about them has changed."""
        servers = [
            *self._known.values(),
            *(off for off in self._excluded.values() if off.name not in self._known),
        ]
        shown = []
        for server in map(self._now, servers):
            doing = self._operations.get(server.name)
            shown.append(
                msgspec.structs.replace(
                    server,
                    status=doing or server.status,
                    last_error=self._errors.get(server.name),
                    again_s=self._retry_in.get(server.name) if doing is None else None,
                )
            )
        if shown and shown != self._shown:
            self._shown = shown
            yield McpStatus(servers=shown)

    def _now(self, server: McpServer) -> McpServer:
        if server.status == "connected" and (error := self._dead.get(server.name)):
            status = "needs-auth" if missing_scope(error) else "failed"
            return msgspec.structs.replace(server, status=status, error=error)
        if server.status == "pending" and server.name in self._worked:
            # The command line retries for a while when a remote server is away.
            return msgspec.structs.replace(server, status="reconnecting")
        return server

    def _read(self, raw: Any) -> McpServer | None:
        if not isinstance(raw, Mapping) or not isinstance(raw.get("name"), str):
            return None
        tools = raw.get("tools")
        names = (
            [tool.get("name") for tool in tools if isinstance(tool, Mapping)]
            if isinstance(tools, list)
            else []
        )
        status = clean(str(raw.get("status") or "unknown"))
        problem = str(raw.get("error") or "")
        if status == "connected" and tools == []:
            # The agent reports it as a server without tools.
            problem = (self._cause_of(raw["name"], UNLISTED) or "").removeprefix(UNLISTED)
            status, problem = ("failed", UNLISTED + problem) if problem else (status, "")
        error = self._describe_error(raw["name"], problem) if problem else None
        if status == "needs-auth" or lacks_login(problem):
            status, error = "needs-auth", login_needed(raw["name"])
        return McpServer(
            name=clean(raw["name"]),
            status=status,
            tools=len(tools) if isinstance(tools, list) else None,
            tool_names=[clean_line(name, 100) for name in names if isinstance(name, str)][:MOST_ENTRIES],
            error=error,
        )

    def _hold(self, server: McpServer, error: str, known: McpServer | None) -> McpServer:
        """A server that failed to start as one that starts, until its cause is known or some updates have passed."""
        final, updates = self._held.pop(server.name, (server, 0))
        if server.status != "failed" or (known is not None and known.status != "pending"):
            return server
        if error:
            final, updates = server, updates + 1
            # For how many updates a failed start is not reported; the servers are polled four times a second.
            if updates > 6 or self._cause_of(server.name, error) is not None:
                return server
        elif not updates:
            return server
        self._held[server.name] = (final, updates)
        return msgspec.structs.replace(server, status="pending", error=None)

    def _explain(self) -> None:
        """Replace the error of servers that closed by its cause; the agent logs that a moment after a call failed."""
        for name in tuple(self._unexplained):
            if (cause := self._cause_of(name, _CLOSED)) is not None:
                self._unexplained.discard(name)
                self._errors[name] = self._describe_error(name, cause)
                if name in self._dead:
                    self._dead[name] = self._errors[name]

    def _describe_error(self, name: str, error: str) -> str:
        error = self._cause_of(name, error) or error
        # Masked before it is cut: what is left of a secret would not be known for one.
        return clean(describe_server_error(self._redactor.redact(error)))[:LONGEST_TEXT]


def _declared(tools: Sequence[Any]) -> dict[str, Mapping[str, Any]]:
    """What a server declares of its tools, by their names."""
    return {
        tool["name"]: found if isinstance(found := tool.get("annotations"), Mapping) else {}
        for tool in tools
        if isinstance(tool, Mapping) and isinstance(tool.get("name"), str)
    }
