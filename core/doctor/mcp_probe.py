"""Probes an MCP server: starts or connects to it as the agent would, and lists its tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ua_tui.core.agent.mcp.client import ask_server
from ua_tui.core.connections.base import WITHOUT_TOOLS
from ua_tui.core.doctor.findings import Finding, failed, ok
from ua_tui.core.errors import ConnectionFailed
from ua_tui.core.events.units import quantity
from ua_tui.core.text import clean_line


async def probe_server(
    server: Mapping[str, Any],
    *,
    remedy: str,
    folder: str | None = None,
    secrets: Iterable[str] = (),
    login: str = "",
) -> Finding:
    """Start or reach a server by its configuration for the agent, and list its tools.

    Args:
        server: the configuration.
        remedy: the advice if that fails.
        folder: the folder that a program is started in.
        secrets: masked in its errors, which may repeat its command.
        login: the advice if it needs a login; empty for a server that cannot have one.

    Raises:
        TimeoutError: a time limit of the caller has passed.
    """
    try:
        listed = await ask_server(server, lambda client: client.list_tools(), folder=folder, secrets=secrets)
    except ConnectionFailed as error:
        if login and error.code == "http_401":
            return failed("it needs a login", login)
        if error.code == "http_429" or error.code.startswith("http_5"):
            return failed(str(error), f"try again later; {WITHOUT_TOOLS}")
        reached = error.code not in ("unreachable", "http_401")
        return failed(f"it does not answer: {error}" if reached else str(error), remedy)
    if not listed.tools:
        return failed("it has no tools", remedy)
    names = ", ".join(clean_line(tool.name, 40) for tool in listed.tools)
    return ok(f"{quantity(len(listed.tools), 'tool')}: {names}")
