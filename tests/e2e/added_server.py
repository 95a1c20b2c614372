from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.live import live
from tests.e2e.running import model_settings
from tests.e2e.scripted_model import Reply, scripted_model
from ua_tui.core.connections.base import Connection
from ua_tui.core.connections.trust import UserConnections
from ua_tui.core.events.types import Event
from ua_tui.tui import compose


def add_server(monkeypatch: pytest.MonkeyPatch, name: str, script: str) -> None:
    """Give the sessions of a test one more MCP server, a script beside this file, in place of Composio's."""
    connectors = compose._connectors
    path = Path(__file__).with_name(script)

    def with_server(*args: Any) -> Any:
        async def connect() -> Connection:
            command = {"type": "stdio", "command": sys.executable, "args": [str(path)], "env": {}}
            return Connection(servers={name: command})

        return {"local_toolkit": connectors(*args)["local_toolkit"], name: connect}

    monkeypatch.setattr(compose, "_connectors", with_server)
    monkeypatch.setattr(UserConnections, "acts", lambda _self, _name: "here")


def own_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing of the machine's settings and keys into the sessions of a test."""
    monkeypatch.setenv("HOME", str(home))
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "COMPOSIO_", "UA_", "LOGFIRE_", "XDG_")):
            monkeypatch.delenv(name)


async def events_of(base: Path, model: Reply, query: str, *, allow: Sequence[str]) -> list[Event]:
    """Run one query with a scripted model and no person in a session below `base`; gives all that happened."""
    with scripted_model(model) as url:
        settings = model_settings(base, url, classifier="rules", allow=tuple(allow))
        async with live(settings) as here:
            await here.ask(query)
    return here.events
