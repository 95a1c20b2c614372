"""The user's own MCP servers in a session, with the real command line and real servers of each transport."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.added_server import own_home
from tests.e2e.live import Live, live
from tests.e2e.odd_server import odd_server
from tests.e2e.running import model_settings
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.e2e.serving import free_port, serving
from tests.waiting import PATIENCE, until
from ua_tui.core.connections.oauth import flow
from ua_tui.core.connections.oauth.redirect import Redirect
from ua_tui.core.connections.oauth.store import LoginStore
from ua_tui.core.connections.trust import ServerTrust
from ua_tui.core.connections.user_servers import UserServer, connection_to, project_servers
from ua_tui.core.events.types import (
    AgentSilent,
    ErrorRaised,
    FilesAttached,
    McpStatus,
    QueryFinished,
    QueryReceived,
    SessionStarted,
    ToolCallFinished,
    ToolCallStarted,
)
from ua_tui.core.toolkit.mcp_server import _PREFIX, STATELESS_VERSION

SERVER = Path(__file__).with_name("own_server.py")
KEY = "canary-0123456789abcdef"
# Most of these servers could act outside, so a name alone is not enough.
ALLOWED = (
    "mcp__*",
    "take_note(text=*)",
    *(f"{name}()" for name in ("folder", "crash", "flood", "grow", "hang", "more")),
)
HEADERS = {"Authorization": f"Bearer {KEY}", "X-Team": "blue"}
FUTURE = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    result = {"protocolVersion": "1999-01-01", "capabilities": {}, "serverInfo": {"name": "a", "version": "1"}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""

GROWS = """
import json, sys
names = ["grow", "hang"]
print("Welcome!", flush=True)
def note(text):
    print('{"jsonrpc": "2.0", ' + text[1:], flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    match asked["method"]:
        case "initialize":
            result = {"capabilities": {"tools": {"listChanged": True}, "logging": {}}}
            result["serverInfo"] = {"name": "a", "version": "1"}
            result["protocolVersion"] = asked["params"]["protocolVersion"]
        case "tools/list":
            result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]}
        case "tools/call" if asked["params"]["name"] == "hang":
            continue
        case "tools/call":
            result = {"content": [{"type": "text", "text": asked["params"]["name"] + " called"}]}
            names.append("more")
            note('{"method": "notifications/tools/list_changed"}')
            note('{"method": "notifications/message", "params": {"level": "error", "data": "canary-of-the-log"}}')
            token = json.dumps(asked["params"]["_meta"]["progressToken"])
            note('{"method": "notifications/progress", "params": {"progress": 1, "progressToken": %s}}' % token)
        case _:
            result = {}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""

STARTS_LATER = (
    """
import os
open(os.environ["MAY_START"]).read()
"""
    + GROWS
)


class Model:
    """Makes the call that a query names; `seen` has what it was sent of a query that names none."""

    def __init__(self) -> None:
        self.seen = ""

    def __call__(self, body: dict[str, Any], _results: int) -> Sequence[Block]:
        last = body["messages"][-1]["content"]
        if isinstance(last, list) and last[-1].get("type") == "tool_result":
            return [Text("Done.")]
        asked = re.findall(r"Call (\w+) of ([\w-]+)|(?:Look at|Review of) ", json.dumps(body["messages"]))
        tool, server = asked[-1]
        if not tool:
            self.seen = json.dumps(body["messages"][-4:])
            return [Text("Seen.")]
        if tool == "ReadMcpResourceTool":
            return [Use(tool, {"server": server, "uri": "notes://list"})]
        return [Use(f"mcp__{server}__{tool}", {"text": "milk"} if tool == "take_note" else {})]


