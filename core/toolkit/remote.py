"""The files of a session's remote sandbox: asked for by name, and moved by the addresses that Composio signs.

What signs in is read from a private file at every use, as the session behind it may be replaced meanwhile. No
address that Composio gives is trusted: it is https to a public place, whatever its name resolves to; only where
Composio itself is on loopback, as in the demo, it may be there as well.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import stamina

from core.connections.mount import PREFIX, TooLarge
from core.errors import ConnectionFailed, FetchRefused
from core.net.bodies import Inflater
from core.net.dialer import GuardedBackend, Resolver, resolve_host
from core.redaction.redactor import Redactor
from core.text import clean_line
from core.toolkit.tracing import asking

__all__ = ["RemoteFiles"]

_AGAIN = "connect composio again, with /connections and r"
_ASK_TIMEOUT = 20.0
_MOVE_TIMEOUT = 60.0
_ATTEMPTS = 3
_LONGEST_WAIT = 8.0
_LONGEST_ANSWER = 256 << 10
_TRY_AGAIN = {429, 500, 502, 503, 504}


class _TryAgain(ConnectionFailed):
    def __init__(self, message: str, *, code: str, wait: float | None = None) -> None:
        super().__init__(message, code=code)
        self.wait = wait


@dataclass(frozen=True)
class _Session:
    base_url: str
    session_id: str
    headers: dict[str, str]

    def endpoint(self, name: str) -> str:
        return f"{self.base_url}/api/v3.1/tool_router/session/{self.session_id}/mounts/files/{name}"

    @property
    def is_here(self) -> bool:
        return _is_loopback(httpx.URL(self.base_url).host)


class RemoteFiles:
    """Asks for and moves files of the sandbox; paths are those below its mount.

    Args:
        handed_over: the file that says how one signs in: JSON of base_url, session_id and headers.
        redactor: is told of what must be masked.
        resolve: finds the addresses of a host.
    """

    def __init__(self, handed_over: Path, redactor: Redactor, resolve: Resolver = resolve_host) -> None:
        self._handed_over = handed_over
        self._redactor = redactor
        self._resolve = resolve

    @asynccontextmanager
    async def download(self, path: str, limit: int) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a file for reading: its pieces, which raise as well.

        Raises:
            TooLarge: it has more than `limit` bytes.
            FetchRefused: it is at an address that is not used.
            ConnectionFailed: there is no such file, or the service fails.
        """
        session = self._session()
        address = await self._presigned(session, "download_url", {"mount_relative_path": path})
        async with self._storage(session, address) as client, _reported("download"):
            headers = {"accept-encoding": "identity"}
            async with client.stream("GET", address, headers=headers, follow_redirects=False) as response:
                _check_stored(response, "download")
                declared = response.headers.get("content-length", "")
                size = int(declared[:18]) if declared.isascii() and declared.isdecimal() else None
                if size is not None and size > limit:
                    raise TooLarge(size)
                yield _pieces(response, limit)

    async def upload(self, path: str, data: bytes, mimetype: str) -> None:
        """Write a file, replacing one of that name.

        Raises:
            FetchRefused: it would go to an address that is not used.
            ConnectionFailed: the service fails.
        """
        session = self._session()
        asked = {"mount_relative_path": path, "mimetype": mimetype}
        address = await self._presigned(session, "upload_url", asked)
        async with self._storage(session, address) as client, _reported("upload"):
            response = await client.put(
                address, content=data, headers={"content-type": mimetype}, follow_redirects=False
            )
            _check_stored(response, "upload")

    def _session(self) -> _Session:
        try:
            value = json.loads(self._handed_over.read_text(encoding="utf-8"))
            session = _Session(
                str(value["base_url"]).rstrip("/"),
                str(value["session_id"]),
                {str(name): str(each) for name, each in dict(value["headers"]).items()},
            )
        except FileNotFoundError as error:
            raise ConnectionFailed(
                f"Composio is not connected, so there is no remote sandbox: {_AGAIN}"
            ) from error
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConnectionFailed(f"how one signs in at Composio cannot be read: {_AGAIN}") from error
        for secret in session.headers.values():
            self._redactor.add(secret)
        return session

    async def _presigned(self, session: _Session, name: str, body: dict[str, str]) -> str:
        answer = await self._ask(session, name, body)
        address = answer.get(name)
        if not isinstance(address, str):
            raise ConnectionFailed("Composio gave an answer without an address for the file: try again later")
        self._redactor.add(address)
        _check_address(address, session)
        return address

    async def _ask(self, session: _Session, name: str, body: dict[str, str]) -> dict[str, Any]:
        def again(error: Exception) -> bool | float:
            if not isinstance(error, _TryAgain):
                return False
            return True if error.wait is None else error.wait

        attempts = stamina.retry_context(
            on=again, attempts=_ATTEMPTS, timeout=None, wait_initial=0.3, wait_max=3.0, wait_jitter=0.3
        )
        # A proxy of the environment is for the network outside.
        async with httpx.AsyncClient(timeout=_ASK_TIMEOUT, trust_env=not session.is_here) as client:
            async for attempt in attempts:
                with attempt, asking("POST", name, session.base_url):
                    return await self._ask_once(client, session, name, body)
        raise AssertionError("a retry loop ends by returning or raising")

    async def _ask_once(
        self, client: httpx.AsyncClient, session: _Session, name: str, body: dict[str, str]
    ) -> dict[str, Any]:
        data = bytearray()
        try:
            async with client.stream(
                "POST", session.endpoint(name), json=body, headers=session.headers
            ) as response:
                async for piece in response.aiter_bytes(64 << 10):
                    data += piece
                    if len(data) > _LONGEST_ANSWER:
                        break
        except httpx.TimeoutException as error:
            raise _TryAgain("Composio did not answer in time: try again later", code="timeout") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = clean_line(self._redactor.redact(str(error)) or type(error).__name__, 160)
            raise ConnectionFailed(
                f"Composio could not be reached ({reason}): check the network", code="unreachable"
            ) from error
        value = _object(bytes(data))
        status = response.status_code
        if 200 <= status < 300:
            if value is None:
                raise ConnectionFailed(
                    "Composio answered with a web page instead of JSON: check COMPOSIO_BASE_URL"
                )
            return value
        raise _refusal(status, value, response.headers, body["mount_relative_path"])

    @asynccontextmanager
    async def _storage(self, session: _Session, address: str) -> AsyncIterator[httpx.AsyncClient]:
        url = httpx.URL(address)
        allowed = frozenset({(url.host, url.port or 80)}) if session.is_here else frozenset[tuple[str, int]]()
        transport = httpx.AsyncHTTPTransport(retries=0, trust_env=False)
        # The one place where the connection is opened, whatever the name resolves to.
        pool: Any = transport._pool
        pool._network_backend = GuardedBackend(allowed, resolve=self._resolve)
        async with httpx.AsyncClient(transport=transport, timeout=_MOVE_TIMEOUT, trust_env=False) as client:
            yield client


