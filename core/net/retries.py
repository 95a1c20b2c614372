"""Repeats a request that failed temporarily: three attempts, with a short pause or the one that a service asks for."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from ua_tui.core.errors import Advice, ConnectionFailed

_Result = TypeVar("_Result")


class Retryable(ConnectionFailed):
    """A temporary failure; `wait` is how long the service asks to wait, in seconds."""

    def __init__(self, message: str | Advice, *, code: str, wait: float | None = None) -> None:
        super().__init__(message, code=code)
        self.wait = wait


async def with_retries(
    request: Callable[[], Awaitable[_Result]], may_wait: Callable[[float], bool] = lambda _seconds: True
) -> _Result:
    """Make a request, again if it raises `Retryable` and `may_wait` allows to wait for so many seconds."""
    import stamina

    def retry(error: Exception) -> bool | float:
        if not isinstance(error, Retryable) or not may_wait(error.wait or 0.0):
            return False
        return True if error.wait is None else error.wait

    caller = stamina.AsyncRetryingCaller(
        attempts=3, timeout=None, wait_initial=0.3, wait_max=3.0, wait_jitter=0.3
    )
    return await caller(retry, request)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """How many seconds a service asks to wait; None if it does not say."""
    text = headers.get("retry-after", "").strip()
    try:
        seconds = float(text)
    except ValueError:
        try:
            moment = parsedate_to_datetime(text)
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return max((moment - datetime.now(UTC)).total_seconds(), 0.0)
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
