"""Whether the web reader and the MCP servers of the user's own can be used."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from core.connections.server_trust import ServerTrust
from core.connections.user_servers import OwnServer, Unusable, connection_to, project_servers, set_servers
from core.connections.web_reader import SERVER, web_reader_connection
from core.doctor.check import Finding, failed, skipped
from core.doctor.mcp_probe import ask_server
from core.errors import ConnectionFailed
from core.settings.model import Settings

__all__ = ["ask_own_server", "ask_web_reader", "own_servers_of"]

_WITHOUT = "a session goes on without its tools"


async def ask_web_reader(settings: Settings) -> Finding:
    """Reach Z.AI's web reader with the key of the settings."""
    if not settings.web_reader_key:
        return skipped("there is no Z_AI_API_KEY", "with one, pages that refuse a crawler are read, too")
    server = web_reader_connection(settings).servers[SERVER]
    return await ask_server(server, remedy=f"check Z_AI_API_KEY and the network; {_WITHOUT}")


def own_servers_of(settings: Settings, folder: Path) -> list[OwnServer | Unusable]:
    """The servers of the user's own, as a session in this folder would find them; each name once."""
    found = [*set_servers(settings.mcp_servers), *project_servers(folder)]
    return list({each.name: each for each in reversed(found)}.values())[::-1]


async def ask_own_server(
    server: OwnServer | Unusable, folder: Path, *, environ: Mapping[str, str], trust: ServerTrust
) -> Finding:
    """Start or reach a server as a session would; one that is not trusted is left alone."""
    if isinstance(server, Unusable):
        return failed(server.problem, _WITHOUT)
    decision = trust.decision(server, folder)
    if decision != "trusted":
        why = "you refused it" if decision == "refused" else "it is not trusted"
        return skipped(f"{why}: {server.target}", f"to use it: ua-tui servers trust {server.name}")
    try:
        connection = connection_to(server, environ, folder)
    except ConnectionFailed as error:
        return failed(str(error), _WITHOUT)
    remedy = f"correct it in {server.source}; {_WITHOUT}"
    return await ask_server(
        connection.servers[server.name], remedy=remedy, folder=str(folder), secrets=connection.secrets
    )