def _check_address(address: str, session: _Session) -> None:
    try:
        url = httpx.URL(address)
        base = httpx.URL(session.base_url)
    except (httpx.InvalidURL, ValueError) as error:
        raise FetchRefused("the address that Composio gave for the file is not well-formed") from error
    if url.userinfo:
        raise FetchRefused("the address that Composio gave for the file holds a password, so it is not used")
    if session.is_here and (url.scheme, url.host, url.port) == (base.scheme, base.host, base.port):
        return
    if url.scheme != "https" or url.port not in {None, 443} or not url.host:
        raise FetchRefused(
            "the address that Composio gave for the file is not used: only https to a public place is"
        )


def _check_stored(response: httpx.Response, what: str) -> None:
    if 200 <= response.status_code < 300:
        return
    status = response.status_code
    advice = "the address may be over: try again" if status in {401, 403} else "try again later"
    if response.is_redirect:
        advice = "it leads on to another place, which is not followed"
    raise ConnectionFailed(f"the {what} was answered with {status}: {advice}", code=f"http_{status}")


async def _pieces(response: httpx.Response, limit: int) -> AsyncIterator[bytes]:
    inflater = Inflater(response.headers.get("content-encoding", ""), max(limit, 1))
    try:
        async for piece in response.aiter_raw(64 << 10):
            yield inflater.feed(piece)
        inflater.finish()
    except FetchRefused as error:
        if error.code == "too_large":
            raise TooLarge(None) from error
        raise


@asynccontextmanager
async def _reported(what: str) -> AsyncIterator[None]:
    try:
        yield
    except httpx.TimeoutException as error:
        raise ConnectionFailed(f"the {what} took too long: try again later", code="timeout") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        # The error may repeat the address, which is as good as a key.
        raise ConnectionFailed(
            f"the {what} broke off ({type(error).__name__}): try again", code="unreachable"
        ) from error


def _refusal(status: int, value: dict[str, Any] | None, headers: Any, path: str) -> ConnectionFailed:
    told = value.get("error") if value is not None else None
    said = clean_line(str(told.get("message") or ""), 160) if isinstance(told, dict) else ""
    code = f"http_{status}"
    if status in {401, 403}:
        return ConnectionFailed(
            f"Composio refused the key: set a valid COMPOSIO_API_KEY, then {_AGAIN}", code=code
        )
    if status == 404 and "session" in said.lower():
        return ConnectionFailed(
            f"the session at Composio is over, and its sandbox with it: {_AGAIN}", code=code
        )
    if status == 404:
        shown = clean_line(path, 160)
        return ConnectionFailed(
            f"there is no file {PREFIX}/{shown} in the remote sandbox: write it there first, or check the name",
            code=code,
        )
    message = f"Composio answered {status}{f' ({said})' if said else ''}: try again later"
    if status in _TRY_AGAIN:
        wait = headers.get("retry-after", "").strip()
        seconds = float(wait[:9]) if wait.isascii() and wait.isdecimal() else None
        if seconds is None or seconds <= _LONGEST_WAIT:
            return _TryAgain(message, code=code, wait=seconds)
    return ConnectionFailed(message, code=code)


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
