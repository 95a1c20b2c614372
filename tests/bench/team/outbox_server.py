"""An MCP server over HTTP whose one tool sends a message: what a worker does outside, as the outside sees it.

It runs in the process that measures, so that it outlives the workers.
"""

from __future__ import annotations

import json
import re
import select
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.loopback import Handler, serving_http

SENT = re.compile(r"task (\d+) part (\d+)\.")
_TOOL = {
    "name": "send_message",
    "description": "Send a message.",
    "inputSchema": {
        "type": "object",
        "properties": {"recipient": {"type": "string"}, "text": {"type": "string"}},
        "required": ["recipient", "text"],
    },
}


@dataclass
class Outbox:
    """The messages by (task, part): how often each was begun and sent, and of which the caller was gone by then.

    Attributes:
        seconds: how long a message takes, from when `may_send` is set.
        active: how many are being sent now.
    """

    seconds: float = 0.3
    url: str = ""
    may_send: threading.Event = field(default_factory=threading.Event)
    begun: Counter[tuple[int, int]] = field(default_factory=Counter)
    sent: Counter[tuple[int, int]] = field(default_factory=Counter)
    cut: Counter[tuple[int, int]] = field(default_factory=Counter)
    begun_at: dict[tuple[int, int], float] = field(default_factory=dict)
    active: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def send(self, text: str, caller: socket.socket) -> bool:
        """Send a message; False if the caller went away meanwhile."""
        found = SENT.search(text)
        assert found is not None, text
        key = int(found[1]), int(found[2])
        with self.lock:
            self.begun[key] += 1
            self.begun_at.setdefault(key, time.monotonic())
            self.active += 1
        gone: list[socket.socket] = []
        # A request is complete here: only the end of the connection makes it readable.
        while not gone and not self.may_send.is_set():
            gone, _, _ = select.select([caller], [], [], 0.05)
        if not gone:
            gone, _, _ = select.select([caller], [], [], self.seconds)
        with self.lock:
            self.active -= 1
            (self.cut if gone else self.sent)[key] += 1
        return not gone


@contextmanager
def outbox() -> Iterator[Outbox]:
    """Serve the tool."""
    box = Outbox()
    box.may_send.set()

    class Server(Handler):
        def do_POST(self) -> None:
            asked: dict[str, Any] = json.loads(self.body())
            result: dict[str, Any] = {}
            match asked["method"]:
                case "initialize":
                    version = asked["params"]["protocolVersion"]
                    server = {"name": "outbox", "version": "1"}
                    result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}
                case "tools/list":
                    result = {"tools": [_TOOL]}
                case "tools/call":
                    given = asked["params"]["arguments"]
                    if not box.send(given["text"], self.connection):
                        self.close_connection = True
                        return
                    result = {"content": [{"type": "text", "text": f"sent to {given['recipient']}"}]}
            if "id" in asked:
                self.answer_json(200, {"jsonrpc": "2.0", "id": asked["id"], "result": result})
            else:
                self.answer(202, b"")

        def do_GET(self) -> None:
            self.answer(405, b"")

        do_DELETE = do_GET

    with serving_http(Server) as url:
        box.url = f"{url}/mcp"
        yield box
