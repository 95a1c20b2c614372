"""The port to the MCP servers, with the real command line and the demo's servers."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from core.connections.base import Connection
from core.errors import ConnectionFailed
from core.events.types import Event, McpServer, McpStatus, QueryFinished, ToolCallFinished
from core.records.journal import read_journal
from core.session.session import Session
from tests.e2e.added_server import own_home
from tests.e2e.running import model_settings
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.waiting import until
from tui import compose

LIST = "mcp__local_toolkit__list_directory"


class Model:
    """Lists the folder when asked to, and keeps which tools it was offered."""

    def __init__(self) -> None:
        self.offered: list[set[str]] = []

    def __call__(self, body: dict[str, Any], _results: int) -> list[Block]:
        if body.get("stream"):
            self.offered.append({tool["name"] for tool in body.get("tools", [])})
        last = body["messages"][-1]["content"]
        done = isinstance(last, list) and any(block.get("type") == "tool_result" for block in last)
        return [Text("Done.")] if done else [Use(LIST, {"path": ""})]


@asynccontextmanager
async def started(base: Path, model: Model) -> AsyncIterator[tuple[Session, list[Event]]]:
    events: list[Event] = []
    with scripted_model(model) as url:
        settings = model_settings(base, url)
        session = await compose.compose_session(settings, interactive=False, subscribers=(events.append,))
        try:
            await session.start()
            await until(lambda: status(session, "local_toolkit") == "connected")
            yield session, events
        finally:
            await session.close("finished")


def server(session: Session, name: str) -> McpServer:
    return next(each for each in session.servers.known if each.name == name)


def status(session: Session, name: str) -> str:
    return next((each.status for each in session.servers.known if each.name == name), "")


async def ask(session: Session, events: list[Event]) -> str:
    """Have the folder listed; gives how the call went."""
    before = sum(isinstance(event, QueryFinished) for event in events)
    session.submit("List the folder")
    await until(lambda: sum(isinstance(event, QueryFinished) for event in events) > before)
    return next(event.status for event in reversed(events) if isinstance(event, ToolCallFinished))


def toolkit_of(session: Session) -> int:
    """The process of the session's toolkit."""
    wanted = f"core.toolkit\0--workspace\0{session.workspace.path}".encode()
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and wanted in (folder / "cmdline").read_bytes():
                return int(folder.name)
        except OSError:
            continue
    return 0


async def test_a_server_is_disabled_enabled_reconnected_and_stays_disabled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_home(tmp_path, monkeypatch)
    model = Model()
    async with started(tmp_path, model) as (session, events):
        assert "list_directory" in server(session, "local_toolkit").tool_names
        assert await ask(session, events) == "success"
        assert LIST in model.offered[-1]

        assert session.servers.switch("local_toolkit", on=False) == ""
        await until(lambda: status(session, "local_toolkit") == "disabled")
        assert toolkit_of(session) == 0
        assert await ask(session, events) == "error"
        assert LIST not in model.offered[-1]

        assert session.servers.switch("local_toolkit", on=True) == ""
        await until(lambda: status(session, "local_toolkit") == "connected")
        assert await ask(session, events) == "success"

        first = toolkit_of(session)
        os.kill(first, signal.SIGKILL)
        await until(lambda: toolkit_of(session) == 0)
        assert session.servers.reconnect("local_toolkit") == ""
        assert status(session, "local_toolkit") == "reconnecting"
        await until(lambda: status(session, "local_toolkit") == "connected")
        assert toolkit_of(session) not in {0, first}
        assert await ask(session, events) == "success"

        # What is disabled stays so when the agent is started again.
        session.servers.switch("local_toolkit", on=False)
        await until(lambda: status(session, "local_toolkit") == "disabled")
        os.kill(agent_of(session), signal.SIGKILL)
        await until(lambda: str(session.state) == "failed")
        assert "Ctrl+R" in session.servers.switch("local_toolkit", on=True)
        await session.restart()
        offered = len(model.offered)
        # At once: the first query knows nothing of it either.
        assert await ask(session, events) == "error"
        assert LIST not in set().union(*model.offered[offered:])
        await until(lambda: status(session, "local_toolkit") == "disabled" and toolkit_of(session) == 0)
    journal = read_journal(session.workspace.path / "journal.jsonl").events
    states = [event.servers[0].status for event in journal if isinstance(event, McpStatus)]
    for state in ("disabling", "disabled", "enabling", "reconnecting"):
        assert state in states


def agent_of(session: Session) -> int:
    """The process of the session's command line: the child of this process that was given its folder."""
    for folder in Path("/proc").iterdir():
        try:
            if not folder.name.isdigit():
                continue
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            here = int(fields[1]) == os.getpid()
            if here and (folder / "cwd").resolve() == session.workspace.path:
                return int(folder.name)
        except OSError:
            continue
    raise AssertionError("there is no agent")


async def test_a_service_that_was_away_at_the_start_is_connected_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_home(tmp_path, monkeypatch)
    connectors = compose._connectors
    away = asyncio.Event()

    def with_service(*args: Any) -> Any:
        toolkit = connectors(*args)["local_toolkit"]

        async def service() -> Connection:
            if not away.is_set():
                raise ConnectionFailed("the service could not be reached: the session continues without it")
            (command,) = (await toolkit()).servers.values()
            return Connection(servers={"service": command})

        return {"local_toolkit": toolkit, "service": service}

    monkeypatch.setattr(compose, "_connectors", with_service)
    async with started(tmp_path, Model()) as (session, events):
        assert status(session, "service") == "failed"
        assert "could not be reached" in str(server(session, "service").error)
        session.servers.reconnect("service")
        await until(lambda: status(session, "service") == "failed")
        away.set()
        session.servers.reconnect("service")
        await until(lambda: status(session, "service") == "connected")
        assert status(session, "local_toolkit") == "connected"
        assert server(session, "service").tools == server(session, "local_toolkit").tools
        assert await ask(session, events) == "success"
