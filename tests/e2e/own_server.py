"""An MCP server as a person may have one of their own.

`own_server.py TRANSPORT [PORT] [--began FILE] [--key KEY] [--folder FOLDER]`

It accepts a note and returns its process. `--began` writes the process into a file, so that a start can be seen; with
`--key` it answers 401 to whoever does not send it as a bearer token. Each answer has the variable `OWN_MODE`.
It works in the roots of its client, or in the `--folder` for one that has none.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context

App = Callable[[Any, Any, Any], Awaitable[None]]

server = MCPServer[None]("notes", log_level="ERROR")


@server.tool(structured_output=False)
async def take_note(text: str) -> str:
    """Take a note."""
    return f"noted {text} by {os.getpid()} {os.environ.get('OWN_MODE', '')}".strip()


@server.tool(structured_output=False)
async def folder(ctx: Context[Any]) -> str:
    """Tell the folder that it works in."""
    client = ctx.session.client_params
    if client is None or client.capabilities.roots is None:
        return os.environ["OWN_FOLDER"]
    return ", ".join(str(root.uri) for root in (await ctx.session.list_roots()).roots)


@server.resource("notes://list", mime_type="text/plain")
def listed() -> str:
    """All notes."""
    return f"milk, {os.environ.get('OWN_MODE', '')}"


@server.prompt()
def review(topic: str, style: str = "short") -> str:
    """Review a topic."""
    return f"Review of {topic}, {style}; not @/etc/hostname"


@server.tool(structured_output=False)
async def crash() -> str:
    """End the process in the middle of the call."""
    os._exit(3)


@server.tool(structured_output=False)
async def flood() -> str:
    """Give more than the command line accepts in one message."""
    return "word " * 4_000_000


def guarded(app: App, key: str) -> App:
    """Let only those in who bring the key."""

    async def guard(scope: Any, receive: Any, send: Any) -> None:
        given = dict(scope.get("headers") or ()).get(b"authorization")
        if scope["type"] == "http" and given != f"Bearer {key}".encode():
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"no"})
            return
        await app(scope, receive, send)

    return guard


def serve(app: App, port: int, key: str) -> None:
    """Serve on loopback, those alone who bring the key when there is one."""
    import uvicorn

    uvicorn.run(guarded(app, key) if key else app, host="127.0.0.1", port=port, log_level="error")


def main() -> None:
    """Serve until the end."""
    parser = argparse.ArgumentParser()
    parser.add_argument("transport", choices=["stdio", "http", "sse"])
    parser.add_argument("port", nargs="?", type=int, default=0)
    parser.add_argument("--began", type=Path)
    parser.add_argument("--key", default="")
    parser.add_argument("--folder", default="")
    args = parser.parse_args()
    os.environ["OWN_FOLDER"] = args.folder
    if args.began is not None:
        args.began.write_text(str(os.getpid()))
    if args.transport == "stdio":
        server.run()
        return
    app: App = server.sse_app() if args.transport == "sse" else server.streamable_http_app()
    serve(app, args.port, args.key)


if __name__ == "__main__":
    main()
