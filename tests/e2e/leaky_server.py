"""An MCP server whose results, errors and standard error say what a file says: `leaky_server.py FILE`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer[None]("leaky", log_level="ERROR")
texts: dict[str, str] = {}


@server.tool(structured_output=False)
async def find(place: str, note: str = "", options: dict[str, Any] | None = None) -> str:
    """Return the text of a place."""
    if place == "error":
        raise ToolError(texts[place])
    return texts[place]


@server.tool(structured_output=False)
async def variables() -> str:
    """Return the names of the variables of this process."""
    return " ".join(sorted(os.environ))


if __name__ == "__main__":
    texts.update(json.loads(Path(sys.argv[1]).read_text()))
    sys.stderr.write(texts["standard error"] + "\n")
    sys.stderr.flush()
    server.run()
