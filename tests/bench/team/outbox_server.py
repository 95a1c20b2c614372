"""An MCP server whose one tool sends a message: `outbox_server.py FILE` appends each to a file, with the time."""

from __future__ import annotations

import asyncio
import os
import sys
import time

from mcp.server import MCPServer

server = MCPServer[None]("outbox", log_level="ERROR")


@server.tool(structured_output=False)
async def send_message(recipient: str, text: str) -> str:
    """Send a message."""
    line = f"{time.time():.3f} {text}\n"
    descriptor = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)
    # Long enough for a worker to be killed between the sending and the result.
    await asyncio.sleep(0.3)
    return f"sent to {recipient}"


if __name__ == "__main__":
    server.run("stdio")
