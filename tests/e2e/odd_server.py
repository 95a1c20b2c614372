"""An HTTP server on loopback that is no MCP server: the first part of the path says what it answers."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["odd_server"]

# The command line masks the path of an address in its errors, so no word of them is in it.
ANSWERS = {
    "a1": (200, "text/html", b"<!doctype html><p>Sign in</p>"),
    "b1": (200, "application/json", b'{"hello": 1}'),
    "c1": (200, "application/json", b'{"hel'),
}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen: list[Mapping[str, str]]

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        first = self.path.split("/")[1]
        status, kind, data = ANSWERS.get(first, (int(first) if first.isdigit() else 404, "text/plain", b"no"))
        if status == 307:
            host, _, port = self.headers["host"].partition(":")
            other = "localhost" if host != "localhost" else "127.0.0.1"
            self.send_response(status)
            self.send_header("location", f"http://{other}:{port}/moved")
        else:
            self.send_response(status)
        if first == "moved":
            self.seen.append({name.lower(): value for name, value in self.headers.items()})
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def odd_server() -> Iterator[tuple[str, list[Mapping[str, str]]]]:
    """Serve it; gives its address, and the headers of requests that came by a redirect."""
    seen: list[Mapping[str, str]] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"seen": seen}))
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients that give up are wanted
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
