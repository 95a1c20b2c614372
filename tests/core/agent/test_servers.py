from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.core.agent.test_server_reconnect import NOW, Time
from tests.waiting import run_ready
from ua_tui.core.agent.mcp.servers import Servers
from ua_tui.core.agent.mcp.states import ServerStates
from ua_tui.core.agent.permissions.policy import PermissionPolicy
from ua_tui.core.errors import ConnectionFailed
from ua_tui.core.events import types as ev
from ua_tui.core.observation import McpObservation
from ua_tui.core.redaction.redactor import Redactor

TOOLS = [{"name": "crawl_parallel"}, {"name": "save_corpus"}]


class Agent:
    """Knows servers as the command line does; what it is asked waits for `go` when it is to be slow."""

    def __init__(self) -> None:
        self.known: dict[str, dict[str, Any]] = {
            "toolkit": {"name": "toolkit", "status": "connected", "tools": TOOLS}
        }
        self.added: set[str] = set()
        self.asked: list[str] = []
        self.refuses = ""
        self.go = asyncio.Event()
        self.go.set()
        self.dead = False

    async def servers(self) -> list[dict[str, Any]]:
        if self.dead:
            raise RuntimeError("exit code -9")
        return [dict(each) for each in self.known.values()]

    async def reconnect_server(self, name: str) -> None:
        await self._do(f"reconnect {name}")
        self.known[name] = {"name": name, "status": "connected", "tools": TOOLS}

    async def switch_server(self, name: str, *, on: bool) -> None:
        await self._do(f"{'enable' if on else 'disable'} {name}")
        self.known[name] = {"name": name, "status": "connected", "tools": TOOLS} if on else _off(name)

    async def add_servers(self, servers: Mapping[str, dict[str, Any]]) -> None:
        await self._do(f"add {' '.join(sorted(servers))}")
        self.known = {name: known for name, known in self.known.items() if name not in self.added}
        self.added = set(servers)
        self.known |= {name: {"name": name, "status": "connected", "tools": []} for name in servers}

    async def hide_tools(self, names: Sequence[str]) -> None:
        await self._do(f"hide {' '.join(names)}")

    async def _do(self, what: str) -> None:
        self.asked.append(what)
        await self.go.wait()
        if self.refuses:
            raise ConnectionFailed(self.refuses)


def _off(name: str) -> dict[str, Any]:
    return {"name": name, "status": "disabled"}


def reporting(**given: Any) -> tuple[ServerStates, list[Any]]:
    """States of servers, and what they report."""
    events: list[Any] = []

    def publish(event: ev.Event) -> ev.Event:
        events.append(event)
        return event

    return ServerStates(publish=publish, **given), events


class Desk:
    """A port, the agent behind it, and what it told."""

    def __init__(self, states: ServerStates | None = None) -> None:
        self.agent = Agent()
        self.events: list[ev.Event] = []
        self.reopens: Exception | None = None
        self.states = states or ServerStates()
        self.states.publish = self._publish
        self.time = Time()
        self.reported: list[str] = []
        self.logins: dict[str, str] = {}
        self.servers = Servers(
            self.states,
            self._reopen,
            renew=self._renew,
            report=self._report,
            login_made_at=lambda name: self.logins.get(name, ""),
            note_scope=lambda _name, _scope: None,
            later=self.time.later,
        )

    def here(self) -> Any:
        """The agent, in place of the client of a real one."""
        return None if self.agent.dead else self.agent

    def _report(self, _where: str, error: Exception) -> None:
        self.reported.append(str(error))

    def _publish(self, event: ev.Event) -> ev.Event:
        self.events.append(event)
        return event

    async def _reopen(self, name: str) -> dict[str, dict[str, Any]]:
        if self.reopens is not None:
            raise self.reopens
        # What a connection is called need not be what its servers are called.
        return {f"{name}_mail": {"type": "http", "url": "https://a.example"}}

    async def _renew(self, _name: str) -> None:
        """No session of a server is ever over."""

    async def watch_startup(self) -> None:
        await self.servers.attach(self.here)
        await self.servers.poll()

    async def rest(self) -> None:
        await run_ready(200)

    async def reconnect(self, name: str) -> str:
        said = self.servers.reconnect(name)
        await self.rest()
        return said

    async def switch(self, name: str, *, on: bool) -> str:
        said = self.servers.switch(name, on=on)
        await self.rest()
        return said

    async def handle(self, event: ev.Event) -> None:
        self.servers.handle_event(event)
        await self.rest()

    async def pass_by(self, seconds: float) -> None:
        self.time.pass_by(seconds)
        await self.rest()

    def begin_call(self) -> None:
        tool = "mcp__toolkit__crawl_parallel"
        self.servers.handle_event(
            ev.ToolCallStarted(query_id="q1", tool_use_id="t1", name=tool, input={}, iteration=1)
        )

    async def end_call(self, error: str | None) -> None:
        """End the call; without an error it succeeds."""
        observation = McpObservation(
            tool_name="x", tool_use_id="t1", server="s", started_at=NOW, ended_at=NOW, error=error
        )
        status: Any = "error" if error else "success"
        self.servers.handle_event(
            ev.ToolCallFinished(tool_use_id="t1", status=status, observation=observation)
        )
        await self.rest()

    def notices(self, name: str) -> list[str]:
        """The states of a server in the order they were told of, each once in a row."""
        states = [
            server.status
            for event in self.events
            if isinstance(event, ev.McpStatus)
            for server in event.servers
            if server.name == name
        ]
        return [state for at, state in enumerate(states) if not at or states[at - 1] != state]

    def now(self, name: str) -> ev.McpServer:
        return next(server for server in self.servers.known if server.name == name)


