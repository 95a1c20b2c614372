"""Controls the C library's allocator: large blocks of memory go back to the system as soon as they are freed."""

from __future__ import annotations

import sys

_M_MMAP_THRESHOLD = -3
_LARGE = 128 << 10


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
