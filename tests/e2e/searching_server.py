"""An MCP server with searches whose rows all look like pages of the web: `searching_server.py SITE...`."""

from __future__ import annotations

import json
import sys

from mcp.server import MCPServer

server = MCPServer[None]("searches", log_level="ERROR")
SITES = sys.argv[1:]


def _rows(word: str) -> str:
    rows = [
        {
            "title": f"{word} {number}",
            "url": f"https://{site}/{word}/{number}",
            "description": f"About {word}.",
        }
        for number, site in enumerate(SITES)
    ]
    return json.dumps({"results": rows})


@server.tool(structured_output=False)
async def search_candidates(query: str) -> str:
    """Search the candidates of a company."""
    return _rows(query)


@server.tool(structured_output=False)
async def search(query: str) -> str:
    """Search."""
    return _rows(query)


if __name__ == "__main__":
    server.run()
