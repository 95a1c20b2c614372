"""An MCP server whose description of a tool holds instructions for the agent."""

from __future__ import annotations

import sys

from mcp.server import MCPServer

server = MCPServer[None]("notes", log_level="ERROR")


@server.tool(structured_output=False, description=sys.argv[1])
async def find_note() -> str:
    """Find a note."""
    return "nothing"


if __name__ == "__main__":
    server.run()
