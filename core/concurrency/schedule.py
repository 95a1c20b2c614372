"""One thread that runs tasks when they are due, and sleeps in between."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

import msgspec

from ua_tui.core.concurrency.threads import in_context

_log = logging.getLogger(__name__)

Task = Callable[[], None]


class Schedule(msgspec.Struct, eq=False):
    """Runs planned tasks one at a time, the earliest first, in a daemon thread that begins with the first plan.

    The methods may be called from any thread, a task's own among them. Exceptions of a task are logged.

    Attributes:
        is_stopped: whether a task that runs for long should end.
    """

    name: str
    _changed: threading.Condition = msgspec.field(default_factory=threading.Condition)
    _due: dict[Task, float] = {}
    is_stopped: bool = False
    _thread: threading.Thread | None = None

    def plan(self, task: Task, seconds: float = 0.0, *, again: bool = False) -> None:
        """Run a task once after so many seconds; one that is planned keeps its time, unless it is planned `again`."""
        with self._changed:
            if self.is_stopped or (task in self._due and not again):
                return
            self._due[task] = time.monotonic() + seconds
            # A thread that had no memory to wait may have ended.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=in_context(self._run), name=self.name, daemon=True)
                self._thread.start()
            self._changed.notify()

    def cancel(self, task: Task) -> None:
        """Do not run a task, unless it is planned later."""
        with self._changed:
            self._due.pop(task, None)

    def stop(self, seconds: float) -> bool:
        """Run nothing more, and wait at most so long for the running task; returns whether the thread has ended."""
        with self._changed:
            self.is_stopped = True
            self._changed.notify()
            thread = self._thread
        if thread is None:
            return True
        thread.join(seconds)
        return not thread.is_alive()

    def _run(self) -> None:
        while (task := self._next()) is not None:
            try:
                task()
            except Exception:
                _log.exception("a task of %s failed", self.name)
            del task

    def _next(self) -> Task | None:
        with self._changed:
            while not self.is_stopped:
                task = min(self._due, key=self._due.__getitem__, default=None)
                wait = None if task is None else self._due[task] - time.monotonic()
                if task is not None and wait is not None and wait <= 0:
                    del self._due[task]
                    return task
                self._changed.wait(wait)
        return None
