"""Threads that work for the event loop: tasks that run when they are due, and callbacks in the loop."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import ParamSpec, TypeVar

import msgspec

from ua_tui.core.log import log

P = ParamSpec("P")
T = TypeVar("T")


def in_context(work: Callable[P, T]) -> Callable[P, T]:
    """Wrap `work` so that it runs in the current context, also in a new thread, which has none of its own.

    What a thread logs belongs to the session that started it: its context says which one that is.
    """
    return partial(copy_context().run, work)


def in_loop(callback: Callable[P, object]) -> Callable[P, None]:
    """Wrap `callback` so that it runs in the current event loop, whichever thread calls it.

    Without a running loop, and in the loop's own thread, it is called directly.
    """
    home = _running_loop()

    def call(*args: P.args, **kwargs: P.kwargs) -> None:
        if home is None or _running_loop() is home:
            callback(*args, **kwargs)
            return
        # The loop may have ended in the meantime; nobody needs the result then.
        with suppress(RuntimeError):
            home.call_soon_threadsafe(lambda: callback(*args, **kwargs))

    return call


def begin_apart(work: Callable[[], T]) -> Future[T]:
    """Begin slow work in a thread for which the end of the program does not wait; it cannot be cancelled."""
    done: Future[T] = Future()
    done.set_running_or_notify_cancel()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=in_context(run), name="apart", daemon=True).start()
    return done


async def apart(work: Callable[[], T], within: float | None = None) -> T:
    """Do slow work as `begin_apart` does.

    Raises:
        TimeoutError: it took longer than `within` seconds; it continues, and its result is dropped.
    """
    async with asyncio.timeout(within):
        return await asyncio.wrap_future(begin_apart(work))


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


Task = Callable[[], None]


class Schedule(msgspec.Struct, eq=False):
    """Runs planned tasks one at a time, the earliest first, in a daemon thread that begins with the first plan.

    The methods may be called from any thread, a task's own among them. Exceptions of a task are logged. To start a
    thread for each task could fail, or never return, while memory is short.

    Args:
        name: the name of the thread.
        interval: the seconds between the end of a task and the beginning of the next, until `finish` is called.

    Attributes:
        is_stopped: whether a task that runs for long should end.
    """

    name: str
    interval: float = 0.0
    _changed: threading.Condition = msgspec.field(default_factory=threading.Condition)
    _due: dict[Task, float] = {}
    is_stopped: bool = False
    _is_finishing: bool = False
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

    def finish(self, seconds: float | None = None) -> bool:
        """Run at once what is planned, then end the thread; False if `seconds` were not enough."""
        with self._changed:
            self._is_finishing = True
            self._changed.notify()
            thread = self._thread
        if thread is not None:
            thread.join(seconds)
            return not thread.is_alive()
        return True

    def stop(self, seconds: float) -> bool:
        """Run nothing more, and wait at most so long for the running task; returns whether the thread has ended."""
        with self._changed:
            self.is_stopped = True
        return self.finish(seconds)

    def _run(self) -> None:
        while (task := self._next()) is not None:
            try:
                task()
            except Exception:
                log.exception("a task of %s failed", self.name)
            del task
            with self._changed:
                self._changed.wait_for(lambda: self._is_finishing, self.interval)

    def _next(self) -> Task | None:
        with self._changed:
            while not self.is_stopped:
                task = min(self._due, key=self._due.__getitem__, default=None)
                wait = None if task is None else self._due[task] - time.monotonic()
                if task is not None and wait is not None and (wait <= 0 or self._is_finishing):
                    del self._due[task]
                    return task
                if self._is_finishing:
                    break
                self._changed.wait(wait)
            # Whoever plans a task now needs another thread.
            self._thread = None
        return None
