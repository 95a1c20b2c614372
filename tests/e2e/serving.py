"""MCP servers of the tests that others connect to, each a process on loopback."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import wait_until

_ROOT = Path(__file__).parents[2]


def free_port() -> int:
    """A port that nobody has, and that nobody gets who does not ask for it by its number.

    Its last connection was closed by the server's side: for a minute the system gives the port to nobody else.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as client:
            server.accept()[0].close()
            client.recv(1)
        return int(server.getsockname()[1])


@contextmanager
def serving(module: str, port: int, *args: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a module of these tests until it listens on `port`, and end it afterwards."""
    command = [sys.executable, "-m", f"tests.e2e.{module}", *args]
    with subprocess.Popen(command, cwd=_ROOT) as process:
        try:
            wait_until(lambda: _listens(port) or process.poll() is not None)
            assert process.poll() is None, f"{module} ended"
            yield process
        finally:
            process.kill()


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0
