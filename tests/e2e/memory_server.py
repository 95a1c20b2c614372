"""An MCP server over stdio that remembers entities in the file `MEMORY`, without a word on what its tools do."""

from __future__ import annotations

import os
from pathlib import Path

from mcp.server import MCPServer

server = MCPServer[None]("memory", log_level="ERROR")
MEMORY = Path(os.environ["MEMORY"])


@server.tool(structured_output=False)
def create_entities(entities: list[dict[str, str]]) -> str:
    """Remember entities."""
    with MEMORY.open("a", encoding="utf-8") as file:
        file.writelines(f"{each}\n" for each in entities)
    return f"{len(entities)} remembered"


@server.tool(structured_output=False)
def read_graph() -> str:
    """Return everything that was remembered."""
    return MEMORY.read_text(encoding="utf-8") if MEMORY.exists() else "nothing"


if __name__ == "__main__":
    server.run()
