"""A server on loopback that makes vectors as OpenAI-compatible servers do: texts about the same things are near."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.waiting import PATIENCE

CONCEPTS = (
    ("car", "cars", "automobile", "automobiles", "vehicle"),
    ("price", "prices", "cost", "costs"),
    ("weather", "rain", "sun"),
    ("chip", "chips", "semiconductor"),
)
"""Words with the same meaning; each is one dimension of the vectors, and the last dimension is everything else."""


def vector(text: str) -> list[float]:
    """How often a text names each concept."""
    words = text.lower().replace(".", " ").split()
    return [float(sum(word in concept for word in words)) for concept in CONCEPTS] + [0.1]


def answer_to(texts: list[str]) -> dict[str, Any]:
    """The answer to a request, whose rows need not be in the order of the texts."""
    rows = [
        {"object": "embedding", "index": number, "embedding": vector(text)}
        for number, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return {"object": "list", "data": rows[::-1], "model": "m", "usage": usage}


@dataclass
class EmbeddingsServer:
    """Where it is, and what it was sent.

    Attributes:
        status: what it answers with.
        body: what it answers, as bytes; None for the vectors.
        refused: it answers 400 to texts with this word.
        wait: it answers when this is set.
        asked: the headers in small letters and the body of each request.
    """

    url: str
    status: int = 200
    body: bytes | None = None
    refused: str | None = None
    wait: threading.Event | None = None
    asked: list[tuple[dict[str, str], Any]] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        """All texts that were sent."""
        return [text for _, body in list(self.asked) for text in body["input"]]


@contextmanager
def embeddings_server() -> Iterator[EmbeddingsServer]:
    """Serve vectors."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            sent = json.loads(self.rfile.read(int(self.headers["content-length"])))
            server.asked.append(({name.lower(): value for name, value in self.headers.items()}, sent))
            if server.wait is not None:
                server.wait.wait(PATIENCE)
            status = 404 if self.path != "/v1/embeddings" else server.status
            if server.refused is not None and any(server.refused in text for text in sent["input"]):
                status = 400
            data = json.dumps(answer_to(sent["input"])).encode() if server.body is None else server.body
            # A caller that has stopped waiting is part of the tests.
            with suppress(ConnectionError):
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    server = EmbeddingsServer(f"http://127.0.0.1:{listener.server_address[1]}/v1")
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        if server.wait is not None:
            server.wait.set()
        listener.shutdown()
        listener.server_close()
        thread.join()
