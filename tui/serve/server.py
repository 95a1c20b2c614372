"""Serves the page and a session for each tab that opens it, and keeps sessions that lost their tab."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from string import Template

import msgspec
import textual_serve
from aiohttp import WSCloseCode, WSMsgType, web
from aiohttp.http_exceptions import HttpProcessingError

from ua_tui.core.text import clean_line
from ua_tui.tui.serve.guard import Guard
from ua_tui.tui.serve.session import HAS_ENDED, ServedSession, Tab, cells, ended

COOKIE = "ua-tui-token"
IDLE_SECONDS = 30.0
"""How long a connection may stay open without a complete request."""

HEARTBEAT = 15.0
"""How often a page is asked whether it is still there; it has half of that to answer."""

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


class Server(msgspec.Struct, eq=False):
    """Listens at one address.

    Args:
        arguments: those of `ua-tui`, for every session.
        guard: who may have the screen.
        here: whether only browsers of this machine can reach it.
        most_tabs: how many tabs may be open at the same time, with the sessions that wait for one.
        keep_seconds: how long a session without a tab waits for one before it ends.
    """

    arguments: Sequence[str]
    guard: Guard
    here: bool
    most_tabs: int
    keep_seconds: float
    _sessions: dict[str, ServedSession] = {}
    _keeping: dict[ServedSession, asyncio.Task[None]] = {}
    _closing: bool = False
    _runner: web.AppRunner | None = None

    async def start(self, host: str, port: int) -> int:
        """Start listening; returns the port, which the system chooses for port 0.

        Raises:
            OSError: nothing can listen there.
        """
        app = web.Application(middlewares=[self._guarded])
        app.on_response_prepare.append(_add_headers)
        app.add_routes(
            [
                web.get("/", partial(_file, "page.html")),
                web.get("/page.js", partial(_file, "page.js")),
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
        await asyncio.gather(*map(self._end, [*self._sessions.values()]), return_exceptions=True)
        await asyncio.gather(*self._keeping.values(), return_exceptions=True)
        if self._runner is not None:
            await self._runner.cleanup()

    @web.middleware
    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        given = request.query.get("token")
        host = request.headers.get("Host", "")
        # Browsers keep cookies for a host, whatever the port; two servers must not take each other's.
        digest = hashlib.sha256(host.lower().encode("utf-8", "replace"))
        cookie = f"{COOKIE}-{digest.hexdigest()[:12]}"
        tokens = [each for each in (given, request.cookies.get(cookie)) if each is not None]
        why = self.guard.refusal(
            host=host,
            origin=request.headers.get("Origin"),
            websocket=request.path == "/ws",
            tokens=tokens,
        )
        if why is not None:
            # In the colours of the theme, and without anything that has to be fetched: nothing else is given
            # without the token.
            heading = "Not allowed"
            text = Template((_HERE / "message.html").read_text("utf-8")).substitute(
                title=heading.lower(), heading=heading, why=why
            )
            return web.Response(status=403, text=text, content_type="text/html")
        if request.path == "/" and given is not None:
            # Out of the address line, where it would be read over a shoulder and kept in the history.
            response = web.Response(status=303, headers={"Location": "/"})
            if self.guard.token is not None and self.guard.lets_in([given]):
                response.set_cookie(cookie, given, httponly=True, samesite="Lax", path="/")
            return response
        try:
            return await handler(request)
        except (OSError, ValueError) as error:
            # Such as a path with a name that no file can have.
            log.info("%s", clean_line(str(error)))
            raise web.HTTPNotFound from error

    async def _connect(self, request: web.Request) -> web.StreamResponse:
        if self._closing:
            raise web.HTTPServiceUnavailable
        # A paste comes in one message.
        websocket = web.WebSocketResponse(heartbeat=HEARTBEAT, timeout=2.0, max_msg_size=4 << 20)
        await websocket.prepare(request)
        assert request.transport is not None, "it was just written to"
        tab = Tab(websocket, request.transport)
        session = await self._session_for(request)
        if isinstance(session, str):
            await tab.close(session)
            return websocket
        if (keeping := self._keeping.pop(session, None)) is not None:
            keeping.cancel()
        try:
            await session.show(tab, _number(request, "width", 80), _number(request, "height", 24))
            async for message in websocket:
                if message.type is WSMsgType.TEXT:
                    await session.handle_message(message.data)
        finally:
            if websocket.close_code == WSCloseCode.ABNORMAL_CLOSURE:
                # Nobody answered: what waits to be sent there would hold up the session.
                tab.transport.abort()
            await asyncio.shield(self._leave(session, tab))
        return websocket

    async def _session_for(self, request: web.Request) -> ServedSession | str:
        """The session that a page asks for, or else a new one; or the message why there is none."""
        own, others = request.query.get("session"), request.query.get("waiting", "").split(",")
        if own:
            known = self._sessions.get(own)
            return ended(HAS_ENDED) if known is None or known.is_over else known
        # Of those that wait, the one whose tab was closed last.
        for session in reversed(self._keeping):
            if session.app_service_id in others and not session.is_over:
                return session
        while len(self._sessions) >= self.most_tabs:
            ending = next((each for each in self._sessions.values() if each.is_over), None)
            if ending is not None:
                # Its process is there until then.
                await self._end(ending)
                continue
            tabs = "one tab" if self.most_tabs == 1 else f"{self.most_tabs} tabs"
            return ended(
                "was not started",
                f"Only {tabs} can be open at the same time, counting sessions that wait for a closed tab to come back. "
                "Quit one of them with Ctrl+Q, or start ua-tui serve with a higher --max-tabs.",
            )
        session = ServedSession(self.arguments, here=self.here)
        self._sessions[session.app_service_id] = session
        return session

    async def _leave(self, session: ServedSession, tab: Tab) -> None:
        await session.leave(tab)
        if session.is_shown or self._closing:
            return
        self._keeping[session] = asyncio.create_task(self._keep(session))
        if session.is_over or not self.keep_seconds:
            await self._keeping[session]

    async def _keep(self, session: ServedSession) -> None:
        """End a session once it was without a tab for so long, or has ended by itself."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self.keep_seconds):
                await session.wait()
        await self._end(session)
        self._keeping.pop(session, None)

    async def _end(self, session: ServedSession) -> None:
        try:
            await session.stop()
        finally:
            self._sessions.pop(session.app_service_id, None)


async def _add_headers(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(_HEADERS)


def _describe_failure(record: logging.LogRecord) -> bool:
    """Describe a failed request in one line, and one that is no HTTP not at all: anybody can send that."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, HttpProcessingError):
        return False
    if error is not None:
        record.msg, record.args = "A request failed: %s", (clean_line(str(error) or type(error).__name__),)
        record.exc_info = record.exc_text = None
    return True


async def _file(name: str, _: web.Request) -> web.StreamResponse:
    kind = "text/javascript" if name.endswith(".js") else "text/html"
    return web.Response(text=(_HERE / name).read_text("utf-8"), content_type=kind, charset="utf-8")


def _number(request: web.Request, name: str, default: int) -> int:
    given = request.query.get(name, "")
    return cells(int(given)) if given.isascii() and given.isdigit() and len(given) < 9 else default
