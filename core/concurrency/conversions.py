"""Converts untrusted content (HTML, PDF, pictures) in worker processes with a time and a memory limit.

A page of a few kilobytes can keep a parser busy for hours, need any amount of memory, or crash it. Here such a page
costs one process, which is ended after its time, or as soon as nobody needs the result any more.
"""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, LifoQueue
from typing import Any

from ua_tui.core.concurrency.cancellation import check_stopped
from ua_tui.core.concurrency.worker import WorkerCrashed, WorkerFailed, WorkerProcess, WorkerTimeout
from ua_tui.core.errors import UniversalAgentError


class ConversionFailed(UniversalAgentError):
    """Content cannot be converted; the message is a clause that says why."""


class TooComplex(ConversionFailed):
    """Content needs more time or memory than conversions are allowed."""


class Conversions:
    """Runs conversions, each in one of at most `processes` worker processes of 1 GiB, which are reused.

    A conversion is a function of one of our modules, as `WorkerProcess.call` describes it. Call it from threads.
    """

    def __init__(self, processes: int = 2) -> None:
        self._workers = [WorkerProcess(memory=1 << 30) for _ in range(processes)]
        self._free: LifoQueue[WorkerProcess] = LifoQueue()
        for worker in self._workers:
            self._free.put(worker)

    def run(
        self,
        task: str,
        argument: Any,
        *,
        seconds: float,
        on_part: Callable[[Any], object] | None = None,
    ) -> Any:
        """Convert something within `seconds`; `on_part` gets what the conversion sends before its end.

        Raises:
            TooComplex: it takes longer, needs too much memory, or crashes the parser.
            ConversionFailed: the conversion raised an exception, or no process can be started.
            Stopped: the result is no longer needed.
        """
        worker = self._next_free()
        try:
            return worker.call(task, argument, seconds=seconds, on_part=on_part)
        except WorkerTimeout as error:
            raise TooComplex(str(error)) from error
        except WorkerCrashed as error:
            raise TooComplex("it needs too much memory, or crashes the parser") from error
        except WorkerFailed as error:
            raise ConversionFailed(str(error)) from error
        finally:
            self._free.put(worker)

    def close(self) -> None:
        """End the processes, also those that are working."""
        for worker in self._workers:
            worker.close()

    def _next_free(self) -> WorkerProcess:
        while True:
            check_stopped()
            try:
                return self._free.get(timeout=0.02)
            except Empty:
                continue
