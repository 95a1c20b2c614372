"""Checks the MCP servers of a session: the local toolkit, the web reader and the user's servers."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from ua_tui.core.connections import toolkit, web_reader
from ua_tui.core.connections.base import WITHOUT_TOOLS, Connection
from ua_tui.core.connections.oauth.flow import current_login
from ua_tui.core.connections.oauth.store import LoginStore
from ua_tui.core.connections.trust import ServerTrust
from ua_tui.core.connections.user_servers import UnusableServer, UserServer, connection_to
from ua_tui.core.doctor.findings import Finding, failed, skipped
from ua_tui.core.doctor.mcp_probe import probe_server
from ua_tui.core.errors import Advice, ConnectionFailed, WorkspaceError
from ua_tui.core.settings.model import Settings


async def check_toolkit(connection: Connection | None = None) -> Finding:
    """Start the toolkit in a temporary folder and list its tools; `connection` replaces that of a session."""
    with tempfile.TemporaryDirectory(prefix="ua-tui-doctor-", ignore_cleanup_errors=True) as folder:
        used = connection or toolkit.toolkit_connection(
            toolkit.ToolkitStart(workspace=Path(folder, "session"))
        )
        return await probe_server(used.servers[toolkit.SERVER], remedy="reinstall ua-tui", folder=folder)


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
