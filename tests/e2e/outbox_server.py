"""An MCP server over stdio that sends messages: each is a line in the file `OUTBOX`, and cannot be taken back.

With `GATE` in the environment a message is begun with a line in `OUTBOX.begun`, and sent when that file exists.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from mcp.server import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer[None]("outbox", log_level="ERROR")
OUTBOX = Path(os.environ["OUTBOX"])
GATE = Path(os.environ["GATE"]) if "GATE" in os.environ else None


@server.tool(structured_output=False)
def send_message(to: str, text: str, answers: bool = True) -> str:
    """Send a message."""
    if GATE is not None:
        with OUTBOX.with_name(f"{OUTBOX.name}.begun").open("a", encoding="utf-8") as file:
            file.write(f"{to}: {text}\n")
        while not GATE.exists():
            time.sleep(0.05)
    with OUTBOX.open("a", encoding="utf-8") as file:
        file.write(f"{to}: {text}\n")
    if not answers:
        threading.Event().wait()
    return f"sent as number {len(OUTBOX.read_text(encoding='utf-8').splitlines())}"


@server.tool(structured_output=False, annotations=ToolAnnotations(read_only_hint=True))
def list_messages() -> str:
    """List what was sent."""
    return OUTBOX.read_text(encoding="utf-8") if OUTBOX.exists() else "nothing"


if __name__ == "__main__":
    server.run()
