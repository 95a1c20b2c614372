"""The local toolkit as an MCP server of the session."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from ua_tui.core.connections.base import BLANKED, Connection
from ua_tui.core.postgres.address import Address

SERVER = "local_toolkit"


class ToolkitStart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The one argument of the toolkit's program, as JSON.

    `routes` sends hosts below a suffix to an address on loopback. `knowledge` is a file or an address of PostgreSQL,
    and a session of the `demo` sees only what those found in it. The paths are those of private files and sockets:
    `session_file` has the credentials of the remote sandbox, `secrets_socket` gives the secrets to mask,
    `progress_socket` receives the progress of calls, `embeddings_file` names the server for the search by meaning, and
    `postgres_file` has the variables for a connection to PostgreSQL.
    """

    workspace: Path
    routes: dict[str, str] = {}
    knowledge: str = ""
    demo: bool = False
    session_file: Path | None = None
    secrets_socket: Path | None = None
    progress_socket: Path | None = None
    embeddings_file: Path | None = None
    postgres_file: Path | None = None


def toolkit_connection(
    workspace: Path,
    *,
    routes: Mapping[str, str],
    session_file: Path | None = None,
    secrets_socket: Path | None = None,
    progress_socket: Path | None = None,
    knowledge: Path | Address | None = None,
    demo: bool = False,
    embeddings_file: Path | None = None,
    postgres_file: Path | None = None,
) -> Connection:
    """The server that starts `ua_tui.core.toolkit` for this workspace.

    The child process runs isolated (`-I`), so a `core/` folder in the current directory is never imported. The
    other arguments are those of `ToolkitStart`; a password must not be in the configuration of a server.
    """
    place = (
        knowledge.url if isinstance(knowledge, Address) else str(knowledge.absolute()) if knowledge else ""
    )
    start = ToolkitStart(
        workspace=workspace,
        routes=dict(routes),
        knowledge=place,
        demo=demo,
        session_file=session_file,
        secrets_socket=secrets_socket,
        progress_socket=progress_socket,
        embeddings_file=embeddings_file,
        postgres_file=postgres_file,
    )
    encoded = msgspec.json.encode(start, enc_hook=str).decode()
    args = ["-I", "-m", "ua_tui.core.toolkit", encoded]
    environment = dict.fromkeys((*BLANKED, "COMPOSIO_API_KEY", "UA_EMBEDDINGS_KEY"), "")
    environment["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    server = {"type": "stdio", "command": sys.executable, "args": args, "env": environment}
    return Connection(servers={SERVER: server})
