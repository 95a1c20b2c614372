"""What is new about the MCP servers of a session, and how it is said of one that it failed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from core.events.types import McpServer
from core.text import clean_line

__all__ = ["BROKEN", "ServerChanges", "failure_of"]

BROKEN = frozenset({"failed", "needs-auth"})
_BETWEEN = frozenset({"pending", "reconnecting", "enabling", "disabling"})
"""States that are over soon, with something that is worth telling or with what was before."""


def failure_of(server: McpServer) -> str:
    """Say why a server cannot be used, and what to do, in one sentence with its name."""
    name, why = clean_line(server.name, 60), clean_line(server.error or "", 400)
    if why and not _is_sentence(server.name, why):
        why = f"MCP server {name} failed: {why}"
    elif not why:
        wants = "needs you to sign in at its service" if server.status == "needs-auth" else "failed"
        why = f"MCP server {name} {wants}: `ua-tui doctor` tries it, and /connections connects it again"
    if server.again_s is not None:
        why = f"{why}{'' if why.endswith(('.', '?', '!')) else '.'} It is tried again by itself."
    return why


def _is_sentence(name: str, why: str) -> bool:
    """Whether the words say by themselves what they are about: a name can be a word like any other."""
    if not (why[:1].isupper() or why.startswith(("/", f"{name} of "))):
        return False
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", why, re.IGNORECASE) is not None


class ServerChanges:
    """Remembers what was told of each server, and gives what is new: a failure once, however often it is tried."""

    def __init__(self) -> None:
        self._told: dict[str, tuple[str, str | None]] = {}
        self._worked: set[str] = set()

    def of(self, servers: Sequence[McpServer]) -> Iterator[tuple[McpServer, str]]:
        """Give each server that has another state than it was told of, and the state in a word or two."""
        for server in servers:
            if server.status in _BETWEEN:
                continue
            before, state = self._told.get(server.name), server.status
            said = before is not None and before[0] == state
            if said and (
                state not in BROKEN or server.again_s is not None or before == (state, server.error)
            ):
                continue
            self._told[server.name] = (state, server.error)
            lost = before is not None and before[0] in BROKEN and server.name in self._worked
            if state == "connected":
                self._worked.add(server.name)
                state = "connected again" if lost else state
            yield server, state
