"""Composio's tool router: one session per user, reached as an MCP server over HTTP."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from typing import Any

from core.background import in_loop
from core.connections.base import Connection
from core.connections.composio_sdk import import_sdk, sdk_client
from core.errors import ConnectionFailed
from core.secret_values import secrets
from core.settings import Settings
from core.text import Redactor, clean

__all__ = ["SERVER", "open_composio", "try_composio"]

log = logging.getLogger(__name__)

SERVER = "composio"
_DEADLINE = 45.0
_TIMEOUT = 20.0
_ASK_TIMEOUT = 6.0

# The session has its own crawler, whose articles it keeps.
_DISABLED_TOOLKITS = ["firecrawl", "exa"]


async def open_composio(settings: Settings) -> Connection:
    """Open a tool-router session; without a key the connection is empty and says so.

    The SDK is imported in a thread, as it takes seconds.

    Raises:
        ConnectionFailed: the key was refused, or the service could not be reached or gave nonsense.
    """
    if not settings.composio_api_key:
        return Connection(
            note="Composio is off: set COMPOSIO_API_KEY to use its tools (mail, search, workbench)."
        )
    try:
        session = await asyncio.wait_for(asyncio.to_thread(_create, settings), _DEADLINE)
    except TimeoutError as error:
        raise ConnectionFailed(
            f"Composio did not answer within {_DEADLINE:g} s: the session goes on without its tools; check the network",
            code="timeout",
        ) from error
    headers = {str(name): str(value) for name, value in dict(session.mcp.headers or {}).items()}
    url = str(session.mcp.url)
    server: dict[str, Any] = {"type": "http", "url": url, "headers": headers}
    session_id = str(session.session_id)

    async def is_connected(toolkit: str) -> bool:
        return await asyncio.to_thread(_is_connected, settings, session_id, toolkit)

    return Connection(
        servers={SERVER: server},
        url=url,
        secrets=(settings.composio_api_key, *headers.values()),
        is_connected=is_connected,
    )


async def try_composio(settings: Settings, *, within: float) -> None:
    """Open a tool-router session with the key of the settings, once, and delete it again.

    The time the SDK takes to be imported does not count.

    Raises:
        ConnectionFailed: the key was refused, or the service could not be reached or gave nonsense within so many
            seconds.
    """
    await asyncio.to_thread(import_sdk)
    answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def settle(error: Exception | None) -> None:
        if answer.done():
            return
        if error is None:
            answer.set_result(None)
        else:
            answer.set_exception(error)

    told = in_loop(settle)

    def work() -> None:
        try:
            _try(settings, within)
        except Exception as error:
            told(error)
        else:
            told(None)

    # The end of the program waits for no thread of this kind, however slowly the service answers.
    threading.Thread(target=work, name="composio", daemon=True).start()
    try:
        async with asyncio.timeout(within):
            await answer
    except TimeoutError as error:
        raise ConnectionFailed(f"Composio did not answer within {within:g} s", code="timeout") from error


def _try(settings: Settings, within: float) -> None:
    import_sdk()
    import httpx
    from composio.exceptions import ComposioError
    from composio_client import APIError

    with httpx.Client(timeout=within) as http:
        session = _session(settings, http, max_retries=0)
        try:
            session.delete()
        except (ComposioError, APIError, ValueError, OSError) as error:
            log.info("the session that was opened to try Composio could not be deleted: %s", error)


def _is_connected(settings: Settings, session_id: str, toolkit: str) -> bool:
    import_sdk()
    import httpx
    from composio.exceptions import ComposioError
    from composio_client import APIError

    try:
        with httpx.Client(timeout=_ASK_TIMEOUT) as http:
            found = sdk_client(settings, http).use(session_id).toolkits(toolkits=[toolkit])
    except (ComposioError, APIError, ValueError, OSError) as error:
        raise ConnectionFailed(f"Composio could not be asked ({clean(str(error))[:200]})") from error
    # A service that does not heed the filter gives every toolkit.
    states = [item.connection for item in found.items if item.slug.lower() == toolkit.lower()]
    return any(state is not None and state.is_active for state in states)


def _create(settings: Settings) -> Any:
    import httpx

    # Only the session's address is wanted of the SDK: its connections are closed once it has given that.
    with httpx.Client(timeout=_TIMEOUT) as http:
        return _session(settings, http)


def _session(settings: Settings, http: Any, **more: Any) -> Any:
    import_sdk()
    from composio.exceptions import ComposioError
    from composio_client import APIError, APIStatusError, APITimeoutError, AuthenticationError

    try:
        return sdk_client(settings, http, **more).create(
            user_id=settings.composio_user_id or settings.user_id,
            toolkits={"disable": _DISABLED_TOOLKITS},
            mcp=True,
        )
    except AuthenticationError as error:
        raise ConnectionFailed(
            "Composio refused the key: the session goes on without its tools; set a valid COMPOSIO_API_KEY",
            code="http_401",
        ) from error
    except (ComposioError, APIError, ValueError, OSError, AttributeError, TypeError, KeyError) as error:
        # The SDK does not look at the shape of an answer before it uses it.
        code = "timeout" if isinstance(error, APITimeoutError) else "unreachable"
        raise ConnectionFailed(
            f"Composio could not be reached ({_told(error, settings)}): the session goes on without its tools",
            code=f"http_{error.status_code}" if isinstance(error, APIStatusError) else code,
        ) from error


def _told(error: Exception, settings: Settings) -> str:
    # Masked before it is cut: of a secret that is cut in two nothing would be recognised.
    redactor = Redactor(secrets(settings, os.environ))
    return redactor.redact(clean(str(error)[:10_000]))[:200]
