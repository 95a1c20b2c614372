"""The port to the MCP servers of a session: what a person may do about them while the agent runs."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Any

from ua_tui.core.agent.bounds import REPLY_SECONDS, START_SECONDS, STEP_SECONDS
from ua_tui.core.agent.mcp.error_messages import missing_scope, problem_in
from ua_tui.core.agent.mcp.states import MAX_ATTEMPTS, ServerOperation, ServerStates
from ua_tui.core.agent.permissions.actions import server_of
from ua_tui.core.concurrency.spawn import Handle
from ua_tui.core.connections.base import ServerConfigs
from ua_tui.core.errors import ConnectionFailed, UniversalAgentError
from ua_tui.core.events.types import Event, McpServer, QueryFinished, QueryReceived
from ua_tui.core.json_values import JsonObject
from ua_tui.core.log import log
from ua_tui.core.text import clean_line
from ua_tui.core.view.calls import EndedCall, OpenCalls

if TYPE_CHECKING:
    from ua_tui.core.agent.client import AgentClient


# The agent writes them so in the names of tools.
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_NOT_IN_PATTERNS = re.compile(r"[^A-Za-z0-9_*?!\[\]-]")
_UNREACHABLE = re.compile(r"(SSE error: )?(ECONN|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT)")

CallLater = Callable[[float, Callable[[], None]], Handle]
"""Calls a function after that many seconds."""


def call_later(seconds: float, call: Callable[[], None]) -> Handle:
    """Schedule a call on the running event loop."""
    return asyncio.get_running_loop().call_later(seconds, call)


class Servers:
    """The port to the servers of a session: polls them, reconnects them, switches them on and off.

    Nothing here waits: each command starts its work and returns at once. It returns a sentence if the work cannot be
    done and an empty text otherwise; the result is published as `mcp_status`. A server that is switched off stays off
    when the agent is restarted. A server that worked and failed is reconnected automatically, after increasing waits
    and a limited number of times.

    Attributes:
        offered: patterns of the names of the only tools that a server offers; without any it offers all.

    Args:
        states: what is known of the servers.
        reopen: returns the configuration of a server that could not be opened before; raises UniversalAgentError.
        renew: returns a new one for a server whose session is over, None otherwise; raises UniversalAgentError.
        report: reports an error and where it occurred.
        login_made_at: when the login to a server was made; empty if there is none.
        note_scope: called with a server and the scope that its login lacks for a call.
        later: calls a function after some seconds.
    """

    def __init__(
        self,
        states: ServerStates,
        reopen: Callable[[str], Awaitable[ServerConfigs]],
        *,
        renew: Callable[[str], Awaitable[ServerConfigs | None]],
        report: Callable[[str, Exception], None],
        login_made_at: Callable[[str], str],
        note_scope: Callable[[str, str], None],
        later: CallLater = call_later,
    ) -> None:
        self._states = states
        self._reopen = reopen
        self._renew = renew
        self._report = report
        self._login_made_at = login_made_at
        self._note_scope = note_scope
        self._calls = OpenCalls()
        self._next: Handle | None = None
        self._after: Handle | None = None
        self._agent: Callable[[], AgentClient | None] = lambda: None
        self._work: set[asyncio.Task[None]] = set()
        self._off: set[str] = set()
        self._polling = False
        self._closed = False
        self._expected: frozenset[str] = frozenset()
        self._has_started = False
        self.offered: dict[str, tuple[str, ...]] = {}
        self._hidden: set[str] = set()
        self._added: dict[str, ServerConfigs] = {}
        self._later = later
        self._toolless: set[str] = set()

    @property
    def known(self) -> tuple[McpServer, ...]:
        """Every server as it was last reported."""
        return self._states.known

    def offers(self, server: str, tool: str) -> bool:
        """Whether a server offers a tool, named as in a call."""
        patterns = self.offered.get(server)
        return not patterns or any(fnmatchcase(tool, _NOT_IN_PATTERNS.sub("_", each)) for each in patterns)

    def refresh(self) -> None:
        """Poll the servers, repeatedly while one is still connecting."""
        if not self._polling and self._agent() is not None:
            self._polling = True
            self._begin(self.poll())

    def reconnect(self, name: str) -> str:
        """Reconnect a server; returns why that cannot be tried, or an empty text."""
        if refusal := self._refusal(name):
            return refusal
        if self._status(name) == "disabled":
            return f"{clean_line(name, 60)} is disabled: enable it first."
        facts = self._states[name]
        facts.cancel_attempt()
        if facts.attempts is not None:
            facts.attempts = 0
        return self._start(name, "reconnecting")

    def switch(self, name: str, *, on: bool) -> str:
        """Switch a server on or off; returns why that cannot be tried, or an empty text."""
        if refusal := self._refusal(name):
            return refusal
        if self._states.is_excluded(name):
            return f"{clean_line(name, 60)} was never connected: connect it first."
        return self._start(name, "enabling" if on else "disabling")

    def handle_event(self, event: Event) -> None:
        """Poll the servers when a query begins and ends, after a failed call, and at intervals in between."""
        if self._closed:
            return
        match event:
            case QueryReceived():
                self._tick()
            case QueryFinished():
                self._calls.clear()
                self._cancel_next()
                self.refresh()
                # The session may end before the next poll.
                self._states.report_failed()
            case _ if (ended := self._calls.ended_by(event)) and (server := server_of(ended.started.name)):
                self._note_end(server, ended)

    async def attach(
        self, agent: Callable[[], AgentClient | None], expected: Collection[str] = frozenset()
    ) -> None:
        """Attach an agent that was just started, and switch off the servers that were off, before its first query.

        `agent` returns it while it runs, then None. It is polled until it lists the `expected` servers, too: it lists
        those that run in our process only once they are connected.
        """
        self._agent = agent
        self._expected = frozenset(expected)
        self._has_started = False
        self._hidden.clear()
        self._added.clear()
        self._states.reset()
        for name in sorted(self._off):
            if (known := agent()) is not None:
                try:
                    await asyncio.wait_for(known.switch_server(name, on=False), REPLY_SECONDS)
                except (ConnectionFailed, TimeoutError) as error:
                    why = str(error) or f"it was not disabled within {REPLY_SECONDS:g} s"
                    self._states.note_failure(name, why)

    def close(self) -> None:
        """Cancel all work, and publish nothing any more."""
        self._closed, self._states.publish = True, None
        for name, _ in self._states.reported:
            self._states[name].leave_alone()
        self._cancel_next()
        if self._after is not None:
            self._after.cancel()
        for task in self._work:
            task.cancel()

    def _find(self, name: str) -> McpServer | None:
        return next((server for server in self.known if server.name == name), None)

    def _status(self, name: str) -> str:
        return server.status if (server := self._find(name)) is not None else ""

    def _refusal(self, name: str) -> str:
        shown = clean_line(name, 60)
        server = self._find(name)
        if server is None:
            return f"There is no server {shown}."
        if (doing := self._states[name].operation) is not None:
            return f"{shown} is already {doing}."
        if server.status == "off":
            return server.error or f"{shown} is not set up."
        if self._agent() is None:
            return "The agent is not running: start it again with Ctrl+R."
        return ""

    def _start(self, name: str, doing: ServerOperation) -> str:
        self._states.set_operation(name, doing)
        self._begin(self._run(name, doing))
        return ""

    async def _run(self, name: str, doing: ServerOperation) -> None:
        try:
            try:
                await self._perform(name, doing)
            except Exception as error:
                # A connection may come from a library that raises anything.
                fault = None if isinstance(error, UniversalAgentError) else error
                log.info("%s the server %s failed: %s", doing, name, error, exc_info=fault)
                self._states.note_failure(name, str(error) or type(error).__name__)
            else:
                self._states.mark_alive(name)
            # Also if it was renewed meanwhile: a login that is refused is not tried for ever.
            self._states[name].tried_login = self._login_made_at(name)
            await self._poll_once(done=name)
        finally:
            self._states.set_operation(name, None)
        await self.poll()

    async def _perform(self, name: str, doing: ServerOperation) -> None:
        agent = self._agent()
        if agent is None:
            raise ConnectionFailed("the agent has stopped: restart it with Ctrl+R")
        if doing != "reconnecting":
            # Recorded first: an agent that is started meanwhile must know.
            (self._off.discard if doing == "enabling" else self._off.add)(name)
            await agent.switch_server(name, on=doing == "enabling")
        elif self._states.is_excluded(name):
            await self._add(agent, name, await self._reopen(name))
        elif (renewed := await self._renew(name)) is not None:
            await self._add(agent, name, renewed)
        else:
            await agent.reconnect_server(name)

    async def _add(self, agent: AgentClient, name: str, servers: ServerConfigs) -> None:
        # One that is added again is the last one.
        self._added.pop(name, None)
        self._added[name] = servers
        # The agent drops added servers that are not listed.
        await agent.add_servers({each: how for added in self._added.values() for each, how in added.items()})

    async def starting(self) -> list[str]:
        """The servers that the agent is still connecting for the first time; none if that cannot be known."""
        agent = self._agent()
        if self._has_started or agent is None:
            return []
        listed = await self._listed(agent) or ()
        return [str(raw.get("name")) for raw in listed if raw.get("status") == "pending"]

    async def poll(self) -> None:
        """Poll the servers of the attached agent until none is connecting."""
        began = time.monotonic()
        try:
            while time.monotonic() - began < START_SECONDS:
                if not await self._poll_once():
                    return
                await asyncio.sleep(0.25)
        finally:
            self._polling = False

    async def _poll_once(self, done: str = "") -> bool:
        """Poll the servers once; returns whether one is connecting or not listed yet.

        `done` is the server that was just operated on.
        """
        agent = self._agent()
        if agent is None:
            return False
        listed = await self._listed(agent)
        if listed is None:
            return False
        names = {name for raw in listed if isinstance(name := raw.get("name"), str)}
        toolless = {raw["name"] for raw in listed if raw.get("tools") == [] and raw.get("name") in names}
        if not toolless <= self._toolless:
            # Why it listed none is known only a moment later.
            self._toolless |= toolless
            self._later(2.0, self.refresh)
        for connection, servers in self._added.items():
            if servers and names.issuperset(servers):
                self._states[connection].excluded = None
        self._states.update(listed)
        for name, status in self._states.reported:
            if self._states[name].operation is None or name == done:
                self._follow(name, status)
        self._states.report()
        is_starting = any(raw.get("status") == "pending" for raw in listed) or self._states.is_holding
        return is_starting or not names >= self._expected

    async def _listed(self, agent: AgentClient) -> list[JsonObject] | None:
        """The servers as the agent lists them, with the tools that are offered; the model loses the others.

        None if the agent does not answer.
        """
        hidden = set(self._hidden)
        try:
            listed = await agent.servers()
            for raw in listed:
                if not (patterns := self.offered.get(str(raw.get("name")))) or "tools" not in raw:
                    continue
                tools = {str(tool.get("name")): tool for tool in raw["tools"]}
                kept = [name for name in tools if any(fnmatchcase(name, each) for each in patterns)]
                raw["tools"] = [tools.pop(name) for name in kept]
                hidden.update(f"mcp__{raw['name']}__{_NOT_IN_NAMES.sub('_', name)}" for name in tools)
            if hidden != self._hidden:
                await agent.hide_tools(sorted(hidden))
                self._hidden = hidden
        except Exception as error:
            log.info("the state of the MCP servers could not be read: %s", error)
            return None
        if agent is self._agent() and all(raw.get("status") != "pending" for raw in listed):
            self._has_started = True
        return listed

    def _follow(self, name: str, status: str) -> None:
        """Schedule the reconnection of a server that failed."""
        facts, now = self._states[name], time.monotonic()
        match status:
            case "connected":
                facts.tried_login = self._login_made_at(name)
                facts.note_connected(now)
            case "failed":
                if facts.next_attempt(now):
                    if facts.again_s is None:
                        self._give_up(name)
                    else:
                        facts.due = self._later(facts.again_s, partial(self._restart, name))
            case "pending" | "reconnecting":
                pass
            case "needs-auth" if self._login_made_at(name) not in {
                "",
                facts.tried_login,
            } and not self._is_called(name):
                # The agent retries by itself for a while, and may have the login already: that is not reported.
                self._start(name, "reconnecting")
            case _:
                facts.leave_alone()

    def _restart(self, name: str) -> None:
        """Reconnect a server whose waiting time is over."""
        facts = self._states[name]
        facts.due = facts.again_s = None
        if self._closed or self._agent() is None or facts.operation is not None:
            return
        if self._is_called(name):
            # The command line starts it for that call.
            facts.due = self._later(1.0, partial(self._restart, name))
        elif self._status(name) == "failed":
            self._start(name, "reconnecting")
        else:
            self.refresh()

    def _give_up(self, name: str) -> None:
        server = self._find(name)
        why = (server and (server.error or server.last_error)) or "it does not answer"
        message = (
            f"{clean_line(name, 60)} failed and could not be reconnected in {MAX_ATTEMPTS} attempts "
            f"({problem_in(clean_line(why, 300).rstrip('.'))}): "
            "fix it, then reconnect it with r in /connections"
        )
        self._report("MCP", ConnectionFailed(message))

    def _is_called(self, name: str) -> bool:
        """Whether a call of one of its tools is unfinished."""
        return any(server_of(call.started.name) == name for call in self._calls.values())

    def _note_end(self, name: str, ended: EndedCall) -> None:
        """Note what the end of a call says of its server."""
        event = ended.finished
        if event.status == "success":
            if self._states.mark_alive(name):
                self.refresh()
        elif event.status == "error":
            error = ((event.observation and event.observation.error) or "").strip()
            scope = missing_scope(error)
            # Reconnecting a remote server does no harm; the error of a local program may be about another host.
            if error in ("Connection closed", f'MCP server "{name}" is not connected') or (
                self._states[name].is_remote and (scope or _UNREACHABLE.match(error))
            ):
                self._states.mark_dead(name, error)
                if scope:
                    self._note_scope(name, scope)
            self.refresh()
            if self._after is not None:
                self._after.cancel()
            self._after = self._later(STEP_SECONDS, self.refresh)

    def _tick(self) -> None:
        self._cancel_next()
        self.refresh()
        self._next = self._later(10.0, self._tick)

    def _cancel_next(self) -> None:
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name="agent:servers")
        self._work.add(task)
        task.add_done_callback(self._work.discard)