class Desk(Live):
    """A session, its model, and what happened in it."""

    def __init__(self, here: Live, model: Model) -> None:
        super().__init__(here.session, here.events)
        self.model = model

    def reported(self, name: str, problem: str) -> bool:
        """Whether a server was reported with a problem, or with one that it had."""
        listed = [server for event in self.of(McpStatus) for server in event.servers if server.name == name]
        return any(
            problem in (error or "") for server in listed for error in (server.error, server.last_error)
        )

    async def use(self, server: str, tool: str = "take_note") -> str:
        """Have the model call a tool; gives what it said, or what it failed of."""
        observation = (await self.call(f"Call {tool} of {server}")).observation
        assert observation is not None
        return str(observation.error or observation.output)

    async def use_connected(self, server: str, tool: str) -> str:
        """Have the model call a tool of a server that died before.

        The command line starts it for a call, and the session once it has noticed: a call in between finds none.
        """
        async with asyncio.timeout(PATIENCE):
            while "not connected" in (answer := await self.use(server, tool)):
                pass
        return answer


@asynccontextmanager
async def started(base: Path, *, interactive: bool = False) -> AsyncIterator[Desk]:
    """A session in the current folder, its agent connected."""
    model = Model()
    with scripted_model(model) as url:
        settings = model_settings(base, url, allow=ALLOWED)
        opened = live(settings, "local_toolkit", interactive=interactive)
        async with opened as here:
            yield Desk(here, model)


def write(folder: Path, **servers: Any) -> None:
    """Write the servers of a folder down."""
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))


def stdio(*more: str, **env: str) -> dict[str, Any]:
    """How a server that is a program is written down."""
    return {"command": sys.executable, "args": [str(SERVER), "stdio", *more], "env": env}


def script(text: str) -> dict[str, Any]:
    """How a server that is a few lines of Python is written down."""
    return {"command": sys.executable, "args": ["-c", text]}


def trust(folder: Path, *names: str) -> None:
    """Trust what a folder names, all of it without `names`."""
    for each in project_servers(folder):
        if isinstance(each, UserServer) and (not names or each.name in names):
            ServerTrust().decide(each, folder, "trusted")


