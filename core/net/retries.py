"""Repeats requests after failures that are temporary, with increasing waits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import stamina

from core.errors import Advice, ConnectionFailed

__all__ = ["ATTEMPTS", "Retryable", "with_retries"]

ATTEMPTS = 3
T = TypeVar("T")


class Retryable(ConnectionFailed):
    """A temporary failure; `wait` is how long the server asks to wait, in seconds."""

    def __init__(self, message: str | Advice, *, code: str, wait: float | None = None) -> None:
        super().__init__(message, code=code)
        self.wait = wait


async def with_retries(
    request: Callable[[], Awaitable[T]], may_wait: Callable[[float], bool] = lambda _seconds: True
) -> T:
    """Make a request, at most three times; `may_wait` says whether there is time for a wait.

    Raises:
        Retryable: the last attempt failed, too, or there was no time for another one.
    """

    def retry(error: Exception) -> bool | float:
        if not isinstance(error, Retryable) or not may_wait(error.wait or 0.0):
            return False
        return True if error.wait is None else error.wait

    attempts = stamina.retry_context(
        on=retry, attempts=ATTEMPTS, timeout=None, wait_initial=0.3, wait_max=3.0, wait_jitter=0.3
    )
    async for attempt in attempts:
        with attempt:
            return await request()
    raise AssertionError("a retry loop ends by returning or raising")
