"""Work that is cancelled if something else happens first."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


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
        doing.cancel()
        ending.cancel()
        await asyncio.gather(doing, ending, return_exceptions=True)
    if not ending.cancelled():
        ending.result()
    return None if doing.cancelled() else doing.result()
