"""A session of Composio's tool router, reached as an MCP server over HTTP or through this process."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from ua_tui.core.concurrency.threads import apart
from ua_tui.core.connections.base import COMPOSIO, WITHOUT_TOOLS, Connection, Expiry, RemoteSession
from ua_tui.core.connections.composio.native import Modifier, native_provider, native_server
from ua_tui.core.connections.composio.process import SdkProcess
from ua_tui.core.connections.composio.sdk import (
    delete_session,
    import_sdk,
    late_failure,
    sdk_calls,
    sdk_client,
    sdk_http,
)
from ua_tui.core.errors import ConnectionFailed
from ua_tui.core.json_values import JsonObject
from ua_tui.core.settings.model import Settings
from ua_tui.core.telemetry.http import OnRequest

_Opened = tuple[str, str, dict[str, str]]
"""The id of a session, the address of its server, and the headers for it."""
_Ask = Callable[..., Any]
"""Runs a function below with the settings and the report of requests."""

_DEADLINE = 45.0
_ASK_TIMEOUT = 6.0

# The service's errors about an unknown session, and what the command line makes of a status: after 401 it tries to sign
# in.
_OVER = re.compile(
    r"\bsession\b.{0,80}\b(?:not found|expired|does not exist)\b|\ADynamic Client Registration\b|\A401 |"
    r"Error POSTing to endpoint.{0,20}\bHTTP (?:401|404)\b|\"status\":\s*(?:401|404)\b",
    re.IGNORECASE | re.DOTALL,
)


async def open_composio(
    settings: Settings,
    modifiers: Sequence[Modifier] = (),
    on_request: OnRequest | None = None,
) -> Connection:
    """Open a tool-router session; the settings have a key.

    The SDK takes seconds to import, and much memory: in the mode `mcp` it has a process of its own. `modifiers` see
    calls and schemas only in the mode `native`. `on_request` is called with every request that is made to the service.

    Raises:
        ConnectionFailed: the key was rejected, or the service could not be reached or gave an invalid answer.
    """
    try:
        try:
            if settings.composio_mode == "native":
                return await _open_native(settings, modifiers, on_request)
            process = SdkProcess(settings, on_request)
            try:
                opened = await apart(partial(process.call, _create_session), _DEADLINE)
            except BaseException:
                process.close()
                raise
            _, url, headers = opened
            return _connection(
                opened,
                {"type": "http", "url": url, "headers": headers},
                settings,
                process.call,
                process.close,
            )
        except TimeoutError:
            raise late_failure(settings, _DEADLINE) from None
    except ConnectionFailed as failure:
        advice = failure.advice._replace(remedy=f"{failure.advice.remedy}; {WITHOUT_TOOLS}")
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


async def _open_native(
    settings: Settings, modifiers: Sequence[Modifier], on_request: OnRequest | None
) -> Connection:
    """Open a session whose tools are called through this process, which has the SDK for that."""

    def work() -> Connection:
        with ExitStack() as stack, sdk_calls(settings):
            # A call of the remote workbench may run for minutes.
            http = stack.enter_context(sdk_http(300.0, on_request))
            provider = native_provider()
            session = _create(settings, http, max_retries=1, provider=provider)
            server = native_server(session, provider, modifiers)
            ask = _in_this_process(settings, on_request)
            return _connection(_described(session), server, settings, ask, stack.pop_all().close)

    return await apart(work, _DEADLINE)


def _in_this_process(settings: Settings, on_request: OnRequest | None) -> _Ask:
    return lambda function, *args: function(settings, on_request, *args)


def _connection(
    opened: _Opened, server: JsonObject, settings: Settings, ask: _Ask, close: Callable[[], None]
) -> Connection:
    session_id, url, headers = opened
    parts = urlsplit(url)

    async def is_connected(toolkit: str) -> bool:
        return bool(await apart(partial(ask, _is_connected, session_id, toolkit)))

    async def is_over() -> bool:
        return bool(await apart(partial(ask, _is_over, session_id)))

    return Connection(
        servers={COMPOSIO: server},
        url=url,
        secrets=(settings.composio_api_key or "", *headers.values()),
        is_connected=is_connected,
        expiry=Expiry(matches=lambda text: _OVER.search(text[:10_000]) is not None, is_over=is_over),
        # The headers are for this origin, so the session's files are there, too.
        remote=RemoteSession(f"{parts.scheme}://{parts.netloc}", session_id, headers),
        close=close,
    )


def _create_session(settings: Settings, on_request: OnRequest | None) -> _Opened:
    with sdk_calls(settings), sdk_http(20.0, on_request) as http:
        return _described(_create(settings, http, max_retries=1))


def _described(session: Any) -> _Opened:
    headers = {str(name): str(value) for name, value in dict(session.mcp.headers or {}).items()}
    return str(session.session_id), str(session.mcp.url), headers


def _try(settings: Settings, within: float) -> None:
    with sdk_calls(settings), sdk_http(within) as http:
        delete_session(_create(settings, http, max_retries=0))


def _is_connected(settings: Settings, on_request: OnRequest | None, session_id: str, toolkit: str) -> bool:
    with sdk_calls(settings), sdk_http(_ASK_TIMEOUT, on_request) as http:
        found = sdk_client(settings, http).use(session_id).toolkits(toolkits=[toolkit])
    # A service that ignores the filter returns every toolkit.
    states = [item.connection for item in found.items if item.slug.lower() == toolkit.lower()]
    return any(state is not None and state.is_active for state in states)


def _is_over(settings: Settings, on_request: OnRequest | None, session_id: str) -> bool:
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
    request: JsonObject = {"user_id": settings.composio_user_id or settings.user_id}
    # The service accepts one or the other.
    if only:
        request["toolkits"] = {"enable": list(only)}
    elif disabled:
        request["toolkits"] = {"disable": list(disabled)}
    return sdk_client(settings, http, **options).create(mcp=True, **request)
