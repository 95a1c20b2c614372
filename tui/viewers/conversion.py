"""The worker processes in which HTML, PDF, pictures and tags are converted for the screen and for the browser."""

from __future__ import annotations

import atexit
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.concurrency.conversions import Conversions

__all__ = ["conversions"]


@cache
def conversions() -> Conversions:
    """Return the worker processes, which end with this one."""
    from core.concurrency.conversions import Conversions

    made = Conversions()
    atexit.register(made.close)
    return made