@pytest.fixture
async def desk() -> Desk:
    """One whose agent has started."""
    made = Desk()
    await made.watch_startup()
    return made


async def test_a_server_is_reconnected_and_that_is_seen(desk: Desk) -> None:
    desk.agent.go.clear()
    assert await desk.reconnect("toolkit") == ""
    assert desk.now("toolkit").status == "reconnecting"
    assert desk.servers.reconnect("toolkit") == "toolkit is already reconnecting."
    assert desk.servers.switch("toolkit", on=False) == "toolkit is already reconnecting."
    # Whoever looks meanwhile does not take that away.
    desk.servers.refresh()
    await desk.rest()
    assert desk.now("toolkit").status == "reconnecting"
    desk.agent.go.set()
    await desk.rest()
    assert desk.notices("toolkit") == ["connected", "reconnecting", "connected"]
    assert desk.agent.asked == ["reconnect toolkit"]
    assert desk.now("toolkit").tool_names == ["crawl_parallel", "save_corpus"]


async def test_a_list_of_tools_that_could_not_be_sent_is_sent_again_and_holds_for_calls_meanwhile() -> None:
    desk = Desk()
    desk.servers.offered["toolkit"] = ("save_*",)
    desk.agent.refuses = "no answer"
    await desk.servers.attach(desk.here)
    assert await desk.servers.starting() == []
    policy = PermissionPolicy(Path("/work"), mode="bypassPermissions", offers=desk.servers.offers)
    verdicts = [
        policy.judge(f"mcp__{tool}", {}).verdict
        for tool in ("toolkit__crawl_parallel", "toolkit__save_x", "x__y")
    ]
    assert verdicts == ["deny", "allow", "allow"]
    desk.agent.refuses = ""
    assert await desk.servers.starting() == []
    assert desk.agent.asked == ["hide mcp__toolkit__crawl_parallel"] * 2


async def test_a_server_is_switched_off_and_on(desk: Desk) -> None:
    assert await desk.switch("toolkit", on=False) == ""
    assert desk.now("toolkit").tools is None
    assert desk.servers.reconnect("toolkit") == "toolkit is disabled: enable it first."
    assert await desk.switch("toolkit", on=True) == ""
    assert desk.notices("toolkit") == ["connected", "disabling", "disabled", "enabling", "connected"]
    assert desk.now("toolkit").tools == 2


async def test_a_new_agent_is_ready_only_once_what_is_off_is_off(desk: Desk) -> None:
    await desk.switch("toolkit", on=False)
    desk.agent = Agent()
    desk.agent.go.clear()
    taking = asyncio.create_task(desk.servers.attach(desk.here))
    await desk.rest()
    assert not taking.done()
    desk.agent.go.set()
    await taking
    assert desk.agent.known["toolkit"]["status"] == "disabled"
    desk.agent.refuses = "not now"
    await desk.servers.attach(desk.here)
    assert desk.now("toolkit").last_error == "not now"


