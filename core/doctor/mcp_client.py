"""A server as the agent would meet it, asked for its tools by a client of the same protocol."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AsyncExitStack
from importlib import import_module
from typing import IO, Any

from core.doctor.check import Finding, failed, ok
from core.text import Redactor, clean_line

__all__ = ["ask_server"]


async def ask_server(
    server: Mapping[str, Any], *, remedy: str, folder: str | None = None, secrets: Iterable[str] = ()
) -> Finding:
    """Start or reach a server, configured as the agent takes it, and list its tools; `remedy` is what to do if not.

    What it says of its failure may repeat how it was started: `secrets` are masked in it.

    Raises:
        TimeoutError: it took longer than whoever waits had patience for.
    """
    mcp = await asyncio.to_thread(import_module, "mcp")
    refusals: list[int] = []
    with tempfile.TemporaryFile() as errors:
        try:
            async with AsyncExitStack() as stack:
                transport = await _transport(mcp, server, folder, errors, refusals, stack)
                client = await stack.enter_async_context(mcp.Client(transport))
                tools = (await client.list_tools()).tools
        except TimeoutError:
            raise
        except OSError as error:
            return failed(f"it cannot be started: {error.strerror or error}", remedy)
        except Exception as error:
            if refusals:
                return failed(_refused(refusals[0]), remedy)
            why = _last_line(errors) or "; ".join(dict.fromkeys(_reasons(error)))
            return failed(f"it does not answer: {clean_line(Redactor(secrets).redact(why), 200)}", remedy)
    if not tools:
        return failed("it has no tools", remedy)
    return ok(f"{len(tools)} tools: {', '.join(clean_line(tool.name, 40) for tool in tools)}")


async def _transport(
    mcp: Any,
    server: Mapping[str, Any],
    folder: str | None,
    errors: IO[bytes],
    refusals: list[int],
    stack: AsyncExitStack,
) -> Any:
    if server["type"] == "stdio":
        stdio = await asyncio.to_thread(import_module, "mcp.client.stdio")
        parameters = mcp.StdioServerParameters(
            command=server["command"], args=server["args"], env=server["env"], cwd=folder
        )
        return stdio.stdio_client(parameters, errlog=errors)
    if server["type"] == "sse":
        sse = await asyncio.to_thread(import_module, "mcp.client.sse")
        return sse.sse_client(server["url"], headers=dict(server["headers"]))
    http = await asyncio.to_thread(import_module, "mcp.client.streamable_http")
    httpx2 = await asyncio.to_thread(import_module, "httpx2")

    async def look(response: Any) -> None:
        # The client's error does not say what the server answered; 405 is one without a stream of its own.
        if response.status_code >= 400 and response.status_code != 405:
            refusals.append(response.status_code)

    client = await stack.enter_async_context(
        httpx2.AsyncClient(headers=dict(server["headers"]), event_hooks={"response": [look]})
    )
    return http.streamable_http_client(server["url"], http_client=client)


def _refused(status: int) -> str:
    why = ": it refuses the key" if status in (401, 403) else ""
    return f"it answered with HTTP {status}{why}"


def _last_line(errors: IO[bytes]) -> str:
    errors.seek(0, 2)
    errors.seek(max(0, errors.tell() - 4096))
    lines = errors.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else ""


def _reasons(error: BaseException) -> Iterator[str]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _reasons(each)
    else:
        yield str(error) or type(error).__name__
