"""The files of a session's remote sandbox, transferred through presigned URLs from Composio.

The credentials are read from a private file at every use, as the session may be replaced in the meantime. No address of
Composio is trusted: it must be https to a public host, whatever its name resolves to. Only if Composio itself is on
loopback, as in the demo, an address may be there, too.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

import httpx
import msgspec

from ua_tui.core.connections.base import MOUNT, RemoteSession
from ua_tui.core.connections.composio.sdk import advice_for
from ua_tui.core.errors import ConnectionFailed, FetchRefused, TooLarge
from ua_tui.core.events.codec import from_json
from ua_tui.core.json_values import JsonObject, value_in
from ua_tui.core.net.bodies import Inflater
from ua_tui.core.net.dialer import GuardedBackend, Resolver, guarded_transport, resolve_host
from ua_tui.core.net.retries import Retryable, retry_after, with_retries
from ua_tui.core.net.urls import is_loopback
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.telemetry.http import reporting_request
from ua_tui.core.text import clean_line

_RETRIED = {429, 500, 502, 503, 504}


class RemoteFiles(msgspec.Struct, eq=False):
    """Reads and writes files of the sandbox, by their paths below its mount.

    Args:
        session_file: the file with the credentials: a `RemoteSession` as JSON.
        redactor: learns the secrets to mask.
        resolve: finds the addresses of a host.
    """

    session_file: Path
    redactor: Redactor
    resolve: Resolver = resolve_host

    @asynccontextmanager
    async def download(self, path: str, limit: int) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a file for reading; iterating over its pieces raises the same errors.

        Raises:
            TooLarge: it has more than `limit` bytes.
            FetchRefused: its address is not allowed.
            ConnectionFailed: there is no such file, or the service fails.
        """
        session = self._session()
        address = await self._presigned(session, "download_url", {"mount_relative_path": path})
        async with self._storage(session, address) as client, _reporting("download"):
            headers = {"accept-encoding": "identity"}
            with reporting_request("GET", address) as set_status:
                async with client.stream("GET", address, headers=headers, follow_redirects=False) as response:
                    set_status(response.status_code)
                    _check_stored(response, "download")
                    declared = response.headers.get("content-length", "")
                    size = int(declared[:18]) if declared.isascii() and declared.isdecimal() else None
                    if size is not None and size > limit:
                        raise TooLarge(size)
                    yield _pieces(response, limit)

    async def upload(self, path: str, data: bytes, mimetype: str) -> None:
        """Write a file, replacing one of that name.

        Raises:
            FetchRefused: its address is not allowed.
            ConnectionFailed: the service fails.
        """
        session = self._session()
        body = {"mount_relative_path": path, "mimetype": mimetype}
        address = await self._presigned(session, "upload_url", body)
        async with self._storage(session, address) as client, _reporting("upload"):
            with reporting_request("PUT", address) as set_status:
                response = await client.put(
                    address, content=data, headers={"content-type": mimetype}, follow_redirects=False
                )
                set_status(response.status_code)
            _check_stored(response, "upload")

    def _session(self) -> RemoteSession:
        try:
            session = msgspec.json.decode(self.session_file.read_bytes(), type=RemoteSession)
        except (OSError, ValueError) as error:
            raise ConnectionFailed(advice_for("no_session")) from error
        for secret in session.headers.values():
            self.redactor.add(secret)
        return session

    async def _presigned(self, session: RemoteSession, name: str, body: dict[str, str]) -> str:
        async with httpx.AsyncClient(timeout=20.0) as client:
            answer = await with_retries(partial(self._request, client, session, name, body))
        address = answer.get(name)
        if not isinstance(address, str):
            raise ConnectionFailed(advice_for("not_composio", detail=" (without an address for the file)"))
        self.redactor.add(address)
        _check_address(address, session)
        return address

    async def _request(
        self, client: httpx.AsyncClient, session: RemoteSession, name: str, body: dict[str, str]
    ) -> JsonObject:
        address = f"{session.base_url}/api/v3.1/tool_router/session/{session.session_id}/mounts/files/{name}"
        data = bytearray()
        with reporting_request("POST", address) as set_status:
            try:
                async with client.stream("POST", address, json=body, headers=session.headers) as response:
                    async for piece in response.aiter_bytes(64 << 10):
                        data += piece
                        if len(data) > (256 << 10):
                            break
            except httpx.TimeoutException as error:
                raise Retryable(advice_for("timeout"), code="timeout") from error
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                reason = clean_line(self.redactor.redact(str(error)) or type(error).__name__, 160)
                raise ConnectionFailed(
                    advice_for("unreachable", detail=f" ({reason})"), code="unreachable"
                ) from error
            value, status = from_json(bytes(data)), response.status_code
            set_status(status)
            if not 200 <= status < 300:
                raise _failure(status, value, response.headers, body["mount_relative_path"])
            if not isinstance(value, dict):
                raise ConnectionFailed(advice_for("web_page"))
            return value

    @asynccontextmanager
    async def _storage(self, session: RemoteSession, address: str) -> AsyncIterator[httpx.AsyncClient]:
        url = httpx.URL(address)
        allowed = (
            frozenset({(url.host, url.port or 80)})
            if is_loopback(session.base_url)
            else frozenset[tuple[str, int]]()
        )
        transport = guarded_transport(
            GuardedBackend(allowed, resolve=self.resolve), httpx.Limits(max_connections=1)
        )
        async with httpx.AsyncClient(transport=transport, timeout=60.0, trust_env=False) as client:
            yield client


