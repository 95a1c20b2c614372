"""A receiver on loopback for the spans of the Claude Code CLI.

It sends its spans here instead of to the collector. So they pass the redactor and reach every destination of our own
spans, and it needs no header and no token.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.log import log
from ua_tui.core.net.bodies import Inflater

_PATH = "/v1/traces"
_MOST_BYTES = 16 << 20


class SpanRelay:
    """Listens on a free port, below a secret path, until it is closed.

    Args:
        on_export: called with every `ExportTraceServiceRequest` as encoded protobuf, in a thread.

    Raises:
        OSError: no port is free.
    """

    def __init__(self, on_export: Callable[[bytes], object]) -> None:
        secret = secrets.token_urlsafe(18)
        handler = partial(_Handler, f"/{secret}{_PATH}", on_export)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        # A client that holds its connection open must not delay the end.
        self._server.block_on_close = False
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/{secret}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.5}, name="span relay", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop listening; takes up to half a second."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 10.0

    def __init__(self, path: str, on_body: Callable[[bytes], object], *request: Any) -> None:
        self._secret, self._on_body = path.encode(), on_body
        super().__init__(*request)

    def do_POST(self) -> None:
        """Receive the spans of one request."""
        if not secrets.compare_digest(self.path.encode(), self._secret):
            self._answer(404)
            return
        try:
            length = int(self.headers.get("content-length") or 0)
            if not 0 < length <= _MOST_BYTES:
                raise ValueError(f"a body of {length} bytes")
            inflater = Inflater(self.headers.get("content-encoding", ""), _MOST_BYTES)
            body = inflater.feed(self.rfile.read(length))
        except (ValueError, OSError, UniversalAgentError) as error:
            log.info("spans of a child process could not be read: %s", error)
            self._answer(400)
            return
        self._on_body(body)
        self._answer(200)

    def _answer(self, status: int) -> None:
        self.send_response(status)
        if status != 200:
            # Its body may not have been read: the client has to know that the connection is closed.
            self.send_header("connection", "close")
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""
