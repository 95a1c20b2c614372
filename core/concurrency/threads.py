"""Helpers for threads: work done once for many requests, and callbacks that run in the event loop."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import ParamSpec, TypeVar

import msgspec

P = ParamSpec("P")
T = TypeVar("T")

_log = logging.getLogger(__name__)


class Coalesced(msgspec.Struct, eq=False):
    """Does one piece of work in its own thread, and repeats it if it was requested again in the meantime.

    The thread begins with the first request and ends with `finish`: to start one each time could fail, or never
    return, while memory is short. Exceptions of `work` are logged.

    Args:
        work: what to do.
        name: the name of the thread.
        interval: the seconds between the end of the work and its next beginning, until `finish` is called.
    """

    work: Callable[[], None]
    name: str
    interval: float = 0.0
    _changed: threading.Condition = msgspec.field(default_factory=threading.Condition)
    _wanted: bool = False
    _finishing: bool = False
    _thread: threading.Thread | None = None

    def request(self) -> None:
        """Request the work, with the state of now."""
        with self._changed:
            self._wanted = True
            # One that had no memory to wait may have ended.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=in_context(self._run), name=self.name, daemon=True)
                self._thread.start()
            self._changed.notify()

    def finish(self, timeout: float | None = None) -> bool:
        """Wait until all requested work is done; False if `timeout` seconds were not enough."""
        with self._changed:
            self._finishing = True
            self._changed.notify()
            thread = self._thread
        if thread is not None:
            thread.join(timeout)
            return not thread.is_alive()
        return True

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._wanted or self._finishing)
                if not self._wanted:
                    self._thread = None
                    return
                self._wanted = False
            try:
                self.work()
            except Exception:
                _log.exception("%s failed", self.name)
            with self._changed:
                self._changed.wait_for(lambda: self._finishing, self.interval)


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
        except Exception as error:
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
