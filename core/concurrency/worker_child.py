"""The process that `ua_tui.core.concurrency.worker` starts: receives tasks on a socket and does them one by one."""

from __future__ import annotations

import logging
import os
import resource
import signal
import sys
import threading
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.log import log
from ua_tui.core.text import clean_line

if TYPE_CHECKING:
    from ua_tui.core.storage.workspace import Workspace

_IDLE_SECONDS = 30.0
_MOST_KEPT = 32 << 20


class TaskContext:
    """What a task can use: the session's workspace, texts of the caller, and values that earlier tasks cached."""

    def __init__(self, link: Connection, workspace: Workspace | None = None) -> None:
        self._link = link
        self._saying = threading.Lock()
        self._kept: dict[str, tuple[Any, int]] = {}
        self._workspace = workspace

    @property
    def workspace(self) -> Workspace:
        """The session's workspace, which the tasks of conversions do not have."""
        assert self._workspace is not None
        return self._workspace

    def texts(self, name: str) -> list[str]:
        """Request texts from the caller of the task."""
        self.say("ask", name)
        count = msgspec.msgpack.decode(self._link.recv_bytes(), type=int)
        texts = []
        for _ in range(count):
            data = bytearray()
            while piece := self._link.recv_bytes():
                data += piece
            texts.append(data.decode("utf-8", "surrogatepass"))
            del data
        return texts

    def make_room(self) -> None:
        """Forget cached values of more than 32 Mi in total, before another large one arrives."""
        while sum(size for _, size in self._kept.values()) > _MOST_KEPT:
            del self._kept[next(iter(self._kept))]

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


def _run(desk: TaskContext, task: str, argument: Any, seconds: float) -> None:
    module, _, function = task.partition(":")
    try:
        # The default action of its signal ends this process, even in compiled code and if the parent is gone.
        signal.setitimer(signal.ITIMER_REAL, seconds)
        result = getattr(import_module(module), function)(desk, argument)
        signal.setitimer(signal.ITIMER_REAL, 0)
        desk.say("done", result)
    except UniversalAgentError as error:
        desk.say("failed", clean_line(str(error), 500))
    except MemoryError:
        # What else is in this process may fail next.
        os._exit(1)
    except Exception as error:
        log.exception("%s failed", task)
        desk.say("failed", clean_line(f"{type(error).__name__}: {error}", 500))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _workspace(folder: str, reports: str) -> Workspace:
    from ua_tui.core.redaction.redactor import Redactor
    from ua_tui.core.storage.workspace import Workspace

    return Workspace(Path(folder), Path(reports), Redactor())


def _limit_memory(size: int) -> None:
    # Some systems have no such limit.
    with suppress(ValueError, OSError):
        if size:
            resource.setrlimit(resource.RLIMIT_AS, (size, size))
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main(arguments: list[str]) -> int:
    """Do tasks until the parent process is gone or there was no task for half a minute."""
    # The parent process handles keys typed at the terminal, and the screen has priority.
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.nice(5)
    descriptor, memory, *folders = arguments
    link = Connection(int(descriptor))
    desk = TaskContext(link, _workspace(*folders) if folders else None)
    if folders:
        logging.basicConfig(level=logging.WARNING, handlers=[_ParentHandler(desk)], format="%(message)s")
    else:
        logging.disable()
        _limit_memory(int(memory))
    try:
        desk.say("ready", None)
        # Starting takes longer than most conversions, and little memory is kept between them.
        while link.poll(300.0 if int(memory) else _IDLE_SECONDS):
            task, asked, secrets, seconds = msgspec.msgpack.decode(
                link.recv_bytes(), type=tuple[str, Any, list[bytes], float]
            )
            for secret in secrets:
                desk.workspace.redactor.add(secret.decode("utf-8", "surrogatepass"))
            _run(desk, task, asked, seconds)
    except (EOFError, OSError):
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
