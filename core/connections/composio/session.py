"""A session of Composio's tool router, reached as an MCP server over HTTP or through this process."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from core.concurrency.threads import apart
from core.connections.base import WITHOUT_TOOLS, Connection, Expiry, RemoteSession
from core.connections.composio.errors import advice_for, late_failure
from core.connections.composio.native import Modifier, native_provider, native_server
from core.connections.composio.sdk import delete_session, import_sdk, sdk_calls, sdk_client, sdk_http
from core.errors import Advice, ConnectionFailed
from core.settings.model import Settings
from core.telemetry.http import OnRequest

__all__ = ["SERVER", "open_composio", "try_composio"]

SERVER = "composio"
_DEADLINE = 45.0
_TIMEOUT = 20.0
_ASK_TIMEOUT = 6.0
# A call of the remote workbench may run for minutes.
_CALL_TIMEOUT = 300.0

# The service's errors about an unknown session, and what the command line makes of a status: after 401 it tries to sign
# in.
_OVER = re.compile(
    r"\bsession\b.{0,80}\b(?:not found|expired|does not exist)\b|\ADynamic Client Registration\b|\A401 |"
    r"Error POSTing to endpoint.{0,20}\bHTTP (?:401|404)\b|\"status\":\s*(?:401|404)\b",
    re.IGNORECASE | re.DOTALL,
)


async def open_composio(
    settings: Settings, modifiers: Sequence[Modifier] = (), on_request: OnRequest | None = None
) -> Connection:
    """Open a tool-router session; without a key the connection is empty and its note says so.

    The SDK is imported in a thread, as it takes seconds. `modifiers` see calls and schemas only in the mode `native`.
    `on_request` is called with every request that this program makes to the service.

    Raises:
        ConnectionFailed: the key was rejected, or the service could not be reached or gave an invalid answer.
    """
    if not settings.composio_api_key:
        return Connection(note=advice_for("no_key", settings).sentence)
    try:
        try:
            return await apart(partial(_open, settings, modifiers, on_request), _DEADLINE)
        except TimeoutError:
            raise late_failure(settings, _DEADLINE) from None
    except ConnectionFailed as failure:
        advice = Advice(failure.advice.problem, f"{failure.advice.remedy}; {WITHOUT_TOOLS}")
        raise ConnectionFailed(advice, code=failure.code) from None


async def try_composio(settings: Settings, *, within: float) -> None:
    """Open a tool-router session with the key of the settings and delete it again.

    The time for the import of the SDK does not count.

    Raises:
        ConnectionFailed: the key was rejected, or the service gave no valid answer within so many seconds.
    """
    await apart(import_sdk)
    try:
        # The program does not wait for such a thread when it ends.
        await apart(partial(_try, settings, within), within)
    except TimeoutError:
        raise late_failure(settings, within) from None


def _open(settings: Settings, modifiers: Sequence[Modifier], on_request: OnRequest | None) -> Connection:
    native = settings.composio_mode == "native"
    with ExitStack() as stack, sdk_calls(settings):
        http = stack.enter_context(sdk_http(_CALL_TIMEOUT if native else _TIMEOUT, on_request))
        provider = {"provider": native_provider()} if native else {}
        session = _create(settings, http, max_retries=1, **provider)
        session_id, url = str(session.session_id), str(session.mcp.url)
        headers = {str(name): str(value) for name, value in dict(session.mcp.headers or {}).items()}
        server: dict[str, Any] = {"type": "http", "url": url, "headers": headers}
        if native:
            server = native_server(session, provider["provider"], modifiers)
        parts = urlsplit(url)

        async def is_connected(toolkit: str) -> bool:
            return await apart(partial(_is_connected, settings, session_id, on_request, toolkit))

        async def is_over() -> bool:
            return await apart(partial(_is_over, settings, session_id, on_request))

        return Connection(
            servers={SERVER: server},
            url=url,
            secrets=(settings.composio_api_key or "", *headers.values()),
            is_connected=is_connected,
            expiry=Expiry(matches=lambda text: _OVER.search(text[:10_000]) is not None, is_over=is_over),
            # The headers are for this origin, so the session's files are there, too.
            remote=RemoteSession(f"{parts.scheme}://{parts.netloc}", session_id, headers),
            # In the mode `mcp` only the session's address is needed; the agent makes the calls.
            close=stack.pop_all().close if native else None,
        )


def _try(settings: Settings, within: float) -> None:
    with sdk_calls(settings), sdk_http(within) as http:
        delete_session(_create(settings, http, max_retries=0))


def _is_connected(settings: Settings, session_id: str, on_request: OnRequest | None, toolkit: str) -> bool:
    with sdk_calls(settings), sdk_http(_ASK_TIMEOUT, on_request) as http:
        found = sdk_client(settings, http).use(session_id).toolkits(toolkits=[toolkit])
    # A service that ignores the filter returns every toolkit.
    states = [item.connection for item in found.items if item.slug.lower() == toolkit.lower()]
    return any(state is not None and state.is_active for state in states)


def _is_over(settings: Settings, session_id: str, on_request: OnRequest | None) -> bool:
    try:
        with sdk_calls(settings), sdk_http(_ASK_TIMEOUT, on_request) as http:
            sdk_client(settings, http).use(session_id)
    except ConnectionFailed as failure:
        if failure.code in {"http_401", "http_403", "http_404", "http_410"}:
            return True
        raise
    return False


def _create(settings: Settings, http: Any, **options: Any) -> Any:
    """Create a session for the user, with the toolkits of the settings."""
    only, disabled = settings.composio_toolkits, settings.composio_disabled_toolkits
    request: dict[str, Any] = {"user_id": settings.composio_user_id or settings.user_id}
    # The service accepts one or the other.
    if only:
        request["toolkits"] = {"enable": list(only)}
    elif disabled:
        request["toolkits"] = {"disable": list(disabled)}
    return sdk_client(settings, http, **options).create(mcp=True, **request)
