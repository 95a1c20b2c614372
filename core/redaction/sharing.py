"""Shares the known secrets of a session with its child processes, so that these mask them, too.

They pass through a socket in a folder that only the user can enter: never through a command line, a variable or a file.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from pathlib import Path

import msgspec

from ua_tui.core.log import log
from ua_tui.core.redaction.redactor import Redactor

_SECONDS = 5.0
_PIECE = 64 << 10


@contextmanager
def short_path(path: Path) -> Iterator[str]:
    """The path of a socket by its folder's descriptor if it is longer than the system accepts."""
    if len(os.fsencode(path)) <= 100:
        yield os.fspath(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def bound_socket(path: Path, kind: int = socket.SOCK_STREAM) -> socket.socket:
    """A socket at a path, for this user alone.

    Raises:
        OSError: it cannot be created.
    """
    bound = socket.socket(socket.AF_UNIX, kind)
    try:
        with short_path(path) as name:
            bound.bind(name)
        path.chmod(0o600)
    except BaseException:
        bound.close()
        raise
    return bound


class SharedSecrets:
    """Gives the values that a redactor knows to every program of this user that connects to a socket.

    Args:
        path: where the socket is created, in a folder that nobody else can enter.
        redactor: has the values, those that it learns later, too.

    Raises:
        OSError: the socket cannot be created.
    """

    def __init__(self, path: Path, redactor: Redactor) -> None:
        self.path = path
        self._redactor = redactor
        self._socket = bound_socket(path)
        self._socket.listen(8)
        threading.Thread(
            target=copy_context().run, args=(self._serve,), name="shared secrets", daemon=True
        ).start()

    def close(self) -> None:
        """Stop answering, and remove the socket."""
        # Closing alone would not wake the thread.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        with suppress(OSError):
            self.path.unlink(missing_ok=True)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                connection.settimeout(_SECONDS)
                values = [value.encode("utf-8", "surrogatepass") for value in sorted(self._redactor.values)]
                connection.sendall(msgspec.msgpack.encode(values))


def learn_secrets(path: Path, redactor: Redactor) -> bool:
    """Have a redactor know what the session knows now; returns False if the session cannot be reached."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_SECONDS)
            with short_path(path) as name:
                connection.connect(name)
            pieces = []
            while piece := connection.recv(_PIECE):
                pieces.append(piece)
        values = msgspec.msgpack.decode(b"".join(pieces), type=list[bytes])
    except (OSError, msgspec.MsgspecError) as error:
        log.warning("the secrets of the session are not known here: %s", error)
        return False
    for value in values:
        redactor.add(value.decode("utf-8", "surrogatepass"))
    return True
