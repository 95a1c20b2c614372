"""The worker processes in which HTML, PDF, pictures and tags are converted for the screen and for the browser."""

from __future__ import annotations

import atexit
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ua_tui.core.concurrency.conversions import Conversions


@cache
def conversions() -> Conversions:
    """Return the worker processes, which end with this one."""
    from ua_tui.core.concurrency.conversions import Conversions

    made = Conversions()
    atexit.register(made.close)
    return made
