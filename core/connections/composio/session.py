"""Composio's tool router: one session per user, reached as an MCP server over HTTP or through this process."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from core.concurrency.threads import apart
from core.connections.base import Connection, Expiry, RemoteSession
from core.connections.composio.errors import WITHOUT, as_failure, failures, service
from core.connections.composio.native import Modifier, native_provider, native_server
from core.connections.composio.sdk import import_sdk, sdk_client, sdk_http
from core.errors import ConnectionFailed
from core.settings.model import Settings
from core.telemetry.http import Tell

__all__ = ["SERVER", "open_composio", "session_request", "try_composio"]

log = logging.getLogger(__name__)

SERVER = "composio"
_DEADLINE = 45.0
_TIMEOUT = 20.0
_ASK_TIMEOUT = 6.0
# A call of the remote workbench may work for minutes.
_CALL_TIMEOUT = 300.0

# What the service says of a session it does not know, and what the command line makes of an answer with a status:
# after 401 it looks for a way to sign in.
_OVER = re.compile(
    r"\bsession\b.{0,80}\b(?:not found|expired|does not exist)\b|\ADynamic Client Registration\b|\A401 |"
    r"Error POSTing to endpoint.{0,20}\bHTTP (?:401|404)\b|\"status\":\s*(?:401|404)\b",
    re.IGNORECASE | re.DOTALL,
)


async def open_composio(
    settings: Settings, modifiers: Sequence[Modifier] = (), tell: Tell | None = None
) -> Connection:
    """Open a tool-router session; without a key the connection is empty and says so.

    The SDK is imported in a thread, as it takes seconds. `modifiers` see calls and schemas in the mode `native`
    alone. `tell` is told of every request to the service that this program makes for the session.

    Raises:
        ConnectionFailed: the key was refused, or the service could not be reached or gave nonsense.
    """
    if not settings.composio_api_key:
        return Connection(
            note="Composio is off: set COMPOSIO_API_KEY to use its tools (mail, search, workbench)."
        )
    try:
        return await apart(partial(_open, settings, modifiers, tell), _DEADLINE)
    except TimeoutError as error:
        raise ConnectionFailed(
            f"{service(settings)} did not answer within {_DEADLINE:g} s: {WITHOUT}; check the network",
            code="timeout",
        ) from error


async def try_composio(settings: Settings, *, within: float) -> None:
    """Open a tool-router session with the key of the settings, once, and delete it again.

    The time the SDK takes to be imported does not count.

    Raises:
        ConnectionFailed: the key was refused, or the service could not be reached or gave nonsense within so many
            seconds.
    """
    await apart(import_sdk)
    try:
        # The end of the program waits for no thread of this kind, however slowly the service answers.
        await apart(partial(_try, settings, within), within)
    except TimeoutError as error:
        raise ConnectionFailed(f"Composio did not answer within {within:g} s", code="timeout") from error


def session_request(settings: Settings) -> dict[str, Any]:
    """What a session is asked for: whose it is, and which toolkits it has."""
    only, disabled = settings.composio_toolkits, settings.composio_disabled_toolkits
    request: dict[str, Any] = {"user_id": settings.composio_user_id or settings.user_id}
    # The service takes one or the other.
    if only:
        request["toolkits"] = {"enable": list(only)}
    elif disabled:
        request["toolkits"] = {"disable": list(disabled)}
    return request


def _open(settings: Settings, modifiers: Sequence[Modifier], tell: Tell | None) -> Connection:
    native = settings.composio_mode == "native"
    http = sdk_http(_CALL_TIMEOUT if native else _TIMEOUT, tell)
    try:
        more: dict[str, Any] = {"max_retries": 1}
        if native:
            import_sdk()
            more["provider"] = native_provider()
        session = _session(settings, http, **more)
        headers = {str(name): str(value) for name, value in dict(session.mcp.headers or {}).items()}
        server: dict[str, Any] = {"type": "http", "url": str(session.mcp.url), "headers": headers}
        if native:
            server = _native(settings, session, more["provider"], modifiers)
        return _connection(settings, session, server, headers, tell, http if native else None)
    except BaseException:
        http.close()
        raise
    finally:
        # Of the SDK only the session's address is wanted, unless it is to make the calls.
        if not native:
            http.close()


def _native(settings: Settings, session: Any, provider: Any, modifiers: Sequence[Modifier]) -> dict[str, Any]:
    try:
        return native_server(session, provider, modifiers)
    except failures() as error:
        raise as_failure(error, settings, WITHOUT) from None


def _connection(
    settings: Settings,
    session: Any,
    server: dict[str, Any],
    headers: dict[str, str],
    tell: Tell | None,
    http: Any,
) -> Connection:
    session_id, url = str(session.session_id), str(session.mcp.url)
    parts = urlsplit(url)

    async def is_connected(toolkit: str) -> bool:
        return await apart(partial(_is_connected, settings, session_id, tell, toolkit))

    async def is_over() -> bool:
        return await apart(partial(_is_over, settings, session_id, tell))

    return Connection(
        servers={SERVER: server},
        url=url,
        secrets=(settings.composio_api_key or "", *headers.values()),
        is_connected=is_connected,
        expiry=Expiry(told_by=lambda text: _OVER.search(text[:10_000]) is not None, is_over=is_over),
        # The SDK gives headers for its own origin alone, so this is where the session's files are, too.
        remote=RemoteSession(f"{parts.scheme}://{parts.netloc}", session_id, headers),
        close=None if http is None else http.close,
    )


def _try(settings: Settings, within: float) -> None:
    import_sdk()
    with sdk_http(within) as http:
        session = _session(settings, http, max_retries=0)
        try:
            session.delete()
        except failures() as error:
            log.info("the session that was opened to try Composio could not be deleted: %s", error)


def _is_connected(settings: Settings, session_id: str, tell: Tell | None, toolkit: str) -> bool:
    import_sdk()
    try:
        with sdk_http(_ASK_TIMEOUT, tell) as http:
            found = sdk_client(settings, http).use(session_id).toolkits(toolkits=[toolkit])
    except failures() as error:
        raise as_failure(error, settings) from None
    # A service that does not heed the filter gives every toolkit.
    states = [item.connection for item in found.items if item.slug.lower() == toolkit.lower()]
    return any(state is not None and state.is_active for state in states)


def _is_over(settings: Settings, session_id: str, tell: Tell | None) -> bool:
    import_sdk()
    try:
        with sdk_http(_ASK_TIMEOUT, tell) as http:
            sdk_client(settings, http).use(session_id)
    except failures() as error:
        failure = as_failure(error, settings)
        if failure.code in {"http_401", "http_403", "http_404", "http_410"}:
            return True
        raise failure from None
    return False


def _session(settings: Settings, http: Any, **more: Any) -> Any:
    import_sdk()
    try:
        return sdk_client(settings, http, **more).create(mcp=True, **session_request(settings))
    except failures() as error:
        raise as_failure(error, settings, WITHOUT) from None