async def test_a_new_agent_is_polled_until_it_lists_every_expected_server() -> None:
    desk = Desk()
    await desk.servers.attach(desk.here, {"toolkit", "composio"})
    watching = asyncio.create_task(desk.servers.poll())
    await desk.rest()
    assert [server.name for server in desk.servers.known] == ["toolkit"]
    assert not watching.done()
    desk.agent.known["composio"] = {"name": "composio", "status": "connected", "tools": []}
    await watching
    assert desk.now("composio").status == "connected"


async def test_what_is_refused_is_kept_as_the_last_error_without_secrets() -> None:
    desk = Desk(ServerStates(Redactor(["hunter2-hunter2"])))
    await desk.watch_startup()
    desk.agent.refuses = "no way: \x1b[2Jhunter2-hunter2"
    await desk.reconnect("toolkit")
    assert desk.notices("toolkit") == ["connected", "reconnecting", "connected"]
    error = desk.now("toolkit").last_error
    assert error is not None
    assert "no way" in error
    assert "hunter2" not in error
    assert "\x1b" not in error
    desk.agent.refuses = ""
    await desk.reconnect("toolkit")
    assert desk.now("toolkit").last_error == error


async def test_what_cannot_be_tried_is_shown_at_once() -> None:
    off = ev.McpServer(name="composio", status="off", error="Composio is off: set COMPOSIO_API_KEY")
    desk = Desk()
    desk.states.exclude(off)
    assert desk.servers.reconnect("toolkit") == "There is no server toolkit."
    await desk.watch_startup()
    assert desk.servers.reconnect("composio") == off.error
    assert desk.servers.switch("composio", on=True) == off.error
    desk.agent.dead = True
    assert "Ctrl+R" in desk.servers.reconnect("toolkit")
    desk.servers.refresh()
    await desk.rest()
    assert desk.agent.asked == []


async def test_a_connection_that_could_not_be_opened_is_opened_again() -> None:
    desk = Desk()
    for name in ("composio", "plugin"):
        desk.states.exclude(ev.McpServer(name=name, status="failed", error="it is away"))
    await desk.watch_startup()
    assert desk.now("composio").status == "failed"
    assert "connect it first" in desk.servers.switch("composio", on=False)
    for error in (ConnectionFailed("it is still away"), ZeroDivisionError("a fault of its library")):
        desk.reopens = error
        await desk.reconnect("composio")
        assert (desk.now("composio").status, desk.now("composio").last_error) == ("failed", str(error))
    # What the agent does not accept is not lost.
    desk.reopens, desk.agent.refuses = None, "the agent is gone"
    await desk.reconnect("composio")
    assert desk.now("composio").last_error == "the agent is gone"
    desk.agent.refuses = ""
    assert await desk.reconnect("composio") == ""
    assert desk.notices("composio") == ["failed", *["reconnecting", "failed"] * 3, "reconnecting"]
    assert desk.agent.asked == ["add composio_mail"] * 2
    # A second connection does not take the place of the first.
    await desk.reconnect("plugin")
    assert [server.name for server in desk.servers.known] == ["toolkit", "composio_mail", "plugin_mail"]
    assert desk.now("composio_mail").status == "connected"


async def test_an_agent_that_dies_leaves_nothing_half_done_and_a_closed_one_is_silent(desk: Desk) -> None:
    desk.agent.go.clear()
    await desk.switch("toolkit", on=False)
    desk.agent.dead = True
    desk.agent.refuses = "Command failed with exit code -9"
    desk.agent.go.set()
    await desk.rest()
    assert desk.now("toolkit").status == "connected"
    assert "exit code -9" in str(desk.now("toolkit").last_error)
    desk.agent.dead = False
    desk.agent.go.clear()
    await desk.switch("toolkit", on=False)
    notices = len(desk.events)
    desk.servers.close()
    desk.agent.go.set()
    await desk.rest()
    assert len(desk.events) == notices


FAILED = {"name": "toolkit", "status": "failed", "error": "ECONNREFUSED"}
QUERY, ENDED = ev.QueryReceived(query_id="q1", text="x"), ev.QueryFinished(query_id="q1", status="success")


async def test_a_server_that_worked_and_failed_is_connected_again_by_itself(desk: Desk) -> None:
    desk.agent.known["toolkit"] = dict(FAILED)
    await desk.handle(QUERY)
    assert (desk.now("toolkit").status, desk.now("toolkit").again_s) == ("failed", 1)
    desk.agent.go.clear()
    await desk.pass_by(1)
    assert (desk.now("toolkit").status, desk.now("toolkit").again_s) == ("reconnecting", None)
    desk.agent.go.set()
    await desk.rest()
    assert desk.notices("toolkit") == ["connected", "failed", "reconnecting", "connected"]
    away = "it cannot be reached (ECONNREFUSED): check that it is running, and check its address"
    assert (desk.now("toolkit").again_s, desk.now("toolkit").last_error) == (None, away)
    assert desk.reported == []


