"""The worker processes in which HTML and PDF are converted for the screen and for the browser."""

from __future__ import annotations

import atexit
from functools import cache

from core.concurrency.conversions import Conversions

__all__ = ["conversions"]


@cache
def conversions() -> Conversions:
    """Return the worker processes, which end with this one."""
    made = Conversions()
    atexit.register(made.close)
    return made
