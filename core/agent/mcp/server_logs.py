"""The command line's own logs of MCP servers: they say why it closed a connection, which it reports to nobody else."""

from __future__ import annotations

import json
import re
from pathlib import Path

__all__ = ["ServerLogs"]

_LAST = 64 << 10
_CALL = '"debug":"Calling MCP tool'
_CAUSE = re.compile(r"wrote >\S+ to stdout without")


class ServerLogs:
    """Reads the logs in the cache of the command line; where a system keeps them elsewhere, nothing is found."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache

    def cause_of_close(self, server: str) -> str | None:
        """Why the command line itself closed the connection to a server during the last call; None if it did not."""
        folder = "mcp-logs-" + re.sub(r"[^A-Za-z0-9]", "-", server)
        try:
            newest = max(self._cache.glob(f"*/*/{folder}/*.jsonl"), key=lambda path: path.name)
            with newest.open("rb") as file:
                file.seek(max(0, newest.stat().st_size - _LAST))
                lines = file.read(_LAST).decode("utf-8", "replace").splitlines()
        except (OSError, ValueError):
            return None
        for line in reversed(lines):
            if _CALL in line:
                break
            if (error := _error_in(line)) and _CAUSE.match(error):
                return error
        return None


def _error_in(line: str) -> str:
    try:
        entry = json.loads(line)
    except ValueError:
        return ""
    error = entry.get("error") if isinstance(entry, dict) else None
    return error if isinstance(error, str) else ""
