"""A server that speaks the start-up of PostgreSQL's protocol, says that it is 9.6, and knows nothing else."""

from __future__ import annotations

import socketserver
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_ENCRYPTION = (80877103, 80877104)
"""The codes of requests for TLS and for GSSAPI."""


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        """Let everybody in, report the version, and close when the client writes anything else."""
        while True:
            length, code = struct.unpack("!ii", self.rfile.read(8))
            self.rfile.read(length - 8)
            if code not in _ENCRYPTION:
                break
            self.wfile.write(b"N")
        self._send(b"R", struct.pack("!i", 0))
        for name, value in {"server_version": "9.6.24", "client_encoding": "UTF8"}.items():
            self._send(b"S", f"{name}\0{value}\0".encode())
        self._send(b"K", struct.pack("!ii", 1, 1))
        self._send(b"Z", b"I")
        self.rfile.read(1)

    def _send(self, kind: bytes, body: bytes) -> None:
        self.wfile.write(kind + struct.pack("!i", len(body) + 4) + body)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False


@contextmanager
def old_postgres() -> Iterator[str]:
    """Run the server on loopback; gives the address of a database there."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield f"postgresql://mary@127.0.0.1:{server.server_address[1]}/desk"
        server.shutdown()
        thread.join()
