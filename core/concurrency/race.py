"""Work that is given up when something else comes about first."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar

__all__ = ["until"]

Made = TypeVar("Made")


async def until(work: Coroutine[Any, Any, Made], end: Awaitable[object]) -> Made | None:
    """Do `work` until it is done or `end` has come about; None when it was given up.

    What is left of either is cancelled, also when whoever waits here is, and has come to its end when this returns.
    A future that others look at is given as `asyncio.shield(future)`.

    Raises:
        Exception: what `end` or the work failed of, even if only while it was given up.
    """
    doing, ending = asyncio.ensure_future(work), asyncio.ensure_future(end)
    try:
        await asyncio.wait((doing, ending), return_when=asyncio.FIRST_COMPLETED)
    finally:
        doing.cancel()
        ending.cancel()
        await asyncio.gather(doing, ending, return_exceptions=True)
    if not ending.cancelled():
        ending.result()
    return None if doing.cancelled() else doing.result()