async def test_a_server_that_stays_away_is_given_up_with_what_to_do(desk: Desk) -> None:
    desk.agent.known["toolkit"] = dict(FAILED)
    desk.agent.refuses = "ECONNREFUSED"
    desk.servers.handle_event(QUERY)
    await desk.handle(ENDED)
    waits = []
    while (wait := desk.now("toolkit").again_s) is not None:
        waits.append(wait)
        await desk.pass_by(wait)
    assert waits == [1, 2, 4, 8, 16, 32]
    assert desk.agent.asked == ["reconnect toolkit"] * 6
    (notices,) = desk.reported
    tried = "toolkit failed and could not be reconnected in 6 attempts"
    assert f"{tried} (it cannot be reached (ECONNREFUSED)): fix it" in notices
    assert "/connections" in notices
    assert not desk.time.waits
    # A person may try on, and so does the program then.
    assert await desk.reconnect("toolkit") == ""
    assert desk.now("toolkit").again_s == 1


async def test_what_a_person_sees_to_is_not_done_twice(desk: Desk) -> None:
    desk.agent.known["toolkit"] = dict(FAILED)
    await desk.handle(QUERY)
    await desk.reconnect("toolkit")
    await desk.pass_by(1)
    desk.agent.known["toolkit"] = dict(FAILED)
    await desk.pass_by(20)
    await desk.switch("toolkit", on=False)
    await desk.pass_by(100)
    assert desk.agent.asked == ["reconnect toolkit", "disable toolkit"]


async def test_a_program_that_died_is_started_again_though_the_agent_says_it_is_connected(desk: Desk) -> None:
    desk.begin_call()
    await desk.end_call("Connection closed")
    assert desk.now("toolkit").status == "failed"
    assert str(desk.now("toolkit").error).startswith("it ended, or closed the connection: ")
    # While it is called again the agent is about to start it.
    desk.begin_call()
    await desk.pass_by(3)
    assert desk.agent.asked == []
    await desk.end_call('MCP server "toolkit" is not connected')
    await desk.pass_by(1)
    assert desk.agent.asked == ["reconnect toolkit"]
    assert (desk.now("toolkit").status, desk.now("toolkit").error) == ("connected", None)
    # One that the agent started again by itself is left alone.
    desk.begin_call()
    await desk.end_call("Connection closed")
    desk.begin_call()
    await desk.end_call(None)
    await desk.pass_by(100)
    assert desk.agent.asked == ["reconnect toolkit"]


async def test_while_the_agent_tries_by_itself_nothing_is_done_beside_it(desk: Desk) -> None:
    desk.agent.known["toolkit"] = {"name": "toolkit", "status": "pending"}
    await desk.handle(QUERY)
    await desk.pass_by(5)
    assert desk.now("toolkit").status == "reconnecting"
    assert desk.agent.asked == []
    desk.servers.close()


async def test_a_new_agent_begins_with_no_tries(desk: Desk) -> None:
    desk.agent.known["toolkit"] = dict(FAILED)
    await desk.handle(QUERY)
    desk.servers.handle_event(ENDED)
    desk.agent = Agent()
    await desk.watch_startup()
    await desk.pass_by(100)
    assert desk.agent.asked == []
    assert (desk.now("toolkit").status, desk.now("toolkit").again_s) == ("connected", None)


async def test_a_server_that_fails_to_start_is_reported_once_and_with_its_error() -> None:
    why = {"name": "toolkit", "status": "failed", "error": "no database"}
    without_why = [{"name": "toolkit", "status": "failed"}]
    for is_polled in (True, False):
        desk = Desk()
        desk.agent.known["toolkit"] = {"name": "toolkit", "status": "pending"}
        polling = asyncio.create_task(desk.watch_startup())
        await desk.rest()
        # The query that begins when it has failed lists it without an error.
        desk.states.report_update(without_why)
        assert desk.now("toolkit").status == "pending"
        if is_polled:
            desk.agent.known["toolkit"] = why
            desk.servers.refresh()
            await polling
        else:
            polling.cancel()
        desk.servers.handle_event(ev.QueryFinished(query_id="q1", status="success"))
        assert desk.notices("toolkit") == ["pending", "failed"]
        assert len(desk.events) == 2
        assert desk.now("toolkit").error == ("no database" if is_polled else None)
        desk.servers.close()


