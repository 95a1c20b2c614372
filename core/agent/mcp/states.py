"""What is known of the MCP servers of a session, across all connections of its agent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from ua_tui.core.agent.bounds import LONGEST_TEXT, MOST_ENTRIES
from ua_tui.core.agent.mcp.error_messages import (
    UNLISTED,
    describe_server_error,
    lacks_login,
    login_needed,
    missing_scope,
)
from ua_tui.core.bus import Publish
from ua_tui.core.concurrency.spawn import Handle
from ua_tui.core.events.types import McpServer, McpStatus
from ua_tui.core.json_values import JsonMapping, JsonObject, object_in, objects_in, value_in
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.text import clean, clean_line

MAX_ATTEMPTS = 6
"""How often in a row a server is reconnected automatically."""
_CLOSED = "Connection closed"

ServerOperation = Literal["reconnecting", "enabling", "disabling"]
"""What is being done with a server; it is reported as the server's state."""


class ServerFacts(msgspec.Struct):
    """What is known of one server besides the agent's list.

    Attributes:
        excluded: how it is reported if the agent does not list it, as it was never given the server.
        operation: what is being done with it.
        again_s: in how many seconds it is reconnected automatically; None if it is not.
        tried_login: when the login was made with which it was last connected, or refused.
        is_remote: whether it is reached over the network.
        declared: what it declares of its tools, by their names.
    """

    excluded: McpServer | None = None
    operation: ServerOperation | None = None
    again_s: float | None = None
    tried_login: str = ""
    is_remote: bool = False
    declared: Mapping[str, JsonMapping] = {}
    error: str | None = None
    dead: str = ""
    unexplained: bool = False
    worked: bool = False
    # One that failed to start, while the cause is to come, with the number of updates since then.
    held: tuple[McpServer, int] | None = None
    # Attempts since it last held; None if it did not work yet, or is left alone.
    attempts: int | None = None
    connected_at: float | None = None
    due: Handle | None = None

    def note_connected(self, now: float) -> None:
        """Record that it is connected, at a monotonic time."""
        self.cancel_attempt()
        self.attempts = self.attempts or 0
        if self.connected_at is None:
            self.connected_at = now

    def next_attempt(self, now: float) -> bool:
        """Whether it is to be reconnected now that it failed, in `again_s`: after 1, 2, 4, ... s.

        Nothing more is to be done if an attempt is due, after `MAX_ATTEMPTS`, or if it never worked. The count starts
        again once it was connected for three minutes.
        """
        if self.attempts is None or self.due is not None or self.attempts > MAX_ATTEMPTS:
            return False
        if self.connected_at is not None and now - self.connected_at >= 180.0:
            self.attempts = 0
        self.connected_at = None
        self.again_s = min(60.0, 2.0**self.attempts) if self.attempts < MAX_ATTEMPTS else None
        self.attempts += 1
        return True

    def cancel_attempt(self) -> None:
        """Do not reconnect it."""
        if self.due is not None:
            self.due.cancel()
        self.due = self.again_s = None

    def leave_alone(self) -> None:
        """Do not reconnect it until it works again."""
        self.cancel_attempt()
        self.attempts = self.connected_at = None


