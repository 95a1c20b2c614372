"""The demo's Composio stand-in in this process, for the real SDK; it fails when and how a test wants it to."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.waiting import PATIENCE, wait_until
from ua_tui.core.demo.composio.server import ComposioServer, Mounts
from ua_tui.core.demo.composio.services import DemoRemoteSession, Services, ToolAnswer
from ua_tui.core.demo.playbook import Pace, load_library
from ua_tui.core.demo.press import load_catalogue
from ua_tui.core.settings.model import Settings

KEY = "ak_standin0123456789abcdef"
HTML = b"<!doctype html><html><head><title>Sign in</title></head><body>Sign in to the network</body></html>"


@dataclass
class Fault:
    """An answer instead of the right one, `times` times, to requests whose `METHOD /path` matches."""

    match: str
    status: int
    body: bytes = b'{"error":{"message":"it is broken","slug":"BROKEN","status":500}}'
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    times: int = 1_000


class _Services(Services):
    """The services, which give a reply instead of running a call while there is one, and run other tools, too."""

    reply: dict[str, Any] | None = None
    executors: dict[str, Callable[..., Awaitable[dict[str, Any]]]] = msgspec.field(default_factory=dict)

    async def execute(
        self, session: DemoRemoteSession, slug: str, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        if (executor := self.executors.get(slug)) is not None:
            return await executor(session, arguments)
        return await super().execute(session, slug, arguments)

    async def call(self, session: DemoRemoteSession, name: str, arguments: dict[str, Any]) -> ToolAnswer:
        if self.reply is not None:
            return ToolAnswer(self.reply)
        return await super().call(session, name, arguments)


@dataclass
class StandIn:
    """Where it listens, what it was asked, and what it knows."""

    url: str
    composio: ComposioServer
    services: _Services
    mounts: Mounts
    requests: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def settings(self, **more: Any) -> Settings:
        """Settings that lead here."""
        return Settings(
            **{"composio_api_key": KEY, "composio_base_url": self.url, "user_id": "tester"} | more
        )

    def asked(self, pattern: str) -> int:
        """How many requests match."""
        return sum(re.search(pattern, request) is not None for request in self.requests)

    def reply_to_calls(self, reply: dict[str, Any]) -> None:
        """Answer every call of a tool with this, through the MCP server and through the API alike."""
        self.services.reply = reply
        self.faults.append(Fault("POST .*/execute(_meta)?$", 200, json.dumps(reply).encode()))

    def drop_sessions(self) -> None:
        """Let every session expire."""
        self.composio._sessions.clear()

    @property
    def sessions(self) -> list[str]:
        """The sessions there are."""
        return list(self.composio._sessions)


def _faulty(app: ASGIApp, here: StandIn) -> ASGIApp:
    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            request = f"{scope['method']} {scope['path']}"
            here.requests.append(request)
            for fault in here.faults:
                if fault.times > 0 and re.search(fault.match, request):
                    fault.times -= 1
                    response = Response(
                        fault.body, fault.status, media_type=fault.content_type, headers=fault.headers
                    )
                    await response(scope, receive, send)
                    return
        await app(scope, receive, send)

    return answer


@contextmanager
def stand_in(recorded: dict[str, bytes] | None = None) -> Iterator[StandIn]:
    """Serve on loopback while the block runs."""
    library = load_library()
    services = _Services(library, load_catalogue(library.texts["articles.json"], datetime.now(UTC)), Pace(0))
    mounts = Mounts(recorded or {})
    composio = ComposioServer(services, KEY, mounts)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> Any:
        async with composio.running():
            yield

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    here = StandIn(f"http://127.0.0.1:{listener.getsockname()[1]}", composio, services, mounts)
    app = _faulty(Starlette(routes=composio.routes(), lifespan=lifespan), here)
    config = uvicorn.Config(
        app, log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        wait_until(lambda: server.started)
        yield here
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listener.close()
