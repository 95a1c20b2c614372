"""Progress and requests of a running call that the local toolkit reports; the Claude Code CLI passes neither on."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from ua_tui.core.events.types import Event, ToolCallProgress
from ua_tui.core.log import log
from ua_tui.core.redaction.sharing import bound_socket, short_path
from ua_tui.core.telemetry.http import OnRequest, ServiceRequest

_MOST_BYTES = 4 << 10


class ProgressReceiver:
    """Publishes the progress, and hands on the requests, that child processes send to a socket, until it is closed.

    Make it in the event loop.

    Args:
        path: where the socket is created, in a folder that nobody else can enter.
        publish: publishes an event.
        on_request: is called with each request.

    Raises:
        OSError: the socket cannot be created.
    """

    def __init__(
        self,
        path: Path,
        publish: Callable[[Event], object],
        on_request: OnRequest = lambda _request: None,
    ) -> None:
        self.path = path
        self._publish = publish
        self._on_request = on_request
        self._loop = asyncio.get_running_loop()
        self._socket = bound_socket(path, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._loop.add_reader(self._socket, self._receive)

    def close(self) -> None:
        """Stop receiving, and remove the socket."""
        self._loop.remove_reader(self._socket)
        self._socket.close()
        with suppress(OSError):
            self.path.unlink(missing_ok=True)

    def _receive(self) -> None:
        with suppress(BlockingIOError):
            message = self._socket.recv(_MOST_BYTES)
            try:
                found = msgspec.msgpack.decode(message, type=tuple[str, int, int, str] | ServiceRequest)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                log.warning("the progress of a call could not be read: %s", error)
                return
            if isinstance(found, ServiceRequest):
                self._on_request(found)
                return
            call, done, total, unit = found
            if not 0 <= done <= total:
                log.warning("the progress of a call makes no sense: %d of %d", done, total)
                return
            self._publish(ToolCallProgress(tool_use_id=call, done=done, total=total, unit=unit))


def send_progress(path: Path, tool_use_id: str, done: int, total: int, unit: str) -> None:
    """Send to the socket at `path` how much of a call is done; never waits, and what cannot be sent is lost."""
    _send(path, (tool_use_id, done, total, unit), seconds=0.0)


def send_request(path: Path, request: ServiceRequest) -> None:
    """Send to the socket at `path` a request that a call has made; hardly waits, and what cannot be sent is lost."""
    _send(path, request, seconds=0.1)


def _send(path: Path, message: object, *, seconds: float) -> None:
    with (
        suppress(OSError),
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending,
        short_path(path) as name,
    ):
        sending.settimeout(seconds)
        sending.sendto(msgspec.msgpack.encode(message), name)
