"""A worker process, for work that would block the event loop in this process or must not fail here.

Reading, searching and writing megabytes takes single calls of compiled code, during which no other thread runs. The
worker is started when it is first needed, with a lower priority, and exits after a while without work, so that its
memory is freed. `ua_tui.core.concurrency.conversions` limits the time and the memory of its tasks.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from ua_tui.core.concurrency.cancellation import check_stopped
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.postgres.address import connection_variables
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.text import clean_line

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_PIECE = 64 << 10
_INHERITED = (
    "PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TMP", "TEMP", "TZ", "PYTHONPATH", "SSL_CERT_FILE",
    "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy",
    "no_proxy",
)  # fmt: skip
_STOP_SECONDS = 2.0


class WorkerFailed(UniversalAgentError):
    """The worker process could not do its work, or ended before it was done."""


class WorkerUnavailable(WorkerFailed):
    """The worker process did not start the work: the caller may do it in its own process."""


class WorkerCrashed(WorkerFailed):
    """The worker process ended before the work was done."""


class WorkerTimeout(WorkerFailed):
    """The work took longer than it was allowed to; the worker process was ended."""


def packed(value: Any) -> bytes:
    """Encode a value for the worker process.

    Raises:
        WorkerUnavailable: it holds something that cannot be encoded, such as half a character.
    """
    try:
        return msgspec.msgpack.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        reason = clean_line(str(error), 200)
        raise WorkerUnavailable(f"the process for large results cannot take it ({reason})") from error


class WorkerProcess:
    """Runs tasks in the worker process, one at a time; call it from threads, never from the event loop.

    A task is a function of one of our modules, named `module:function`. It gets a `worker_child.TaskContext` and an
    argument. Arguments and results must be values that msgpack can encode. A worker without a workspace has neither
    plug-ins nor a log, and at most `memory` bytes of address space if that is given.
    """

    def __init__(self, workspace: Workspace | None = None, *, memory: int = 0) -> None:
        self._workspace = workspace
        self._memory = memory
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._link: Connection | None = None
        self._closed = False

    @property
    def workspace(self) -> Workspace:
        """The workspace that the worker writes to."""
        assert self._workspace is not None
        return self._workspace

    def call(
        self,
        task: str,
        argument: Any,
        answer: Callable[[str], Sequence[str]] | None = None,
        *,
        seconds: float = 0.0,
        on_part: Callable[[Any], object] | None = None,
    ) -> Any:
        """Run a task to its end.

        `answer` returns the texts that the task requests by name, and `on_part` gets each part of the result that the
        task sends before its end. After `seconds`, or if the work is stopped, the process is ended; 0 is no limit.

        Raises:
            WorkerUnavailable: the process cannot be started, or the argument cannot be encoded.
            WorkerTimeout: the task took longer than `seconds`.
            WorkerCrashed: the process ended before the task did.
            WorkerFailed: the task raised an exception.
            Stopped: the result is no longer needed.
        """
        with self._lock:
            message = packed((task, argument, self._secrets(), seconds))
            while True:
                is_new = self._link is None
                link = self._link or self._start()
                heard = False
                try:
                    link.send_bytes(message)
                    while True:
                        kind, value = _decoded(link)
                        heard = heard or kind != "log"
                        match kind:
                            case "done":
                                return value
                            case "failed":
                                raise WorkerFailed(str(value))
                            case "ask" if answer is not None:
                                _give(link, answer(str(value)))
                            case "part" if on_part is not None:
                                on_part(value)
                            case "log":
                                logging.getLogger(str(value[0])).log(int(value[1]), "%s", value[2])
                except WorkerFailed:
                    raise
                except (EOFError, OSError) as error:
                    if self._end() == -signal.SIGALRM:
                        raise WorkerTimeout(f"it takes longer than {seconds:g} s") from error
                    if is_new or heard or self._closed:
                        raise WorkerCrashed(
                            "the process that works on large results ended before it was done; "
                            "the result may be too large for this machine's memory"
                        ) from error
                    # It had just exited for lack of work: a new process gets the task.
                except BaseException:
                    # It works for nobody, or waits for an answer and would mistake the next task for it.
                    self._terminate()
                    self._end()
                    raise

    def kill(self) -> None:
        """Kill the process, and what it started, so that its task fails; the next task gets another one."""
        if (process := self._process) is not None and process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End the process, even during a task; no further task can run."""
        self._closed = True
        self._terminate()
        if not self._lock.acquire(timeout=_STOP_SECONDS):
            # It is stopped, or stuck in a call: its task ends with it.
            self.kill()
            if not self._lock.acquire(timeout=_STOP_SECONDS):
                return
        try:
            self._end()
        finally:
            self._lock.release()

    def _start(self) -> Connection:
        if self._closed:
            raise WorkerFailed("the session is closing")
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            raise _not_started(error.strerror) from error
        from multiprocessing.connection import Connection

        self._link = Connection(ours.detach())
        with theirs:
            try:
                self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                    self._command(theirs.fileno()),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={
                        # What it checks may be in the knowledge base of a team.
                        **connection_variables(os.environ),
                        **{name: os.environ[name] for name in _INHERITED if name in os.environ},
                    },
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                self._end()
                raise _not_started(error) from error
        try:
            # `close` may have run before the process existed.
            if not self._closed and self._link.poll(60.0) and _decoded(self._link)[0] == "ready":
                return self._link
        except (EOFError, OSError):
            pass
        closed = self._closed
        self._end()
        raise WorkerFailed("the session is closing") if closed else _not_started("it ended at once")

    def _command(self, descriptor: int) -> list[str]:
        workspace = self._workspace
        folders = () if workspace is None else (str(workspace.path), str(workspace.reports_path))
        program = [sys.executable or "python3", "-P", "-m", "ua_tui.core.concurrency.worker_child"]
        return [*program, str(descriptor), str(self._memory), *folders]

    def _secrets(self) -> list[bytes]:
        # Some come from the environment, whose bytes need not be text.
        known = () if self._workspace is None else sorted(self._workspace.redactor.values)
        return [value.encode("utf-8", "surrogatepass") for value in known]

    def _terminate(self) -> None:
        process = self._process
        if process is not None:
            with suppress(ProcessLookupError):
                process.terminate()

    def _end(self) -> int | None:
        """Wait for the process to end, and make it end; returns its exit code."""
        if self._link is not None:
            with suppress(OSError):
                self._link.close()
        process = self._process
        if process is not None:
            for harder in (process.terminate, process.kill):
                try:
                    process.wait(_STOP_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    harder()
            else:
                process.wait()
        self._link = self._process = None
        return None if process is None else process.returncode


def _not_started(reason: object) -> WorkerUnavailable:
    return WorkerUnavailable(f"the process that works on large results cannot be started ({reason})")


def _decoded(link: Connection) -> tuple[str, Any]:
    while not link.poll(0.02):
        check_stopped()
    return msgspec.msgpack.decode(link.recv_bytes(), type=tuple[str, Any])


def _give(link: Connection, texts: Sequence[str]) -> None:
    link.send_bytes(msgspec.msgpack.encode(len(texts)))
    for text in texts:
        # Piece by piece, so that other threads can run in between.
        for at in range(0, len(text), _PIECE):
            link.send_bytes(text[at : at + _PIECE].encode("utf-8", "surrogatepass"))
        link.send_bytes(b"")
