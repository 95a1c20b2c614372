"""The command line's own logs of MCP servers: they say why a connection failed, which it reports to nobody else."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec

from ua_tui.core.agent.bounds import PIECE

# Where a call or a connection begins; what is logged before that is about an earlier one.
_CALL, _START = '"debug":"Calling MCP tool', '"debug":"Starting connection'
UNLISTED = "Failed to fetch tools: "
"""How the error of a server begins that is connected, but did not list its tools."""
_UNEXPLAINED = (
    UNLISTED,
    "Connection closed",
    "MCP error -32000: Connection closed",
    "Error POSTing to endpoint: ",
)
_FAILED = re.compile(
    r"Connection failed(?: \((?P<status>\d{3})\): Error POSTing to endpoint(?P<rest>: .*))?", re.DOTALL
)
_OUTPUT = "Server stderr: "
_ERROR_LINE = re.compile(r"^[\w.]*(?:error|exception|fatal|panic)\b.*", re.IGNORECASE | re.MULTILINE)


class ServerLogs(msgspec.Struct, eq=False):
    """Reads the logs in the cache of the command line; where a system keeps them elsewhere, nothing is found."""

    cache: Path

    def cause_of(self, server: str, error: str) -> str | None:
        """The error of the last call or connection of a server, with what the log says of it; None if that is to come.

        The log says why the command line itself closed the connection, the status of an HTTP answer, or what a program
        wrote before it ended.
        """
        if not error.startswith(_UNEXPLAINED):
            return error
        folder = "mcp-logs-" + re.sub(r"[^A-Za-z0-9]", "-", server)
        try:
            newest = max(self.cache.glob(f"*/*/{folder}/*.jsonl"), key=lambda path: path.name)
            with newest.open("rb") as file:
                file.seek(max(0, newest.stat().st_size - PIECE))
                lines = file.read(PIECE).decode("utf-8", "replace").splitlines()
        except (OSError, ValueError):
            return None
        failed = is_earlier = False
        for line in reversed(lines):
            if _CALL in line or (failed and _START in line):
                break
            entry = _error_in(line)
            if entry.startswith(UNLISTED):
                return entry
            if entry.startswith("wrote >") and " to stdout without" in entry:
                # The next connection may have begun since.
                return entry
            is_earlier = is_earlier or _START in line
            if is_earlier:
                continue
            if (found := _FAILED.match(entry)) is not None:
                if found["status"]:
                    return f"Error POSTing to endpoint (HTTP {found['status']}){found['rest']}"
                failed = True
            elif failed and entry.startswith(_OUTPUT):
                return _OUTPUT + last_words(entry.removeprefix(_OUTPUT))
        return error if failed else None


def last_words(output: str) -> str:
    """The last line of a program's output that names an error; the last line of all without one."""
    lines = _ERROR_LINE.findall(output) or output.strip().splitlines()
    return str(lines[-1]) if lines else ""


def _error_in(line: str) -> str:
    try:
        entry = json.loads(line)
    except ValueError:
        return ""
    error = entry.get("error") if isinstance(entry, dict) else None
    return error if isinstance(error, str) else ""
