"""Work in threads that stops when its result is no longer needed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")


class Stopped(Exception):
    """The work was cancelled because its result is no longer needed."""


class Stop:
    """A flag that a loop in a thread checks; any thread may set it.

    Attributes:
        is_set: whether the work is cancelled.
    """

    __slots__ = ("is_set",)

    def __init__(self) -> None:
        self.is_set = False

    def set(self) -> None:
        """Cancel the work."""
        self.is_set = True

    def check(self) -> None:
        """Stop the work if the flag is set.

        Raises:
            Stopped: the flag was set.
        """
        if self.is_set:
            raise Stopped


NEVER = Stop()
"""A flag that is never set."""


async def in_thread(work: Callable[[*Arguments, Stop], Result], *arguments: *Arguments) -> Result:
    """Run `work` in a thread, with these arguments and a flag that is set when the waiting task is cancelled.

    A thread cannot be killed: without the flag, abandoned work would delay the next file and the end of the program.
    """
    stop = Stop()
    try:
        return await asyncio.to_thread(work, *arguments, stop)
    finally:
        stop.set()
