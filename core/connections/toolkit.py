"""The local toolkit as an MCP server of the session."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from ua_tui.core.connections.base import BLANKED, Connection
from ua_tui.core.postgres.address import Address

SERVER = "local_toolkit"

SESSION_FILE = "TOOLKIT_COMPOSIO_SESSION"
"""The environment variable with the path of the private file that holds the credentials of the remote sandbox."""

EMBEDDINGS_FILE = "TOOLKIT_EMBEDDINGS"
"""The environment variable with the path of the private file that names the server for the search by meaning."""

SECRETS_SOCKET = "TOOLKIT_SECRETS"
"""The environment variable with the path of the private socket that gives the secrets to mask."""

POSTGRES_FILE = "TOOLKIT_POSTGRES"
"""The environment variable with the path of the private file that has the variables for a connection to PostgreSQL."""

PROGRESS_SOCKET = "TOOLKIT_PROGRESS"
"""The environment variable with the path of the private socket that receives the progress of calls."""


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

    The child process runs isolated (`-I`), so a `core/` folder in the current directory is never imported.

    Args:
        workspace: the folder of the session.
        routes: sends hosts below a suffix to an address on loopback, as the demo's pages need.
        session_file: the private file with the credentials of the remote sandbox.
        secrets_socket: the private socket of a `SharedSecrets`; the toolkit masks its values in everything it writes.
        progress_socket: the private socket of a `ProgressReceiver`.
        knowledge: where the knowledge base is; None if there is none.
        demo: whether the session is one of the demo, which sees only what sessions of the demo found.
        embeddings_file: the private file with the server for the search by meaning, and its key.
        postgres_file: the private file with the variables that decide how it connects to a team's knowledge base: a
            password must not be in the configuration of a server.
    """
    args = ["-I", "-m", "ua_tui.core.toolkit", "--workspace", str(workspace)]
    for suffix, address in routes.items():
        args += ["--route", f"{suffix}={address}"]
    if knowledge is not None:
        place = knowledge.url if isinstance(knowledge, Address) else str(knowledge.absolute())
        args += ["--knowledge", place, *(["--demo"] if demo else [])]
    environment = dict.fromkeys((*BLANKED, "COMPOSIO_API_KEY", "UA_EMBEDDINGS_KEY"), "")
    environment["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    if session_file is not None:
        environment[SESSION_FILE] = str(session_file)
    if embeddings_file is not None:
        environment[EMBEDDINGS_FILE] = str(embeddings_file)
    if postgres_file is not None:
        environment[POSTGRES_FILE] = str(postgres_file)
    if secrets_socket is not None:
        environment[SECRETS_SOCKET] = str(secrets_socket)
    if progress_socket is not None:
        environment[PROGRESS_SOCKET] = str(progress_socket)
    server = {"type": "stdio", "command": sys.executable, "args": args, "env": environment}
    return Connection(servers={SERVER: server})
