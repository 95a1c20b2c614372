"""Waiting in tasks that may be cancelled: the result is kept, and no cancellation is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

Result = TypeVar("Result")

AGAIN_SECONDS = 30.0
"""A task that has not ended so long after it was cancelled has lost that, and is cancelled again."""


async def until(work: Coroutine[Any, Any, Result], end: Awaitable[object]) -> Result | None:
    """Do `work` until it is done or `end` is; returns None if the work was cancelled.

    When this returns, both have ended: whichever was still running is cancelled, also if the caller is cancelled. Pass
    a future that others await as `asyncio.shield(future)`.

    Raises:
        Exception: the exception of `end` or of the work, even one raised during its cancellation.
    """
    doing, ending = asyncio.ensure_future(work), asyncio.ensure_future(end)
    try:
        await asyncio.wait((doing, ending), return_when=asyncio.FIRST_COMPLETED)
    finally:
        await end_tasks(doing, ending)
    if not ending.cancelled():
        ending.result()
    return None if doing.cancelled() else doing.result()


async def end_tasks(*tasks: asyncio.Future[Any]) -> None:
    """Cancel tasks, and return when all have ended, however they did."""
    cancelled: asyncio.CancelledError | None = None
    while left := [each for each in tasks if not each.done()]:
        for each in left:
            each.cancel()
        try:
            await asyncio.wait(left, timeout=AGAIN_SECONDS)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled


async def pause(seconds: float | None, wake: asyncio.Event | None = None) -> bool:
    """Wait in a loop for so long, None for ever, or until the event is set; returns whether it is.

    A loop that waits with this ends when its task is cancelled, whatever happened to that in its other work.

    Raises:
        asyncio.CancelledError: the task is cancelled, or was before and something has swallowed that.
    """
    if cancellations():
        raise asyncio.CancelledError
    wake = wake or asyncio.Event()
    # Not `wait_for`: Python 3.11 loses a cancellation that comes together with what is waited for.
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await wake.wait()
    return wake.is_set()


def cancellations() -> int:
    """How often the running task was cancelled; 0 in a thread without an event loop."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return 0
    return task.cancelling() if task is not None else 0
