"""Checks the MCP servers of a session: the local toolkit, the web reader and the user's servers."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ua_tui.core.agent.mcp.client import ask_server
from ua_tui.core.connections import toolkit, web_reader
from ua_tui.core.connections.base import WITHOUT_TOOLS, Connection
from ua_tui.core.connections.oauth.flow import current_login
from ua_tui.core.connections.oauth.store import LoginStore
from ua_tui.core.connections.trust import ServerTrust
from ua_tui.core.connections.user_servers import UnusableServer, UserServer, connection_to
from ua_tui.core.doctor.findings import Finding, failed, ok, skipped
from ua_tui.core.errors import Advice, ConnectionFailed, WorkspaceError
from ua_tui.core.events.units import quantity
from ua_tui.core.settings.model import Settings
from ua_tui.core.text import clean_line


async def check_toolkit(connection: Connection | None = None) -> Finding:
    """Start the toolkit in a temporary folder and list its tools; `connection` replaces that of a session."""
    with tempfile.TemporaryDirectory(prefix="ua-tui-doctor-", ignore_cleanup_errors=True) as folder:
        used = connection or toolkit.toolkit_connection(
            toolkit.ToolkitStart(workspace=Path(folder, "session"))
        )
        finding = await probe_server(used.servers[toolkit.SERVER], remedy="reinstall ua-tui", folder=folder)
    if finding.status != "ok":
        return finding
    tools = toolkit.toolkit_tools()
    more = len(tools["knowledge"]) + len(tools["sandbox"])
    return replace(finding, found=f"{finding.found}; {more} more with the knowledge base and the sandbox")


async def check_web_reader(settings: Settings) -> Finding:
    """Reach Z.AI's web reader with the key of the settings."""
    if not settings.web_reader_key:
        return skipped("Z_AI_API_KEY is not set", "set it to read pages that block crawlers")
    server = web_reader.web_reader_connection(settings).servers[web_reader.SERVER]
    return await probe_server(server, remedy=f"check Z_AI_API_KEY and the network; {WITHOUT_TOOLS}")


async def check_user_server(
    server: UserServer | UnusableServer,
    folder: Path,
    *,
    environ: Mapping[str, str],
    trust: ServerTrust,
    logins: LoginStore | None = None,
) -> Finding:
    """Start or reach a server as a session would; one that is not trusted is not started. `logins` are the user's."""
    if isinstance(server, UnusableServer):
        return _unusable(server.advice)
    decision = trust.decision(server, folder)
    if decision != "trusted":
        reason = "you refused it" if decision == "refused" else "it is not trusted"
        return skipped(f"{reason}: {server.target}", f"to use it: ua-tui servers trust {server.name}")
    try:
        connection = connection_to(server, environ, folder)
    except ConnectionFailed as error:
        return _unusable(error.advice)
    config, login = connection.servers[server.name], None
    to_log_in = f"to log in: ua-tui connect {server.name}; {WITHOUT_TOOLS}"
    if connection.login is not None:
        try:
            login = await current_login(connection.login, logins or LoginStore())
        except ConnectionFailed as error:
            return failed(error.advice.problem, to_log_in)
        except WorkspaceError as error:
            return failed(str(error), WITHOUT_TOOLS)
    if login is not None:
        config = {**config, "headers": {**config["headers"], "Authorization": f"Bearer {login.access_token}"}}
    return await probe_server(
        config,
        remedy=f"correct it in {server.source}; {WITHOUT_TOOLS}",
        folder=str(folder),
        secrets=(*connection.secrets, *(login.secrets if login is not None else ())),
        login=to_log_in if connection.login is not None else "",
    )


def _unusable(advice: Advice) -> Finding:
    return failed(advice.problem, f"{advice.remedy}; {WITHOUT_TOOLS}")


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
