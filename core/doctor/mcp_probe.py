"""A server as the agent would meet it, asked for its tools by a client of the same protocol."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AsyncExitStack
from importlib import import_module
from typing import IO, Any

from core.doctor.check import Finding, failed, ok
from core.doctor.overheard import Overheard
from core.redaction.redactor import Redactor
from core.text import clean_line

__all__ = ["ask_server"]

_WITHIN, _WITHIN_OF_WORDS = 27.0, 10.0
"""Seconds that a server may take, and from the moment on that it prints what is none of the protocol."""


async def ask_server(
    server: Mapping[str, Any], *, remedy: str, folder: str | None = None, secrets: Iterable[str] = ()
) -> Finding:
    """Start or reach a server, configured as the agent takes it, and list its tools; `remedy` is what to do if not.

    What it says of its failure may repeat how it was started: `secrets` are masked in it.

    Raises:
        TimeoutError: it took longer than whoever waits had patience for.
    """
    mcp = await asyncio.to_thread(import_module, "mcp")
    masked = Redactor(secrets).redact
    with tempfile.TemporaryFile() as errors:
        patience = asyncio.timeout(_WITHIN)
        heard = Overheard(lambda: patience.reschedule(asyncio.get_running_loop().time() + _WITHIN_OF_WORDS))
        try:
            async with patience, AsyncExitStack() as stack:
                transport = await _transport(mcp, server, folder, errors, heard, stack)
                client = await stack.enter_async_context(mcp.Client(transport))
                tools = (await client.list_tools()).tools
        except TimeoutError:
            if not patience.expired():
                raise
            why = _why(heard) or f"it did not answer within {_WITHIN:g} s, as an MCP server does"
            return failed(clean_line(masked(why), 300), remedy)
        except OSError as error:
            return failed(f"it cannot be started: {error.strerror or error}", remedy)
        except Exception as error:
            why = _why(heard) or f"it does not answer: {_last_line(errors) or _reason(error)}"
            return failed(clean_line(masked(why), 300), remedy)
    if not tools:
        return failed("it has no tools", remedy)
    return ok(f"{len(tools)} tools: {', '.join(clean_line(tool.name, 40) for tool in tools)}")


async def _transport(
    mcp: Any,
    server: Mapping[str, Any],
    folder: str | None,
    errors: IO[bytes],
    heard: Overheard,
    stack: AsyncExitStack,
) -> Any:
    if server["type"] == "stdio":
        stdio = await asyncio.to_thread(import_module, "mcp.client.stdio")
        parameters = mcp.StdioServerParameters(
            command=server["command"], args=server["args"], env=server["env"], cwd=folder
        )
        return heard.of(stdio.stdio_client(parameters, errlog=errors))
    httpx2 = await asyncio.to_thread(import_module, "httpx2")

    def client(headers: Any = None, timeout: Any = None, auth: Any = None) -> Any:
        given = {} if timeout is None else {"timeout": timeout}
        return httpx2.AsyncClient(headers=headers, auth=auth, event_hooks={"response": [heard.look]}, **given)

    if server["type"] == "sse":
        sse = await asyncio.to_thread(import_module, "mcp.client.sse")
        return sse.sse_client(server["url"], headers=dict(server["headers"]), httpx_client_factory=client)
    http = await asyncio.to_thread(import_module, "mcp.client.streamable_http")
    used = await stack.enter_async_context(client(dict(server["headers"])))
    return http.streamable_http_client(server["url"], http_client=used)


def _why(heard: Overheard) -> str:
    """What is wrong with a server by what it said that is none of the protocol; empty when it said nothing such."""
    if heard.status:
        why = ": it refuses the key" if heard.status in (401, 403) else ""
        return f"it answered with HTTP {heard.status}{why}"
    if heard.is_page:
        return "it answers with a web page, so it is no MCP server"
    if heard.words is not None and not heard.spoke:
        return f"it does not speak MCP: it printed {clean_line(heard.words, 120)!r}"
    return ""


def _last_line(errors: IO[bytes]) -> str:
    errors.seek(0, 2)
    errors.seek(max(0, errors.tell() - 4096))
    lines = errors.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else ""


def _reason(error: BaseException) -> str:
    reasons = "; ".join(dict.fromkeys(_reasons(error)))
    if "connection attempts failed" in reasons:
        return "nobody takes a connection at its address"
    if reasons == "Connection closed":
        return "it ended without a word"
    return reasons


def _reasons(error: BaseException) -> Iterator[str]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _reasons(each)
    else:
        yield str(error) or type(error).__name__
