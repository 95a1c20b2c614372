"""The process that `core.concurrency.worker` starts: receives tasks on a socket and does them one by one."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec

from core.errors import UniversalAgentError
from core.redaction.redactor import Redactor
from core.storage.workspace import Workspace
from core.text import clean_line

__all__ = ["TaskContext", "main"]

# When it is started as a program, this module has another name.
_log = logging.getLogger("core.concurrency.worker_child")
_IDLE_SECONDS = 30.0
_NICENESS = 5
_MOST_KEPT = 32 << 20


class TaskContext:
    """What a task can use: the session's workspace, texts of the caller, and values that earlier tasks cached."""

    def __init__(self, link: Connection, workspace: Workspace) -> None:
        self._link = link
        self._saying = threading.Lock()
        self._kept: dict[str, tuple[Any, int]] = {}
        self.workspace = workspace

    def texts(self, name: str) -> list[str]:
        """Request texts from the caller of the task."""
        self.say("ask", name)
        count = msgspec.msgpack.decode(self._link.recv_bytes(), type=int)
        texts = []
        for _ in range(count):
            pieces = []
            while piece := self._link.recv_bytes():
                pieces.append(piece)
            texts.append(b"".join(pieces).decode("utf-8", "surrogatepass"))
        return texts

    def keep(self, key: str, value: Any, size: int) -> None:
        """Cache a value for later tasks: the newest value, and older ones up to 32 Mi in total."""
        self._kept.pop(key, None)
        self._kept[key] = (value, size)
        while len(self._kept) > 1 and sum(size for _, size in self._kept.values()) > _MOST_KEPT:
            del self._kept[next(iter(self._kept))]

    def kept(self, key: str) -> Any:
        """The value cached under `key`, or None."""
        return self._kept.get(key, (None, 0))[0]

    def say(self, kind: str, value: Any) -> None:
        """Send a message to the caller of the task."""
        word = msgspec.msgpack.encode((kind, value))
        # A thread left behind by a plug-in may log at any moment.
        with self._saying:
            self._link.send_bytes(word)


class _ParentHandler(logging.Handler):
    """Sends log records to the parent process, which writes them to its log."""

    def __init__(self, desk: TaskContext) -> None:
        super().__init__()
        self._desk = desk

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError, ValueError):
            text = self.format(record).encode("utf-8", "replace").decode()
            self._desk.say("log", (record.name, record.levelno, text))


def _run(desk: TaskContext, task: str, argument: Any) -> None:
    module, _, function = task.partition(":")
    try:
        result = getattr(import_module(module), function)(desk, argument)
        desk.say("done", result)
    except UniversalAgentError as error:
        desk.say("failed", clean_line(str(error), 500))
    except Exception as error:
        _log.exception("%s failed", task)
        desk.say("failed", clean_line(f"{type(error).__name__}: {error}", 500))


def main(arguments: list[str]) -> int:
    """Do tasks until the parent process is gone or there was no task for half a minute."""
    # The parent process handles keys typed at the terminal, and the screen has priority.
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.nice(_NICENESS)
    descriptor, folder, reports = arguments
    link = Connection(int(descriptor))
    redactor = Redactor()
    desk = TaskContext(link, Workspace(Path(folder), Path(reports), redactor))
    logging.basicConfig(level=logging.WARNING, handlers=[_ParentHandler(desk)], format="%(message)s")
    try:
        desk.say("ready", None)
        while link.poll(_IDLE_SECONDS):
            task, asked, secrets = msgspec.msgpack.decode(
                link.recv_bytes(), type=tuple[str, Any, list[bytes]]
            )
            for secret in secrets:
                redactor.add(secret.decode("utf-8", "surrogatepass"))
            _run(desk, task, asked)
    except (EOFError, OSError):
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
