"""Receives the redirect at the end of a login: on a port of this machine, or as an address that a person pastes."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from ua_tui.core.errors import ConnectionFailed, advise
from ua_tui.core.text import clean_line

if TYPE_CHECKING:
    from aiohttp import web

_PATH = "/callback"
_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})
_PAGE = (
    "<!doctype html><meta charset=utf-8><title>ua-tui</title>"
    "<body style='font:18px sans-serif;margin:4em auto;max-width:32em'><p>{}</p>"
)
_DONE = "The login continues in the terminal. You can close this page."
_NOT_OURS = "This address does not belong to the login that the terminal is waiting for."


class Redirect:
    """The answer that a login waits for: the code, or why there is none.

    Answers with another state than the one that was sent are ignored, so that no page can end or take over a login.

    Attributes:
        address: the redirect address.
        answer: set to the parameters of the answer.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._state = ""
        self.answer: asyncio.Future[Mapping[str, str]] = asyncio.get_running_loop().create_future()

    def expect(self, state: str) -> None:
        """Wait for the answer to a request with this state."""
        self._state = state

    def handle(self, query: str) -> bool:
        """Take the query of an address as the answer; returns whether it is the expected one."""
        values = dict(parse_qsl(query))
        state = values.get("state", "")
        if not self._state or not secrets.compare_digest(state.encode(), self._state.encode()):
            return False
        if not self.answer.done() and ("code" in values or "error" in values):
            self.answer.set_result(values)
        return self.answer.done()

    def paste(self, text: str) -> bool:
        """Take an address that a person pasted; returns whether it is the expected one."""
        with suppress(ValueError):
            return self.handle(urlsplit(text.strip()).query)
        return False


@asynccontextmanager
async def receiving(port: int | None, *, required: bool) -> AsyncIterator[Redirect]:
    """Listen for the redirect on a port of this machine.

    Args:
        port: the port; None for any.
        required: whether no other port will do if that one is used.

    Raises:
        ConnectionFailed: the port is used by another program.
    """
    from aiohttp import web

    async def handle(request: web.Request) -> web.Response:
        host = request.host.rpartition(":")[0] if request.host[-1:].isdigit() else request.host
        ours = host in _HOSTS and redirect.handle(request.query_string)
        return web.Response(
            text=_PAGE.format(_DONE if ours else _NOT_OURS),
            content_type="text/html",
            status=200 if ours else 400,
            headers={"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"},
        )

    app = web.Application(client_max_size=1)
    app.router.add_get(_PATH, handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        used = await _listen(runner, port, required=required)
        redirect = Redirect(f"http://localhost:{used}{_PATH}")
        yield redirect
    finally:
        await runner.cleanup()


async def _listen(runner: web.AppRunner, port: int | None, *, required: bool) -> int:
    from aiohttp import web

    try:
        await web.TCPSite(runner, "127.0.0.1", port or 0).start()
    except OSError as error:
        if port and not required:
            return await _listen(runner, None, required=False)
        raise ConnectionFailed(
            advise("login.port", port=port, reason=clean_line(error.strerror or "", 80)), code="port"
        ) from error
    used = int(runner.addresses[0][1])
    with suppress(OSError):
        # Browsers may try it first.
        await web.TCPSite(runner, "::1", used).start()
    return used
