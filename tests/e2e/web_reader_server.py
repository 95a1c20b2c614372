"""A web reader as an MCP server over HTTP: reads some pages, refuses those below /refused, times out below /slow.

Started with a port and the key that it wants as a bearer token.
"""

from __future__ import annotations

import json
import sys

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from tests.e2e.own_server import serve

server = MCPServer[None]("web_reader", log_level="ERROR")


@server.tool(structured_output=False)
async def webReader(url: str) -> str:
    """Read a page."""
    code = "1214" if "/refused" in url else "1234" if "/slow" in url else None
    if code is not None:
        raise ToolError(
            f'MCP error -500: 500 Internal Server Error: "{{"error":{{"code":"{code}","message":"no"}}}}"'
        )
    return json.dumps({"reader_result": {"title": "A page", "url": url, "content": "What it says."}})


if __name__ == "__main__":
    serve(server.streamable_http_app(), int(sys.argv[1]), sys.argv[2])
