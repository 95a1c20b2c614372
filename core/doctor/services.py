"""Whether the services beside the model take their keys: Composio and Logfire, each asked once."""

from __future__ import annotations

import asyncio
import json
import re
from importlib import import_module

from core.connections.composio.errors import ComposioFailed, service
from core.connections.composio.session import try_composio
from core.doctor.check import Finding, failed, ok, skipped, warning
from core.errors import ConnectionFailed
from core.provider.probe import shown_server
from core.redaction.redactor import Redactor
from core.settings.model import Settings
from core.text import clean_line

__all__ = ["ask_composio", "ask_logfire"]

_WITHOUT = "a session goes on without its tools"
_LOCAL = "spans.jsonl in the session's folder is kept all the same"
_INFO_PATH = "/v1/info"
_MOST_BYTES = 64 << 10
_REGION = re.compile(r"pylf_v\d+_(us|eu)_")


async def ask_composio(settings: Settings, *, within: float) -> Finding:
    """Open a session at Composio as the program does, and delete it again."""
    if not settings.composio_api_key:
        return skipped(
            "there is no COMPOSIO_API_KEY", "with one there are mail, web search and a remote workbench"
        )
    where = service(settings)
    try:
        await try_composio(settings, within=within)
    except ConnectionFailed as error:
        match error.code:
            case "timeout":
                return failed(f"{where} did not answer within {within:g} s", f"check the network; {_WITHOUT}")
            case "http_429":
                return warning(f"{where} takes no more requests for now", "try again in a while")
            case _ if isinstance(error, ComposioFailed):
                return failed(error.what, f"{error.remedy}; {_WITHOUT}")
            case _:
                return failed(str(error), _WITHOUT)
    return ok(f"{where} takes the key")


async def ask_logfire(
    settings: Settings, *, address: str | None, within: float, elsewhere: bool = False
) -> Finding:
    """Ask Logfire which project the write token is for, as its own library does.

    `address` is its server, if set; `elsewhere` says that spans are sent to a collector.
    """
    token = settings.logfire_token
    if not token:
        return skipped("there is no LOGFIRE_TOKEN", _LOCAL if elsewhere else f"nothing is sent; {_LOCAL}")
    region = found[1] if (found := _REGION.match(token)) else "us"
    base = (address or f"https://logfire-{region}.pydantic.dev").rstrip("/")
    where = shown_server(base)
    httpx = await asyncio.to_thread(import_module, "httpx")
    data = bytearray()
    try:
        async with (
            asyncio.timeout(within),
            httpx.AsyncClient(timeout=within) as client,
            client.stream("GET", base + _INFO_PATH, headers={"authorization": token}) as response,
        ):
            async for piece in response.aiter_bytes():
                data += piece
                if len(data) > _MOST_BYTES:
                    break
    except (TimeoutError, httpx.TimeoutException):
        return failed(f"{where} did not answer within {within:g} s", f"check the network; {_LOCAL}")
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError, UnicodeError):
        # The errors themselves repeat what could not be sent.
        return failed(
            f"the token or the address cannot be sent to {where}: it holds a character that no request may have",
            f"copy LOGFIRE_TOKEN again, and LOGFIRE_BASE_URL if it is set; {_LOCAL}",
        )
    except (httpx.HTTPError, ValueError) as error:
        why = _said(error, token, 120) or type(error).__name__
        return failed(f"{where} could not be reached: {why}", f"check the network; {_LOCAL}")
    match response.status_code:
        case 200 if project := _project(bytes(data)):
            return ok(f"traces go to the project {project}")
        case 401 | 403:
            return failed(
                f"{where} refused the token", f"set a valid LOGFIRE_TOKEN, one for writing; {_LOCAL}"
            )
        case 200:
            return failed(f"{where} answered, but not as Logfire does", f"check LOGFIRE_BASE_URL; {_LOCAL}")
        case status:
            return failed(f"{where} answered {status}", f"try again in a while; {_LOCAL}")


def _said(error: BaseException, secret: str, limit: int) -> str:
    # Masked before it is cut: nobody would find half a secret afterwards.
    return clean_line(Redactor({secret}).redact(str(error)), limit)


def _project(data: bytes) -> str:
    try:
        told = json.loads(data)
    except (ValueError, RecursionError):
        return ""
    name = told.get("project_name") if isinstance(told, dict) else None
    return clean_line(name, 80) if isinstance(name, str) else ""
