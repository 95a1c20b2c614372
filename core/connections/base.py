"""What a connection gives a session: the configuration of MCP servers, and what is known about them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Literal

import msgspec

from ua_tui.core.errors import Advice
from ua_tui.core.json_values import JsonObject

if TYPE_CHECKING:
    from ua_tui.core.connections.oauth.target import LoginTarget

COMPOSIO = "composio"
"""The server with Composio's tools."""
PROGRAM = "this_program"
"""The server with the functions that a program gives to a session of its own."""
BUILT_IN_SERVERS = frozenset({"local_toolkit", COMPOSIO, "web_reader", PROGRAM})
"""The servers of the program, or of a service that the user chose for it: no other can have their names."""
COMPOSIO_OFF = Advice(
    "Composio is off",
    "set COMPOSIO_API_KEY to use its tools (email, web search and a remote workbench)",
)
"""What is said without a key; not in the catalogue, which takes 4 ms to read, as many sessions have none."""
WITHOUT_TOOLS = "the session continues without its tools"
"""What follows from a server or service that cannot be used."""

BLANKED = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS")
"""The agent's keys: a program that it starts inherits its environment, but does not need them."""


PLAIN_VARIABLES = frozenset(
    {
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TERM", "COLORTERM",
        "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
        "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
        "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "COMSPEC", "APPDATA", "LOCALAPPDATA", "USERPROFILE",
    }
)  # fmt: skip
"""The variables of the user that the agent gets, and the servers that it starts: places, languages, proxies."""
PLAIN_PREFIXES = ("LC_", "XDG_")
"""How the names of further variables of this kind begin."""


MOUNT = "/mnt/files"
"""The folder of a remote sandbox whose files can be transferred."""


ServerConfigs = Mapping[str, JsonObject]
"""Configurations of MCP servers by their names, in the form of the agent's `--mcp-config`."""


class RemoteSession(msgspec.Struct, frozen=True):
    """A session at Composio, for access to its files: the server, the session's id, and the headers that sign in."""

    base_url: str
    session_id: str
    headers: Mapping[str, str]


class Expiry(msgspec.Struct, frozen=True):
    """Detects that the session behind a connection has expired, so that a new one must be opened.

    `matches` says whether an error of one of its tools may mean that. `is_over` asks the service; it raises
    ConnectionFailed.
    """

    matches: Callable[[str], bool]
    is_over: Callable[[], Awaitable[bool]]


class Connection(msgspec.Struct, frozen=True):
    """MCP servers, and what is known of them.

    Attributes:
        servers: a server in this process has the type `sdk` and its `instance`, as the agent's SDK takes it.
        tools: patterns of the names of the only tools that are offered; without any all are.
        note: says what is missing when there are no servers.
        status: how such a server is listed: `off`, or `untrusted` or `failed` when opening it again may help.
        url: the address of the remote session.
        secrets: values that are masked in all records.
        is_connected: asks the service whether the user's account of a toolkit, such as `gmail`, is active; it raises
            ConnectionFailed.
        remote: the session at Composio whose files the local toolkit transfers.
        login: what a person may log in to, for a server over HTTP without a key of its own.
        headers: gives the headers of that login, none if there is no valid one.
        close: releases what the connection holds.
    """

    servers: ServerConfigs = {}
    tools: tuple[str, ...] = ()
    note: str | None = None
    status: Literal["off", "untrusted", "failed"] = "off"
    url: str | None = None
    secrets: tuple[str, ...] = ()
    is_connected: Callable[[str], Awaitable[bool]] | None = None
    expiry: Expiry | None = None
    remote: RemoteSession | None = None
    login: LoginTarget | None = None
    headers: Callable[[], Awaitable[Mapping[str, str]]] | None = None
    close: Callable[[], None] | None = None


Connector = Callable[[], Awaitable[Connection]]
"""Opens a connection."""
