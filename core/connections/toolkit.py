"""The program's own MCP servers: the local toolkit, and a web reader for pages that block crawlers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ua_tui.core.connections.base import BLANKED, Connection
from ua_tui.core.connections.toolkit_tools import PROGRAM, SERVER

if TYPE_CHECKING:
    from ua_tui.core.settings.model import Settings


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
    page_age: int = 0
    session_file: Path | None = None
    secrets_socket: Path | None = None
    progress_socket: Path | None = None
    embeddings_file: Path | None = None
    postgres_file: Path | None = None


def toolkit_connection(start: ToolkitStart) -> Connection:
    """The server that starts the program.

    The child process runs isolated (`-I`), so a `core/` folder in the current directory is never imported. A password
    must not be in the configuration of a server.
    """
    encoded = msgspec.json.encode(start, enc_hook=str).decode()
    args = ["-I", "-m", PROGRAM, encoded]
    environment = dict.fromkeys((*BLANKED, "COMPOSIO_API_KEY", "UA_EMBEDDINGS_KEY"), "")
    environment["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    server = {"type": "stdio", "command": sys.executable, "args": args, "env": environment}
    return Connection(servers={SERVER: server})


WEB_READER = "web_reader"
URL = "https://api.z.ai/api/mcp/web_reader/mcp"


def web_reader_connection(settings: Settings) -> Connection:
    """The server with the key of the settings; without one the connection is empty and its note says so."""
    key = settings.web_reader_key
    if not key:
        return Connection(note="The web reader is off: set Z_AI_API_KEY to read pages that block crawlers.")
    headers = {"Authorization": f"Bearer {key}"}
    url = settings.web_reader_url or URL
    return Connection(servers={WEB_READER: {"type": "http", "url": url, "headers": headers}}, secrets=(key,))
