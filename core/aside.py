"""A child process for work on large results, which in this one would keep the event loop waiting.

Reading, searching and writing megabytes happens inside single calls of compiled code, and no other thread runs
until such a call is over. The child is started when it is first needed, with a lower priority, and ends by
itself when it has had nothing to do for a while, so that its memory is given back.
"""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import msgspec

from core.errors import UniversalAgentError
from core.workspace import Workspace

__all__ = ["Aside", "AsideFailed", "Pieces", "in_pieces"]

_log = logging.getLogger(__name__)
_PIECE = 64 << 10
_INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TMP", "TEMP", "TZ", "PYTHONPATH")
_STOP_SECONDS = 2.0


class AsideFailed(UniversalAgentError):
    """The child process could not do its work, or was ended before it had."""


class Pieces:
    """Texts to be sent a little at a time, so that other threads run in between."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = tuple(texts)


def in_pieces(text: str) -> Iterator[bytes]:
    """The text as UTF-8, at most 64 Ki characters at a time."""
    for at in range(0, len(text), _PIECE):
        yield text[at : at + _PIECE].encode("utf-8", "surrogatepass")


class Aside:
    """Runs tasks in the child, one at a time; for threads, never for the event loop.

    A task is a function of one of our modules, named `module:function`, that is given a `core.aside_child.Desk`
    and an argument. Arguments and results are what msgpack can carry.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._link: Connection | None = None
        self._closed = False

    def call(self, task: str, argument: Any, answer: Callable[[str], Pieces] | None = None) -> Any:
        """Run a task to its end; `answer` gives the texts that the task asks for by name.

        Raises:
            AsideFailed: the child ended before the task did, or the task raised something.
        """
        with self._lock:
            for _ in range(2):
                known = self._process is not None
                heard = False
                try:
                    for kind, value in self._exchange(task, argument):
                        heard = True
                        match kind:
                            case "done":
                                return value
                            case "failed":
                                raise AsideFailed(str(value))
                            case "ask" if answer is not None:
                                self._give(answer(str(value)))
                            case "log":
                                logging.getLogger(str(value[0])).log(int(value[1]), "%s", value[2])
                except (EOFError, OSError) as error:
                    self._end()
                    if self._closed:
                        raise AsideFailed("the session ended before it was done") from error
                    if known and not heard:
                        continue  # It had just ended for want of work.
                    raise AsideFailed(
                        "the process that works on large results ended before it was done; "
                        "the result may be too large for this machine's memory"
                    ) from error
            raise AsideFailed("the process that works on large results cannot be started")

    def close(self) -> None:
        """End the child, at whatever it is; no task can be run any more."""
        self._closed = True
        process = self._process
        if process is not None:
            with suppress(ProcessLookupError):
                process.terminate()
        if self._lock.acquire(timeout=_STOP_SECONDS):
            try:
                self._end()
            finally:
                self._lock.release()

    def _exchange(self, task: str, argument: Any) -> Iterator[tuple[str, Any]]:
        link = self._link or self._start()
        secrets = sorted(self._workspace.redactor.values)
        link.send_bytes(msgspec.msgpack.encode((task, argument, secrets)))
        while True:
            yield msgspec.msgpack.decode(link.recv_bytes(), type=tuple[str, Any])

    def _give(self, texts: Pieces) -> None:
        assert self._link is not None
        self._link.send_bytes(msgspec.msgpack.encode(len(texts.texts)))
        for text in texts.texts:
            for piece in in_pieces(text):
                self._link.send_bytes(piece)
            self._link.send_bytes(b"")

    def _start(self) -> Connection:
        if self._closed:
            raise AsideFailed("the session is closing")
        ours, theirs = socket.socketpair()
        with theirs:
            arguments = [str(theirs.fileno()), str(self._workspace.path), str(self._workspace.reports_path)]
            try:
                self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                    [sys.executable, "-P", "-m", "core.aside_child", *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={name: os.environ[name] for name in _INHERITED if name in os.environ},
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                raise AsideFailed(f"the process that works on large results: {error.strerror}") from error
        self._link = Connection(ours.detach())
        return self._link

    def _end(self) -> None:
        if self._link is not None:
            with suppress(OSError):
                self._link.close()
        if self._process is not None:
            for harder in (self._process.terminate, self._process.kill):
                try:
                    self._process.wait(_STOP_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    harder()
            else:
                self._process.wait()
        self._link = self._process = None
