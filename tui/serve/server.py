"""Serves the page and a session for each tab that opens it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from string import Template

import textual_serve
from aiohttp import WSMsgType, web
from aiohttp.http_exceptions import HttpProcessingError

from ua_tui.core.text import clean_line
from ua_tui.tui.serve.guard import Guard
from ua_tui.tui.serve.tab import BrowserTab, cells

COOKIE = "ua-tui-token"
IDLE_SECONDS = 30.0
"""How long a connection may stay open without a complete request."""

_HERE = Path(__file__).parent
_STATIC = Path(textual_serve.__file__).parent / "static"
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self' data:; "
        "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
log = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Server:
    """Listens at one address.

    Args:
        arguments: those of `ua-tui`, for every session.
        guard: who may have the screen.
        here: whether only browsers of this machine can reach it.
        most_tabs: how many tabs may be open at the same time.
    """

    def __init__(self, arguments: Sequence[str], guard: Guard, *, here: bool, most_tabs: int) -> None:
        self._arguments = arguments
        self._guard = guard
        self._here = here
        self._most_tabs = most_tabs
        self._tabs: dict[BrowserTab, web.WebSocketResponse] = {}
        self._closing = False
        self._runner: web.AppRunner | None = None

    async def start(self, host: str, port: int) -> int:
        """Start listening; returns the port, which the system chooses for port 0.

        Raises:
            OSError: nothing can listen there.
        """
        app = web.Application(middlewares=[self._guarded])
        app.on_response_prepare.append(_add_headers)
        app.add_routes(
            [
                web.get("/", self._page),
                web.get("/page.js", _script),
                web.get("/ws", self._connect),
                web.static("/static", _STATIC),
            ]
        )
        log.addFilter(_describe_failure)
        # No log of what is asked for: the token stands in an address.
        self._runner = web.AppRunner(
            app, access_log=None, logger=log, shutdown_timeout=1.0, keepalive_timeout=IDLE_SECONDS
        )
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, host, port).start()
        except BaseException:
            await self._runner.cleanup()
            raise
        return int(self._runner.addresses[0][1])

    async def close(self) -> None:
        """End all sessions at the same time, and stop listening."""
        self._closing = True
        await asyncio.gather(*(tab.stop() for tab in list(self._tabs)), return_exceptions=True)
        for websocket in list(self._tabs.values()):
            with suppress(Exception):
                await websocket.close()
        if self._runner is not None:
            await self._runner.cleanup()

    @web.middleware
    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        given = request.query.get("token")
        cookie = self._cookie(request)
        tokens = [each for each in (given, request.cookies.get(cookie)) if each is not None]
        why = self._guard.refusal(
            host=request.headers.get("Host", ""),
            origin=request.headers.get("Origin"),
            websocket=request.path == "/ws",
            tokens=tokens,
        )
        if why is not None:
            return _message(403, "Not allowed", why)
        if request.path == "/" and given is not None:
            # Out of the address line, where it would be read over a shoulder and kept in the history.
            response = web.Response(status=303, headers={"Location": "/"})
            if self._guard.token is not None and self._guard.lets_in([given]):
                response.set_cookie(cookie, given, httponly=True, samesite="Lax", path="/")
            return response
        try:
            return await handler(request)
        except (OSError, ValueError) as error:
            # Such as a path with a name that no file can have.
            log.info("%s", clean_line(str(error)))
            raise web.HTTPNotFound from error

    def _cookie(self, request: web.Request) -> str:
        # Browsers keep cookies for a host, whatever the port; two servers must not take each other's.
        digest = hashlib.sha256(
            request.headers.get("Host", "").lower().encode("utf-8", "replace")
        ).hexdigest()
        return f"{COOKIE}-{digest[:12]}"

    async def _page(self, _: web.Request) -> web.StreamResponse:
        if len(self._tabs) >= self._most_tabs:
            return _message(503, "Too many tabs", f"{self._limit} Close a tab, then load this page again.")
        return web.Response(text=_read("page.html"), content_type="text/html", charset="utf-8")

    @property
    def _limit(self) -> str:
        tabs = "one tab" if self._most_tabs == 1 else f"{self._most_tabs} tabs"
        return f"Only {tabs} can be open at the same time; --max-tabs of ua-tui serve changes that."

    async def _connect(self, request: web.Request) -> web.StreamResponse:
        if self._closing:
            raise web.HTTPServiceUnavailable
        # A paste comes in one message.
        websocket = web.WebSocketResponse(heartbeat=15, timeout=2.0, max_msg_size=4 << 20)
        if len(self._tabs) >= self._most_tabs:
            await websocket.prepare(request)
            await websocket.send_str(json.dumps(["ended", {"how": "was not started", "said": self._limit}]))
            await websocket.close()
            return websocket
        tab = BrowserTab(
            self._arguments,
            write_bytes=websocket.send_bytes,
            write_str=websocket.send_str,
            close=websocket.close,
            here=self._here,
        )
        self._tabs[tab] = websocket
        try:
            await websocket.prepare(request)
            await tab.start(_number(request, "width", 80), _number(request, "height", 24))
            async for message in websocket:
                if message.type is WSMsgType.TEXT:
                    await tab.handle_message(message.data)
        finally:
            # The session is closed in good order also when this is given up.
            await asyncio.shield(self._end(tab))
        return websocket

    async def _end(self, tab: BrowserTab) -> None:
        try:
            await tab.stop()
        finally:
            self._tabs.pop(tab, None)


async def _add_headers(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(_HEADERS)


def _message(status: int, heading: str, why: str) -> web.Response:
    # In the colours of the theme, and without anything that has to be fetched: nothing else is given without the token.
    text = Template(_read("message.html")).substitute(title=heading.lower(), heading=heading, why=why)
    return web.Response(status=status, text=text, content_type="text/html")


def _describe_failure(record: logging.LogRecord) -> bool:
    """Describe a failed request in one line, and one that is no HTTP not at all: anybody can send that."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, HttpProcessingError):
        return False
    if error is not None:
        record.msg, record.args = "A request failed: %s", (clean_line(str(error) or type(error).__name__),)
        record.exc_info = record.exc_text = None
    return True


async def _script(_: web.Request) -> web.StreamResponse:
    return web.Response(text=_read("page.js"), content_type="text/javascript", charset="utf-8")


def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _number(request: web.Request, name: str, default: int) -> int:
    given = request.query.get(name, "")
    return cells(int(given)) if given.isascii() and given.isdigit() and len(given) < 9 else default
