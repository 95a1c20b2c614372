"""The open files of this process, to find out whether something leaves one open."""

from __future__ import annotations

import os
from contextlib import suppress


def open_files() -> set[tuple[str, str]]:
    """Each descriptor and what it leads to.

    A test asks which there are that were not there before: what an earlier test has left may be closed meanwhile.
    """
    found = set()
    for number in os.listdir("/proc/self/fd"):
        # That of the listing itself is closed.
        with suppress(FileNotFoundError):
            found.add((number, os.readlink(f"/proc/self/fd/{number}")))
    return found
