"""Opens files that anybody may have put there: regular files only, and without waiting for the other end of a pipe."""

from __future__ import annotations

import os
import stat
from pathlib import Path


class NotRegular(OSError):
    """What is there is no regular file; `mode` says what it is."""

    def __init__(self, mode: int) -> None:
        super().__init__(0, "it is not a regular file")
        self.mode = mode


def open_regular(path: Path | str, *, follow: bool = False) -> int:
    """Open a file to read it and return its descriptor; a link is only followed with `follow`.

    Raises:
        NotRegular: it is a folder, a pipe, a socket or a device.
        OSError: it cannot be opened.
        ValueError: no file can have this name.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW))
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise NotRegular(mode)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
