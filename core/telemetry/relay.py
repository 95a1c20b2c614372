"""A receiver on loopback for the spans of our own child processes, so that they take the same way as ours.

The command-line agent and the toolkit send here instead of to the collector: their spans pass the one redactor,
reach every place that ours reach, and no child needs to know a header or a token.
"""

from __future__ import annotations

import logging
import secrets
import threading
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["SpanRelay"]

_PATH = "/v1/traces"
_MOST_BYTES = 16 << 20
_PATIENCE = 10.0

_log = logging.getLogger(__name__)


class SpanRelay:
    """Listens on a free port, below a path that nobody can guess, until it is closed.

    Args:
        take: is given every `ExportTraceServiceRequest` as encoded protobuf, in a thread.

    Raises:
        OSError: there is no port to listen on.
    """

    def __init__(self, take: Callable[[bytes], object]) -> None:
        secret = secrets.token_urlsafe(18)

        class Handler(_Handler):
            path_taken = f"/{secret}{_PATH}"

            def taken(self, body: bytes) -> None:
                take(body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        # Who holds a connection open must not hold up the end.
        self._server.block_on_close = False
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/{secret}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.5}, name="span relay", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Listen no more; takes up to half a second."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler, ABC):
    protocol_version = "HTTP/1.1"
    timeout = _PATIENCE
    path_taken = ""

    @abstractmethod
    def taken(self, body: bytes) -> None:
        """Take what came."""

    def do_POST(self) -> None:
        """Take the spans of one request."""
        if not secrets.compare_digest(self.path.encode(), self.path_taken.encode()):
            self._answer(404)
            return
        try:
            body = self._body()
        except (ValueError, zlib.error, OSError) as error:
            _log.info("spans of a child process could not be read: %s", error)
            self._answer(400)
            return
        self.taken(body)
        self._answer(200)

    def _body(self) -> bytes:
        length = int(self.headers.get("content-length") or 0)
        if not 0 < length <= _MOST_BYTES:
            raise ValueError(f"a body of {length} bytes")
        body = self.rfile.read(length)
        match self.headers.get("content-encoding", "").lower():
            case "" | "identity":
                return body
            case "gzip":
                inflater = zlib.decompressobj(16 + zlib.MAX_WBITS)
            case "deflate":
                inflater = zlib.decompressobj()
            case other:
                raise ValueError(f"an encoding {other!r}")
        body = inflater.decompress(body, _MOST_BYTES)
        if inflater.unconsumed_tail:
            raise ValueError(f"more than {_MOST_BYTES} bytes")
        return body

    def _answer(self, status: int) -> None:
        self.close_connection = self.close_connection or status != 200
        self.send_response(status)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