class ServerStates(msgspec.Struct, eq=False):
    """What is known of the servers, across all connections of the agent; publishes it when anything changes.

    `cause_of` gives an error with what the agent knows of it besides its text; None if it will know in a moment.
    `publish` publishes an event; None once nothing is published any more.
    """

    redactor: Redactor = msgspec.field(default_factory=Redactor)
    cause_of: Callable[[str, str], str | None] = lambda _name, error: error
    publish: Publish | None = None
    _facts: defaultdict[str, ServerFacts] = msgspec.field(default_factory=lambda: defaultdict(ServerFacts))
    _known: dict[str, McpServer] = {}
    _shown: list[McpServer] = []

    def __getitem__(self, name: str) -> ServerFacts:
        """What is known of a server besides the agent's list."""
        return self._facts[name]

    @property
    def known(self) -> tuple[McpServer, ...]:
        """Every server as it was last reported."""
        return tuple(self._shown)

    @property
    def is_holding(self) -> bool:
        """Whether the failed start of a server is not reported yet, as its cause is to come."""
        return any(each.held for each in self._facts.values())

    @property
    def reported(self) -> tuple[tuple[str, str], ...]:
        """Every server that the agent knows, and its state regardless of what is being done with it."""
        return tuple((name, self._now(server).status) for name, server in self._known.items())

    def is_excluded(self, name: str) -> bool:
        """Whether the agent has never been given a server."""
        return self._facts[name].excluded is not None and name not in self._known

    def exclude(self, server: McpServer) -> None:
        """Record that a server is not available, and why."""
        self._facts[server.name].excluded = server

    def report_update(self, listed: Sequence[Any]) -> None:
        """Update the states from the list at the beginning of a query, and report them when anything changed.

        This list has no errors: a server that failed to start is reported once the next poll says why.
        """
        self.update(listed, has_errors=False)
        self.report()

    def report_failed(self) -> None:
        """Report the servers that failed to start, if no poll has said why."""
        for name, facts in self._facts.items():
            if facts.held is not None and name in self._known:
                self._known[name] = facts.held[0]
            facts.held = None
        self.report()

    def update(self, listed: Sequence[Any], *, has_errors: bool = True) -> None:
        """Update the states from the agent's list of servers; details of a server whose state is the same are kept."""
        servers: dict[str, McpServer] = {}
        for raw in listed:
            if (server := self._read(raw)) is None:
                continue
            known, facts = self._known.get(server.name), self._facts[server.name]
            if known is not None and known.status == "needs-auth" and server.status == "failed":
                # Only its error, which this list may lack, says that it is a login that it needs.
                server = server if server.error else replace(server, status=known.status)
            if known is not None and known.error and known.tools == 0 and raw.get("tools") is None:
                # Only its tools, which this list lacks, show that they could not be listed.
                server = known if server.status == "connected" else server
            if known is not None and known.status == server.status:
                # The list at the beginning of a query has neither tools nor errors.
                if server.tools is None:
                    server = replace(server, tools=known.tools, tool_names=known.tool_names)
                server = replace(server, error=server.error or known.error)
            is_awaited = not has_errors and known is not None and server.error is None
            server = self._hold(server, str(raw.get("error") or ""), known, is_awaited=is_awaited)
            servers[server.name] = server
            if server.error and server.status != "needs-auth":
                facts.error = server.error
            facts.worked |= server.status == "connected"
            facts.is_remote |= raw.get("transport") in ("http", "sse")
            if isinstance(tools := raw.get("tools"), list):
                facts.declared = _declared(tools)
        self._known = servers or self._known
        for name in self._facts.keys() - servers.keys():
            self._facts[name].held = None
        self._explain()

    def note_failure(self, name: str, why: str) -> None:
        """Record why an operation on a server failed."""
        self._facts[name].error = self._describe_error(name, why)
        self.report()

    def set_operation(self, name: str, doing: ServerOperation | None) -> None:
        """Record what is being done with a server; None when it is done."""
        self._facts[name].operation = doing
        self.report()

    def mark_dead(self, name: str, why: str) -> None:
        """Record that a server is gone, or its login not enough, whatever the agent reports of it."""
        facts = self._facts[name]
        facts.dead = facts.error = self._describe_error(name, why)
        facts.unexplained |= _CLOSED in why

    def mark_alive(self, name: str) -> bool:
        """Record that a server answers; returns whether that is new."""
        self._explain()
        facts = self._facts[name]
        was_dead, facts.dead, facts.unexplained = facts.dead != "", "", False
        return was_dead

    def reset(self) -> None:
        """Forget what was known of the servers, as another agent connects them."""
        for facts in self._facts.values():
            facts.leave_alone()
            facts.dead, facts.unexplained = "", False
            facts.worked, facts.held = False, None

    def is_read_only(self, server: str, tool: str) -> bool:
        """Whether a server declares that a tool of it only reads."""
        return self._facts[server].declared.get(tool, {}).get("readOnly") is True

    def report(self) -> None:
        """Report the servers when anything about them has changed."""
        excluded = [each.excluded for each in self._facts.values() if each.excluded is not None]
        servers = [*self._known.values(), *(each for each in excluded if each.name not in self._known)]
        shown = []
        for server in map(self._now, servers):
            facts = self._facts[server.name]
            shown.append(
                replace(
                    server,
                    status=facts.operation or server.status,
                    last_error=facts.error,
                    again_s=facts.again_s if facts.operation is None else None,
                )
            )
        if shown and shown != self._shown:
            self._shown = shown
            if self.publish is not None:
                self.publish(McpStatus(servers=shown))

    def _now(self, server: McpServer) -> McpServer:
        facts = self._facts[server.name]
        if server.status == "connected" and facts.dead:
            status = "needs-auth" if missing_scope(facts.dead) else "failed"
            return replace(server, status=status, error=facts.dead)
        if server.status == "pending" and facts.worked:
            # The command line retries for a while when a remote server is away.
            return replace(server, status="reconnecting")
        return server

    def _read(self, raw: Any) -> McpServer | None:
        if not isinstance(value_in(raw, "name"), str):
            return None
        tools = found if isinstance(found := raw.get("tools"), list) else None
        status = clean(str(raw.get("status") or "unknown"))
        problem = str(raw.get("error") or "")
        if status == "connected" and tools == []:
            # The agent reports it as a server without tools.
            problem = (self.cause_of(raw["name"], UNLISTED) or "").removeprefix(UNLISTED)
            status, problem = ("failed", UNLISTED + problem) if problem else (status, "")
        error = self._describe_error(raw["name"], problem) if problem else None
        if status == "needs-auth" or lacks_login(problem):
            status, error = "needs-auth", login_needed(raw["name"])
        return McpServer(
            name=clean(raw["name"]),
            status=status,
            tools=None if tools is None else len(tools),
            tool_names=[clean_line(name, 100) for name in _declared(tools)][:MOST_ENTRIES],
            error=error,
        )

    def _hold(self, server: McpServer, error: str, known: McpServer | None, *, is_awaited: bool) -> McpServer:
        """A server that failed to start as one that starts, until its cause is known or some updates have passed."""
        facts = self._facts[server.name]
        final, updates = facts.held or (server, 0)
        facts.held = None
        if server.status != "failed" or (known is not None and known.status != "pending"):
            return server
        if error:
            final, updates = server, updates + 1
            # For how many updates a failed start is not reported; the servers are polled four times a second.
            if updates > 6 or self.cause_of(server.name, error) is not None:
                return server
        elif not (updates or is_awaited):
            return server
        facts.held = (final, updates)
        return replace(server, status="pending", error=None)

    def _explain(self) -> None:
        """Replace the error of servers that closed by its cause; the agent logs that a moment after a call failed."""
        for name, facts in self._facts.items():
            if facts.unexplained and (cause := self.cause_of(name, _CLOSED)) is not None:
                facts.unexplained = False
                facts.error = self._describe_error(name, cause)
                facts.dead = facts.dead and facts.error

    def _describe_error(self, name: str, error: str) -> str:
        error = self.cause_of(name, error) or error
        # Masked before it is cut: what is left of a secret would not be known for one.
        return clean(describe_server_error(self.redactor.redact(error)))[:LONGEST_TEXT]


def _declared(tools: Any) -> dict[str, JsonObject]:
    """What a server declares of its tools, by their names."""
    named = (tool for tool in objects_in(tools) if isinstance(tool.get("name"), str))
    return {tool["name"]: object_in(tool, "annotations") for tool in named}
