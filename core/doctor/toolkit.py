"""Whether the local toolkit starts and tells its tools."""

from __future__ import annotations

import tempfile
from pathlib import Path

from core.connections.base import Connection
from core.connections.toolkit import SERVER, toolkit_connection
from core.doctor.check import Finding
from core.doctor.mcp_probe import ask_server

__all__ = ["ask_toolkit"]


async def ask_toolkit(connection: Connection | None = None) -> Finding:
    """Start the toolkit in a folder of its own and list its tools; `connection` says how, if not as a session does."""
    with tempfile.TemporaryDirectory(prefix="ua-tui-doctor-", ignore_cleanup_errors=True) as folder:
        given = connection or toolkit_connection(Path(folder, "session"), routes={})
        return await ask_server(given.servers[SERVER], remedy="reinstall ua-tui", folder=folder)
