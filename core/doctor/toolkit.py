"""Whether the local toolkit starts and tells its tools, asked by a client of the protocol the agent speaks."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from core.connections.base import Connection
from core.connections.toolkit import SERVER, toolkit_connection
from core.doctor.check import Finding, failed, ok
from core.text import clean_line

__all__ = ["ask_toolkit"]

_REINSTALL = "reinstall ua-tui"


async def ask_toolkit(connection: Connection | None = None) -> Finding:
    """Start the toolkit in a folder of its own and list its tools; `connection` says how, if not as a session does."""
    with tempfile.TemporaryDirectory(prefix="ua-tui-doctor-", ignore_cleanup_errors=True) as folder:
        path = Path(folder, "session")
        given = connection or toolkit_connection(path, routes={})
        with tempfile.TemporaryFile() as errors:
            return await _ask(given.servers[SERVER], folder, errors)


async def _ask(server: dict[str, Any], folder: str, errors: IO[bytes]) -> Finding:
    mcp, stdio = await asyncio.to_thread(_import)
    parameters = mcp.StdioServerParameters(
        command=server["command"], args=server["args"], env=server["env"], cwd=folder
    )
    try:
        async with mcp.Client(stdio.stdio_client(parameters, errlog=errors)) as client:
            tools = (await client.list_tools()).tools
    except TimeoutError:
        raise
    except OSError as error:
        return failed(f"it cannot be started: {error.strerror or error}", _REINSTALL)
    except Exception as error:
        why = _last_line(errors) or "; ".join(_reasons(error))
        return failed(f"it does not answer: {clean_line(why, 200)}", _REINSTALL)
    if not tools:
        return failed("it has no tools", _REINSTALL)
    return ok(f"{len(tools)} tools: {', '.join(clean_line(tool.name, 40) for tool in tools)}")


def _import() -> tuple[Any, Any]:
    return import_module("mcp"), import_module("mcp.client.stdio")


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