def files_with(text: str, below: Path) -> list[Path]:
    """The files that have a text in them."""
    return [path for path in below.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


@pytest.fixture
def odd() -> Iterator[tuple[str, list[Mapping[str, str]]]]:
    """An HTTP server that is no MCP server, and what was redirected to it."""
    with odd_server() as served:
        yield served


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the session is in, with nobody's settings around it."""
    own_home(tmp_path / "home", monkeypatch)
    made = tmp_path / "project"
    made.mkdir()
    monkeypatch.chdir(made)
    return made


async def test_a_query_says_which_server_it_waits_for_and_a_direct_answer_waits_for_none(
    folder: Path, tmp_path: Path
) -> None:
    may_start = tmp_path / "may_start"
    os.mkfifo(may_start)
    write(folder, late=script(STARTS_LATER) | {"env": {"MAY_START": str(may_start)}})
    trust(folder)
    offered: list[bool] = []

    def model(body: dict[str, Any], _results: int) -> Sequence[Block]:
        offered.append("mcp__late__grow" in json.dumps(body["tools"]))
        return [Text("Done.")]

    with scripted_model(model) as url:
        settings = replace(model_settings(tmp_path, url), classifier="rules")
        async with live(settings, "local_toolkit") as desk:
            assert (await desk.ask("What is the capital of France?")).status == "success"
            assert (desk.of(AgentSilent), desk.status("late")) == ([], "pending")
            # Who does not want to wait stops the query.
            desk.session.submit("List the files in the folder.")
            await until(lambda: desk.of(AgentSilent))
            await desk.session.interrupt()
            await until(lambda: desk.of(QueryFinished)[-1].status == "interrupted")
            desk.session.submit("List the files in the folder.")
            await until(lambda: len([each for each in desk.of(AgentSilent) if not each.over]) == 2)
            assert len(offered) == 1
            await asyncio.to_thread(may_start.write_text, "now")
            await until(lambda: len(desk.of(QueryFinished)) == 3)
            assert desk.of(QueryFinished)[-1].status == "success"
            assert {(each.waits_for, each.name) for each in desk.of(AgentSilent)} == {("server", "late")}
            assert desk.of(AgentSilent)[-1].over
            assert offered == [False, True]


@pytest.mark.slow
async def test_a_server_of_each_transport_is_called_and_connected_again_when_it_dies(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: tuple[str, list[Mapping[str, str]]]
) -> None:
    monkeypatch.setenv("TICKETS_KEY", KEY)
    at, heard, program = free_port(), free_port(), tmp_path / "program.py"
    plain, redirected = odd
    private = plain.replace("http:", "https:")
    broken: dict[str, tuple[dict[str, Any], str]] = {
        "ends": (script("pass"), "it ended, or closed the connection: "),
        "fails": (script("import no_such_module"), "it ended (ModuleNotFoundError: No module named "),
        "future": (
            script(FUTURE),
            "it speaks MCP 1999-01-01, which the agent does not support: ",
        ),
        "away": ({"url": "http://127.0.0.1:9/mcp"}, "it cannot be reached (ECONNREFUSED): "),
        "unsafe": ({"url": f"{private}/mcp"}, "it does not speak TLS (EPROTO): "),
        "absent": ({"url": f"{plain}/404/mcp"}, "it answers with HTTP 404: check its address"),
        "busy": ({"url": f"{plain}/429/mcp"}, "it accepts no more requests for now (HTTP 429): "),
        "page": ({"url": f"{plain}/a1/mcp"}, "it answers with a web page, so it is not an MCP server: "),
        "json": ({"url": f"{plain}/b1/mcp"}, "it answers, but does not speak MCP ("),
        "torn": ({"url": f"{plain}/c1/mcp"}, "it answers, but does not speak MCP ("),
        "moved": ({"url": f"{plain}/307/mcp", "headers": HEADERS}, "it answers with HTTP 404: "),
    }
    program.write_text(SERVER.read_text())
    began = tmp_path / "began"
    places = ("--began", str(began), "--folder", str(tmp_path))
    notes = stdio(*places, OWN_MODE="${MODE:-quick}") | {"command": sys.executable}
    notes["args"][0] = str(program)
    write(
        folder,
        **{name: how for name, (how, _) in broken.items()},
        notes=notes,
        grows=script(GROWS),
        tickets={
            "type": "http",
            "url": f"http://127.0.0.1:{at}/mcp",
            "headers": {"Authorization": "Bearer ${TICKETS_KEY}"},
        },
        chat={"type": "sse", "url": f"http://127.0.0.1:{heard}/sse"},
    )
    trust(folder)
    with ExitStack() as stack:
        tickets = stack.enter_context(serving("own_server", at, "http", str(at), "--key", KEY))
        stack.enter_context(serving("own_server", heard, "sse", str(heard)))
        async with started(tmp_path) as desk:
            for name, (_, problem) in broken.items():
                await until(partial(desk.reported, name, problem), reported=partial(desk.server, name))
            # At another address the key is not sent, but any other header is.
            assert {each.get("authorization") for each in redirected} == {None}
            assert {each["x-team"] for each in redirected} == {"blue"}
            for name in ("notes", "tickets", "chat"):
                await desk.comes_to(name, "connected")
                assert (await desk.use(name)).startswith("noted milk by ")
            assert "quick" in await desk.use("notes")
            # A tool that a server adds can be called at once.
            assert await desk.use("grows", "grow") == "grow called"
            assert await desk.use("grows", "more") == "more called"
            # A call that hangs is ended by the person, and the next one works.
            desk.session.submit("Call hang of grows")
            await until(lambda: desk.of(ToolCallStarted)[-1].name.endswith("hang"))
            await desk.session.interrupt()
            await until(lambda: desk.of(QueryFinished)[-1].status == "interrupted")
            assert desk.of(ToolCallFinished)[-1].status == "cancelled"
            assert await desk.use("grows", "more") == "more called"
            # Its messages for a log and its progress disturb nothing, and nobody is told.
            assert files_with("canary-of-the-log", desk.session.workspace.path) == []
            assert "milk, quick" in await desk.use("notes", "ReadMcpResourceTool")
            # Another one is started for a person who names what it has.
            first = began.read_text()
            await desk.ask("Look at @notes:notes://list")
            assert "milk, quick" in desk.model.seen
            (attached,) = desk.of(FilesAttached)
            assert [each.resource for each in attached.files] == ["notes:notes://list"]
            await desk.ask("/tickets:review milk style=long")
            assert "Review of milk, long; not @ /etc/hostname" in desk.model.seen
            assert "Review of milk" in desk.of(QueryReceived)[-1].prompt
            failed = await desk.ask("Look at @chat:notes://nope")
            assert "notes://nope of chat cannot be read" in str(failed.error)
            # It keeps the folder that it is configured for.
            assert await desk.use("notes", "folder") == str(tmp_path)
            # Of the others, remote ones too, each is told that of the session.
            assert await desk.use("chat", "folder") == desk.session.workspace.path.as_uri()

            # A program that died is started again for the next call, by the command line itself.
            os.kill(int(first), signal.SIGKILL)
            # A call that comes while it is being noticed fails; the next ones must not.
            async with asyncio.timeout(PATIENCE):
                while "noted milk by" not in (answer := await desk.use("notes")):
                    pass
            assert f"noted milk by {first}" not in answer
            # One that cannot be started is not forgotten.
            program.rename(tmp_path / "away.py")
            assert await desk.use_connected("notes", "crash") == "Connection closed"
            await until(lambda: "failed" in desk.status("notes"))
            (tmp_path / "away.py").rename(program)
            await desk.comes_to("notes", "connected")
            assert "noted milk" in await desk.use("notes")

            # What is too large for the command line is reported as that.
            assert await desk.use_connected("notes", "flood") == "Connection closed"
            await until(lambda: desk.reported("notes", "it sent more than 16 MB in one message"))

            # A remote one is missed while nobody calls it, and taken up again.
            tickets.kill()
            tickets.wait()
            assert "noted" not in await desk.use("tickets")
            await desk.comes_to("tickets", "failed", "reconnecting")
            stack.enter_context(serving("own_server", at, "http", str(at), "--key", KEY))
            await desk.comes_to("tickets", "connected")
            assert "noted milk" in await desk.use("tickets")
            assert desk.of(ErrorRaised) == []
            workspace = desk.session.workspace.path
    assert files_with(KEY, workspace) == []


@pytest.mark.slow
async def test_what_a_folder_names_runs_only_once_it_is_trusted_and_what_is_wrong_with_it_is_reported(
    folder: Path, tmp_path: Path
) -> None:
    began = [tmp_path / name for name in ("asked", "refused", "changed")]
    written = {path.name: stdio("--began", str(path)) for path in began}
    write(folder, **written)
    _, refused, _ = project_servers(folder)
    assert isinstance(refused, UserServer)
    ServerTrust().decide(refused, folder, "refused")
    written |= {
        "empty": {"args": []},
        "missing": {"command": "no-such-program"},
        "keyless": {"url": "https://${NO_SUCH_VARIABLE}/mcp"},
    }
    write(folder, **written)
    trust(folder, "changed", "missing", "keyless")
    written["changed"]["args"] += ["--key=" + KEY, "--began", str(began[2])]
    write(folder, **written)
    async with started(tmp_path, interactive=True) as desk:
        (begun,) = desk.of(SessionStarted)
        assert begun.folder_servers == {
            "asked": "undecided",
            "refused": "refused",
            "changed": "undecided",
            "missing": "trusted",
            "keyless": "trusted",
        }
        for name, status, why in (
            ("asked", "untrusted", "not trusted yet: run `ua-tui servers trust asked`"),
            (
                "refused",
                "off",
                "because you refused it: to be asked again, run `ua-tui servers forget refused`",
            ),
            ("changed", "untrusted", "not trusted yet"),
            ("empty", "failed", "missing required field `command`"),
            ("missing", "failed", "did not start, as no-such-program is not installed: install it"),
            ("keyless", "failed", "needs the variable NO_SUCH_VARIABLE, which is not set"),
        ):
            server = desk.server(name)
            assert server is not None
            assert (server.status, why in str(server.error)) == (status, True), server
        assert await desk.use("asked") != "noted milk"
        assert [path.exists() for path in began] == [False] * 3
        trust(folder, "asked")
        assert desk.session.servers.reconnect("asked") == ""
        await desk.comes_to("asked", "connected")
        assert "noted milk" in await desk.use("asked")
        # One that was trusted meanwhile is restarted as others are.
        assert await desk.use("asked", "crash") == "Connection closed"
        await desk.comes_to("asked", "failed", "reconnecting")
        await desk.comes_to("asked", "connected")
        assert "noted milk" in await desk.use("asked")
        assert [path.exists() for path in began] == [True, False, False]
        # One that is still not trusted is not started.
        assert desk.session.servers.reconnect("changed") == ""
        await desk.comes_to("changed", "untrusted")
        workspace = desk.session.workspace.path
    assert files_with(KEY, tmp_path) == [folder / ".mcp.json"]
    assert KEY.encode() not in (workspace / "journal.jsonl").read_bytes()


async def log_in(name: str) -> None:
    """Log in to a server of the folder, as in a browser that follows every redirect."""

    async def open_page(address: str, _redirect: Redirect) -> None:
        async with httpx.AsyncClient(follow_redirects=True) as browser:
            (await browser.get(address)).raise_for_status()

    found = {each.name: each for each in project_servers(Path.cwd()) if isinstance(each, UserServer)}
    target = connection_to(found[name], os.environ, Path.cwd()).login
    assert target is not None
    await flow.log_in(target, LoginStore(), open_page)


async def test_a_server_that_needs_a_login_works_once_it_is_made_and_as_long_as_it_is_renewed(
    folder: Path, tmp_path: Path
) -> None:
    at = free_port()
    address = f"http://127.0.0.1:{at}"
    write(folder, notes={"type": "http", "url": f"{address}/mcp"})
    trust(folder)
    with serving("oauth_server", at, str(at)):
        # A connection that is kept may be closed by the server at the moment when it is used again.
        limits = httpx.Limits(max_keepalive_connections=0)
        async with httpx.AsyncClient(base_url=address, limits=limits) as admin, started(tmp_path) as desk:
            await desk.comes_to("notes", "needs-auth")
            assert desk.reported("notes", "needs a login: run `ua-tui connect notes`")
            # The command line has not tried to log in by itself.
            assert set((await admin.get("/seen")).text.split("\n")) == {"POST /mcp", "GET /seen"}

            # It is connected by itself once there is a login, from wherever.
            await log_in("notes")
            desk.session.servers.refresh()
            await desk.comes_to("notes", "connected")
            assert await desk.use("notes") == "noted milk"

            # The token is revoked: it is renewed within the call.
            await admin.post("/revoke-all")
            assert await desk.use("notes") == "noted milk"

            # A call needs more than the login gave: the next login asks for both.
            await admin.post("/demand")
            assert "needs a login with more permissions" in await desk.use("notes")
            await desk.comes_to("notes", "needs-auth")
            assert desk.reported("notes", 'Insufficient scope: required "notes more"')
            await log_in("notes")
            desk.session.servers.refresh()
            await desk.comes_to("notes", "connected")
            assert await desk.use("notes") == "noted milk"

            await admin.post("/revoke-all?renewal")
            assert "noted" not in await desk.use("notes")
            await desk.comes_to("notes", "needs-auth")
            assert desk.reported("notes", "MCP server notes needs a login: run `ua-tui connect notes`")
        # The next session does not remember that.
        await log_in("notes")
        async with started(tmp_path) as desk:
            await desk.comes_to("notes", "connected")
    (kept,) = files_with("access-", tmp_path)
    assert (kept.name, kept.stat().st_mode & 0o777) == ("logins.json", 0o600)


async def test_a_server_that_knows_the_stateless_protocol_is_spoken_to_in_it(
    tmp_path: Path, folder: Path
) -> None:
    """The local toolkit as a server of the user's, with the agent's command line as its client."""
    heard, start = tmp_path / "heard", json.dumps({"workspace": str(tmp_path / "kit")})
    kit = f"tee {shlex.quote(str(heard))} | {shlex.quote(sys.executable)} -m ua_tui.core.toolkit '{start}'"
    write(folder, notes={"command": "sh", "args": ["-c", kit]})
    trust(folder)
    async with started(tmp_path) as desk:
        await desk.comes_to("notes", "connected")
    asked = [json.loads(line) for line in heard.read_text(encoding="utf-8").splitlines()]
    assert asked[0]["method"] == "server/discover"
    assert "initialize" not in {each["method"] for each in asked}
    versions = {each["params"]["_meta"][f"{_PREFIX}protocolVersion"] for each in asked if "id" in each}
    assert versions == {STATELESS_VERSION}
