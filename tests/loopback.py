"""HTTP servers on loopback for tests, each in a thread of its own."""

from __future__ import annotations

import json
import ssl
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Handler(BaseHTTPRequestHandler):
    """Answers requests one after the other on a connection, and logs nothing."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def body(self) -> bytes:
        """The body of the request."""
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def answer(self, status: int, data: bytes, kind: str = "application/json", **headers: str) -> None:
        """Send a complete answer; `_` in the names of headers is `-`."""
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def answer_json(self, status: int, data: Any) -> None:
        """Send data as JSON."""
        self.answer(status, json.dumps(data).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    # Who is not let in at once tries again only after seconds.
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client that gives up is part of the tests.
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


@contextmanager
def serving_http(handler: type[BaseHTTPRequestHandler], tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Serve until the end, with `tls` over TLS; gives the address."""
    server = _Server(("127.0.0.1", 0), handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http{'s' if tls else ''}://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
