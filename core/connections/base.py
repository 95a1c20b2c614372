"""What a connection gives a session: MCP servers, and a word about how it went."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Connection"]


@dataclass(frozen=True)
class Connection:
    """MCP server configurations by server name, in the form the agent's `--mcp-config` takes.

    `note` says in plain words what is missing when there are none. `url` is the remote session's address,
    secrets are values that must be masked wherever text is kept. `is_connected` asks the service whether a person's
    account of a toolkit, such as `gmail`, is active; it raises ConnectionFailed.
    """

    servers: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    note: str | None = None
    url: str | None = None
    secrets: tuple[str, ...] = ()
    is_connected: Callable[[str], Awaitable[bool]] | None = None
