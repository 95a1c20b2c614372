"""Work in threads that ends when nobody waits for it any more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

__all__ = ["NEVER", "Stop", "Stopped", "in_thread"]

Made = TypeVar("Made")


class Stopped(Exception):
    """The work was given up because its result is no longer wanted."""


class Stop:
    """A flag that a loop in a thread looks at, set from anywhere."""

    __slots__ = ("_set",)

    def __init__(self) -> None:
        self._set = False

    def set(self) -> None:
        """Ask the work to end."""
        self._set = True

    def check(self) -> None:
        """Go on, or end the work.

        Raises:
            Stopped: the flag was set.
        """
        if self._set:
            raise Stopped


NEVER = Stop()
"""A flag that nobody sets."""


async def in_thread(work: Callable[[Stop], Made]) -> Made:
    """Run `work` in a thread; cancelling the task that waits for it sets its flag.

    A thread cannot be killed: what is waited for would go on to its end, and hold up the next file and the
    end of the program.
    """
    stop = Stop()
    try:
        return await asyncio.to_thread(work, stop)
    finally:
        stop.set()
