"""A search as an MCP server that finds as much as it is asked for: each row takes about half a kilobyte."""

from __future__ import annotations

import json

from mcp.server import MCPServer

server = MCPServer[None]("archive", log_level="ERROR")


@server.tool(structured_output=False)
async def web_search(query: str, rows: int) -> str:
    """Search the archive."""
    found = [
        {
            "position": number,
            "title": f"Finding {number} about {query}",
            "link": f"https://site-{number % 37}.example/{number}?signature=0123456789abcdef",
            "snippet": "What was found in the archive, told once more. " * 8,
            "date": f"{number % 23 + 1} hours ago",
        }
        for number in range(1, rows + 1)
    ]
    return json.dumps({"organic_results": found})


if __name__ == "__main__":
    server.run()
