"""When the garbage collector runs: not while the program starts, and seldom over everything.

Starting makes hundreds of thousands of objects that stay, and no garbage to speak of; each full collection looks
at all of them, whichever thread it runs in, and nothing else runs meanwhile (0.3 s with every library loaded).
What a running session draws is freed by the count of its references; without being told otherwise Python would all
the same look at everything once or twice in a second of streamed text, for a tenth of a second.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["deferred", "pause_collection", "resume_collection"]

YOUNG, MIDDLE, FULL = 700, 10, 500
"""When Python collects: after so many new objects, so many such collections, so many of the next kind."""


def pause_collection() -> None:
    """Collect nothing until `resume_collection`."""
    gc.disable()


def resume_collection() -> None:
    """Collect again, but never examine the objects that exist now."""
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, FULL)
    gc.enable()


@contextmanager
def deferred() -> Iterator[None]:
    """Collect nothing while the block runs."""
    pause_collection()
    try:
        yield
    finally:
        resume_collection()
