"""When the garbage collector runs: not while the program starts.

Starting makes hundreds of thousands of objects that stay, and no garbage to speak of; each full collection looks
at all of them, whichever thread it runs in, and nothing else runs meanwhile (0.3 s with every library loaded).
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["deferred", "put_off", "resume"]


def put_off() -> None:
    """Collect nothing until `resume`."""
    gc.disable()


def resume() -> None:
    """Collect again, but never look at what exists by now."""
    gc.freeze()
    gc.enable()


@contextmanager
def deferred() -> Iterator[None]:
    """Collect nothing while the block runs."""
    put_off()
    try:
        yield
    finally:
        resume()