async def test_a_server_that_lists_no_tools_without_a_login_says_so() -> None:
    unlisted: list[str] = []
    states = ServerStates(cause_of=lambda _name, error: unlisted[0] if unlisted else None)
    desk = Desk(states)
    desk.agent.known = {"notes": {"name": "notes", "status": "connected", "tools": [], "transport": "http"}}
    await desk.watch_startup()
    assert desk.now("notes").status == "connected"
    # The agent logs the cause a moment later.
    unlisted.append('Failed to fetch tools: Error POSTing to endpoint: {"error":"invalid_token"}')
    desk.time.pass_by(2.0)
    await desk.rest()
    assert (desk.now("notes").status, desk.now("notes").error) == (
        "needs-auth",
        "MCP server notes needs a login: run `ua-tui connect notes`, or press l in /connections.",
    )
    # The list at the beginning of a query has no tools.
    states.report_update([{"name": "notes", "status": "connected"}])
    assert desk.now("notes").status == "needs-auth"
    unlisted[:] = ["Failed to fetch tools: HTTP 500"]
    await desk.servers.poll()
    assert desk.now("notes").status == "failed"
    desk.agent.known["notes"]["tools"] = TOOLS
    await desk.servers.poll()
    assert desk.now("notes").status == "connected"
    desk.servers.close()


def test_nothing_new_is_not_reported_and_what_an_agent_should_never_say_does_no_harm() -> None:
    states, events = reporting()
    failed = {"name": "a", "status": "failed", "error": "401"}
    lists: tuple[tuple[list[Any], int], ...] = (
        ([], 0),
        ([{"name": "a", "status": "connected", "tools": TOOLS}], 1),
        # The agent's first message has no tools and no errors: what is known of them is kept.
        ([{"name": "a", "status": "connected"}], 0),
        ([failed], 1),
        ([{"name": "a", "status": "failed"}], 0),
        ([], 0),
    )
    for listed, reports in lists:
        states.report_update(listed)
        assert len(events) == reports, listed
        events.clear()
    odd: list[Any] = [
        None, 7, "a", {}, {"name": 3}, {"name": "\x1b[2Jx", "status": None, "tools": "many", "error": 5},
        {"name": "y", "status": "connected", "tools": [None, {"name": 4}, {"name": "a\nb"}, {}]},
    ]  # fmt: skip
    states, events = reporting()
    states.report_update(odd)
    first, second = events[0].servers
    assert "\x1b" not in first.name
    assert (first.status, first.tools, first.error) == ("unknown", None, "5")
    assert (second.tools, second.tool_names) == (4, ["a b"])


async def test_a_server_is_reconnected_once_with_each_login() -> None:
    desk = Desk()
    needs_login = {"name": "notes", "status": "needs-auth"}
    desk.agent.known["notes"] = needs_login
    desk.agent.refuses = "it refuses the login"
    await desk.watch_startup()
    assert desk.agent.asked == []
    for made_at in ("08:00", "09:00"):
        desk.agent.asked.clear()
        desk.logins["notes"] = made_at
        for _ in range(2):
            desk.servers.refresh()
            await desk.rest()
        assert desk.agent.asked == ["reconnect notes"]
    # Renewed while it was connected: that it is refused afterwards says that this login does not help.
    desk.agent.known["notes"] = {"name": "notes", "status": "connected", "tools": TOOLS}
    desk.logins["notes"] = "10:00"
    desk.servers.refresh()
    await desk.rest()
    desk.agent.known["notes"] = needs_login
    desk.servers.refresh()
    await desk.rest()
    assert desk.agent.asked == ["reconnect notes"]


async def test_a_login_that_is_renewed_for_each_attempt_is_tried_once() -> None:
    desk = Desk()
    desk.agent.known["notes"] = {"name": "notes", "status": "needs-auth"}
    reconnect = desk.agent.reconnect_server

    async def renew_and_refuse(name: str) -> None:
        desk.logins[name] += "+"
        desk.agent.refuses = "it refuses the login"
        await reconnect(name)

    desk.agent.reconnect_server = renew_and_refuse  # type: ignore[method-assign]
    desk.logins["notes"] = "08:00"
    await desk.watch_startup()
    await desk.rest()
    assert desk.agent.asked == ["reconnect notes"]
