"""Work in threads that stops when its result is no longer needed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event
from typing import TypeVar, TypeVarTuple

Result = TypeVar("Result")
Item = TypeVar("Item")
Arguments = TypeVarTuple("Arguments")
_current: ContextVar[Event] = ContextVar("stop", default=Event())  # noqa: B039  # the default is never set


class Stopped(BaseException):
    """The work was cancelled because its result is no longer needed: no failure, so that nothing takes it for one."""


def stop_flag() -> Event:
    """Return the flag that stops the work in which this is called: for another thread that works for it."""
    return _current.get()


def check_stopped() -> None:
    """Stop the work in which this is called if its result is no longer needed.

    Raises:
        Stopped: the result is no longer needed.
    """
    if stop_flag().is_set():
        raise Stopped


def checked(items: Iterable[Item]) -> Iterator[Item]:
    """Yield items until the work in which this is called is stopped, which is looked for now and then.

    Raises:
        Stopped: the result is no longer needed.
    """
    for place, item in enumerate(items):
        if not place & 255:
            check_stopped()
        yield item


@contextmanager
def stoppable(stop: Event) -> Iterator[None]:
    """Run a block that any thread can stop with this flag, as far as the block asks for it."""
    before = _current.set(stop)
    try:
        yield
    finally:
        _current.reset(before)


async def in_thread(work: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
    """Run `work` in a thread, with these arguments; it is to stop when the waiting task is cancelled.

    A thread cannot be killed: work that did not ask would delay the next file and the end of the program.
    """
    stop = Event()

    def run() -> Result:
        with stoppable(stop):
            return work(*arguments)

    try:
        return await asyncio.to_thread(run)
    finally:
        stop.set()
