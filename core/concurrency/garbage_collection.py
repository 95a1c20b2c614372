"""Controls memory use: a garbage collector that rarely runs, and large blocks that go back to the system.

Starting creates hundreds of thousands of objects that stay, and hardly any garbage. A full collection examines all of
them and blocks every thread (0.3 s with all libraries loaded). The objects that a running session draws are freed by
reference counting; with its default thresholds Python would still examine everything once or twice per second of
streamed text, for a tenth of a second each time. A frame that is drawn makes thousands of objects, which replace those
of the frame before: with a threshold of hundreds they would be examined several times for each key.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_M_MMAP_THRESHOLD = -3
_LARGE = 128 << 10
YOUNG, MIDDLE, FULL = 10_000, 10, 35
"""The thresholds of the three generations, as `gc.set_threshold` takes them."""


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


def return_large_blocks() -> None:
    """Map every block of 128 KiB or more by itself: glibc's default, which is then never changed.

    When a mapped block is freed, glibc raises this threshold to its size, and the threshold for returning free memory
    to twice that, up to 64 MiB. Threads allocate from many heaps, and each of them would keep the megabytes that some
    thread needed once. Nothing happens with another C library.
    """
    if sys.platform == "linux":
        import ctypes

        library = ctypes.CDLL(None)
        if hasattr(library, "mallopt"):
            library.mallopt(_M_MMAP_THRESHOLD, _LARGE)