def _check_address(address: str, session: RemoteSession) -> None:
    try:
        url = httpx.URL(address)
        base = httpx.URL(session.base_url)
    except (httpx.InvalidURL, ValueError) as error:
        raise FetchRefused("the address that Composio gave for the file is not well-formed") from error
    if url.userinfo:
        raise FetchRefused("the address that Composio gave for the file contains a password")
    if is_loopback(session.base_url) and (url.scheme, url.host, url.port) == (
        base.scheme,
        base.host,
        base.port,
    ):
        return
    if url.scheme != "https" or url.port not in {None, 443} or not url.host:
        raise FetchRefused(
            "the address that Composio gave for the file is not allowed: it must be https to a public host"
        )


def _check_stored(response: httpx.Response, what: str) -> None:
    if 200 <= response.status_code < 300:
        return
    status = response.status_code
    advice = "its address may have expired; try again" if status in {401, 403} else "try again later"
    if response.is_redirect:
        advice = "redirects are not followed"
    raise ConnectionFailed(f"the {what} failed with HTTP {status}: {advice}", code=f"http_{status}")


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
async def _reporting(what: str) -> AsyncIterator[None]:
    try:
        yield
    except httpx.TimeoutException as error:
        raise ConnectionFailed(f"the {what} took too long: try again later", code="timeout") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        # The error may repeat the address, which is a secret.
        raise ConnectionFailed(
            f"the {what} was interrupted ({type(error).__name__}): try again", code="unreachable"
        ) from error


def _failure(status: int, value: Any, headers: Any, path: str) -> ConnectionFailed:
    message = clean_line(str(value_in(value, "error", "message") or ""), 160)
    code = f"http_{status}"
    if status in {401, 403}:
        return ConnectionFailed(advice_for("rejected_session"), code=code)
    if status == 404 and "session" in message.lower():
        return ConnectionFailed(advice_for("session_over"), code=code)
    if status == 404:
        return ConnectionFailed(advice_for("no_file", detail=f"{MOUNT}/{clean_line(path, 160)}"), code=code)
    problem: Literal["busy", "server_error"] = "busy" if status == 429 else "server_error"
    advice = advice_for(problem, detail=f" (HTTP {status}{f', {message}' if message else ''})")
    if status in _RETRIED:
        seconds = retry_after(headers)
        if seconds is None or seconds <= 8.0:
            return Retryable(advice, code=code, wait=seconds)
    return ConnectionFailed(advice, code=code)
