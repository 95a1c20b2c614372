"""Opens connections to public addresses only, whatever name, number or redirect leads there."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import httpcore
import httpx

from ua_tui.core.errors import ConnectionFailed, FetchRefused
from ua_tui.core.net.addresses import Routes, is_public
from ua_tui.core.text import clean_line

Resolver = Callable[[str, int], Awaitable[list[str]]]
"""Resolves a host to IP addresses; raises OSError if there are none."""


async def resolve_host(host: str, port: int) -> list[str]:
    """Resolve a host with the system's resolver; each address once, in its order."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def guarded_transport(backend: GuardedBackend, limits: httpx.Limits) -> httpx.AsyncHTTPTransport:
    """A transport whose connections are all opened by `backend`."""
    transport = httpx.AsyncHTTPTransport(retries=0, trust_env=False, limits=limits)
    pool: Any = transport._pool
    pool._network_backend = backend
    return transport


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Opens connections to public addresses, allowed exceptions and routes only.

    `backend` opens the connection to a checked address.
    """

    def __init__(
        self,
        allow: frozenset[tuple[str, int]] = frozenset(),
        routes: Routes | None = None,
        resolve: Resolver = resolve_host,
        backend: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        self._backend = backend if backend is not None else httpcore.AnyIOBackend()
        self._allow = allow
        self._routes = routes if routes is not None else Routes()
        self._resolve = resolve

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address that answers, if all of them are public."""
        addresses, port = await self._checked(host, port)
        failure: Exception | None = None
        for address in addresses:
            try:
                return await self._backend.connect_tcp(
                    address,
                    port,
                    timeout=timeout,
                    local_address=local_address,
                    socket_options=socket_options,
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure or httpcore.ConnectError("no address")

    async def _checked(self, host: str, port: int) -> tuple[list[str], int]:
        if (place := self._routes.place_of(host)) is not None:
            return [place[0]], place[1]
        name = clean_line(host, 120)
        try:
            addresses = await self._resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise ConnectionFailed(
                f"the host {name} is unknown ({error}); check the address", code="unreachable"
            ) from error
        if (host.rstrip(".").lower(), port) not in self._allow:
            for address in addresses:
                if not is_public(address):
                    raise FetchRefused(
                        f"the host {name} is at {clean_line(address, 60)}, which is not a public address; "
                        "only pages of the public internet are fetched"
                    )
        return addresses, port
