"""The requests of a login: by https alone, to public addresses alone unless the server is in a private network itself.

A server says where its login is. What it says must not lead this program to other machines of the user's network.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from ua_tui.core.errors import FetchRefused
from ua_tui.core.net.addresses import is_public
from ua_tui.core.net.urls import is_loopback
from ua_tui.core.text import clean_line

if TYPE_CHECKING:
    import httpx2

    from ua_tui.core.net.dialer import Resolver

_SECONDS = 20.0


def check_address(address: str) -> None:
    """Check that an address may be used for a login.

    Raises:
        FetchRefused: it is neither https nor on this machine.
    """
    if urlsplit(address).scheme != "https" and not is_loopback(address):
        shown = clean_line(address.partition("?")[0], 120)
        raise FetchRefused(f"{shown} is not encrypted: a login needs https")


@asynccontextmanager
async def login_client(address: str, resolve: Resolver | None = None) -> AsyncIterator[httpx2.AsyncClient]:
    """A client for the requests of a login to the server at an address; `resolve` resolves hosts.

    Behind a proxy it is the proxy that resolves names, and only encryption is checked.
    """
    import httpx2

    from ua_tui.core.net.dialer import GuardedBackend, resolve_host

    resolve = resolve or resolve_host
    parts = urlsplit(address)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    options: dict[str, Any] = {}
    if not getproxies().keys() & {"http", "https", "all"} and await _is_public_host(host, port, resolve):
        import httpcore2

        transport = httpx2.AsyncHTTPTransport()
        # The class has no parameter for it.
        pool: Any = transport._pool
        # By their methods these are the same as those of httpcore.
        backend: Any = httpcore2.AnyIOBackend()
        pool._network_backend = GuardedBackend(frozenset({(host, port)}), resolve=resolve, backend=backend)
        options["transport"] = transport

    async def on_request(request: httpx2.Request) -> None:
        check_address(str(request.url))

    class Limited(httpx2.AsyncByteStream):
        """The bytes of an answer, up to a limit."""

        def __init__(self, stream: httpx2.AsyncByteStream, host: str) -> None:
            self._stream = stream
            self._host = host

        async def __aiter__(self) -> AsyncIterator[bytes]:
            length = 0
            async for piece in self._stream:
                length += len(piece)
                # Bytes of an answer as it is sent; what is compressed may become a thousand times as much.
                if length > (256 << 10):
                    raise FetchRefused(f"{clean_line(self._host, 100)} sends too much data for a login")
                yield piece

        async def aclose(self) -> None:
            await self._stream.aclose()

    async def on_response(response: httpx2.Response) -> None:
        stream: Any = response.stream
        response.stream = Limited(stream, response.url.host)

    hooks: Any = {"request": [on_request], "response": [on_response]}
    async with httpx2.AsyncClient(timeout=_SECONDS, event_hooks=hooks, **options) as client:
        yield client


async def _is_public_host(host: str, port: int, resolve: Resolver) -> bool:
    try:
        return all(map(is_public, await resolve(host, port)))
    except (OSError, UnicodeError):
        # The request itself reports it.
        return True
