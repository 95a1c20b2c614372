"""The port to the MCP servers, with the real command line and the demo's servers."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.live import Live, agent_of, live, processes
from tests.e2e.running import model_settings
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.journals import read_journal
from tests.waiting import until
from ua_tui.core.events.types import McpStatus
from ua_tui.core.session.session import Session

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
async def started(base: Path, model: Model) -> AsyncIterator[Live]:
    with scripted_model(model) as url:
        async with live(model_settings(base, url), "local_toolkit") as here:
            yield here


async def listed(here: Live) -> str:
    """Have the folder listed; gives how the call went."""
    return (await here.call("List the folder")).status


def toolkit_of(session: Session) -> int:
    """The process of the session's toolkit; 0 if there is none."""
    wanted = ("ua_tui.core.toolkit", f'"{session.workspace.path}"')
    return next((pid for pid, _, command in processes() if all(each in command for each in wanted)), 0)


@pytest.mark.slow
async def test_the_model_loses_the_tools_that_a_server_does_not_offer(tmp_path: Path) -> None:
    model = Model()
    async with started(tmp_path, model) as here:
        here.session.servers.offered["local_toolkit"] = ("read_*",)
        assert await listed(here) == "error"
        offered = {name for name in model.offered[0] if name.startswith("mcp__local_toolkit__")}
        assert offered == {"mcp__local_toolkit__read_local_file"}


@pytest.mark.slow
async def test_a_server_is_disabled_enabled_reconnected_and_stays_disabled(tmp_path: Path) -> None:
    model = Model()
    async with started(tmp_path, model) as here:
        session = here.session
        toolkit = here.server("local_toolkit")
        assert toolkit is not None
        assert "list_directory" in toolkit.tool_names
        assert await listed(here) == "success"
        assert LIST in model.offered[-1]

        assert session.servers.switch("local_toolkit", on=False) == ""
        await here.comes_to("local_toolkit", "disabled")
        assert toolkit_of(session) == 0
        assert await listed(here) == "error"
        assert LIST not in model.offered[-1]

        assert session.servers.switch("local_toolkit", on=True) == ""
        await here.comes_to("local_toolkit", "connected")
        assert await listed(here) == "success"

        first = toolkit_of(session)
        os.kill(first, signal.SIGKILL)
        await until(lambda: toolkit_of(session) == 0)
        assert session.servers.reconnect("local_toolkit") == ""
        assert here.status("local_toolkit") == "reconnecting"
        await here.comes_to("local_toolkit", "connected")
        assert toolkit_of(session) not in {0, first}
        assert await listed(here) == "success"

        # What is disabled stays so when the agent is started again.
        session.servers.switch("local_toolkit", on=False)
        await here.comes_to("local_toolkit", "disabled")
        os.kill(agent_of(session), signal.SIGKILL)
        await until(lambda: str(session.state) == "failed")
        assert "Ctrl+R" in session.servers.switch("local_toolkit", on=True)
        await session.restart()
        offered = len(model.offered)
        # At once: the first query knows nothing of it either.
        assert await listed(here) == "error"
        assert LIST not in set().union(*model.offered[offered:])
        await until(lambda: here.status("local_toolkit") == "disabled" and toolkit_of(session) == 0)
    journal = read_journal(session.workspace.path / "journal.jsonl").events
    states = [event.servers[0].status for event in journal if isinstance(event, McpStatus)]
    for state in ("disabling", "disabled", "enabling", "reconnecting"):
        assert state in states
