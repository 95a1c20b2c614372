"""What a connection gives a session: MCP servers, and a word about how it went."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Connection", "Expiry", "RemoteSession"]


@dataclass(frozen=True)
class RemoteSession:
    """A session at Composio, as its files are asked for: server, session id, and the headers that let one in."""

    base_url: str
    session_id: str
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Expiry:
    """How one finds out that the session behind a connection is over, so that another one must be opened.

    `told_by` says whether an error of one of its tools means that. `is_over` asks the service; it raises
    ConnectionFailed.
    """

    told_by: Callable[[str], bool]
    is_over: Callable[[], Awaitable[bool]]


@dataclass(frozen=True)
class Connection:
    """MCP server configurations by server name, in the form the agent's `--mcp-config` takes.

    A server in this process has the type `sdk` and its `instance`, as the agent's SDK takes it.
    `note` says in plain words what is missing when there are none, and `status` how such a server is listed: `off`, or
    `untrusted` or `failed` when opening it again may help. `url` is the remote session's address,
    secrets are values that must be masked wherever text is kept. `is_connected` asks the service whether a person's
    account of a toolkit, such as `gmail`, is active; it raises ConnectionFailed. `remote` is the session at
    Composio, whose files the local toolkit moves. `close` lets go of what the connection holds.
    """

    servers: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    note: str | None = None
    status: Literal["off", "untrusted", "failed"] = "off"
    url: str | None = None
    secrets: tuple[str, ...] = ()
    is_connected: Callable[[str], Awaitable[bool]] | None = None
    expiry: Expiry | None = None
    remote: RemoteSession | None = None
    close: Callable[[], None] | None = None
