"""Opens files by their paths: regular files that anybody may have put there, and files of our own that only grow.

The journal, the log and the spans grow line by line. To open a pipe would wait for its other end.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from contextlib import suppress
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


def read_regular(path: Path | str, most: int = -1, *, follow: bool = False) -> bytes:
    """Read a file; a link is only followed with `follow`.

    Raises:
        OSError: as for `open_regular`, or it has more than `most` bytes: the code is EFBIG then.
        ValueError: no file can have this name.
    """
    with os.fdopen(open_regular(path, follow=follow), "rb") as file:
        data = file.read(most + 1 if most >= 0 else -1)
    if 0 <= most < len(data):
        raise OSError(errno.EFBIG, "it is too large")
    return data


def hold_lock(descriptor: int, seconds: float = 0.0) -> None:
    """Lock an open file or folder until it is closed, and wait so long for another program that has the lock.

    Raises:
        BlockingIOError: the other program still has it.
        OSError: it cannot be locked, as on some network file systems.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise
            time.sleep(0.01)


def is_locked(descriptor: int) -> bool:
    """Whether another program has the lock of an open file; otherwise it is shared until the file is closed.

    Raises:
        OSError: it cannot be locked.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def hash_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal; empty if it cannot be read. Links are followed."""
    # The screen reads settings before it is first drawn.
    import hashlib

    with suppress(OSError), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
    return ""


class AppendFile:
    """An open file to which complete lines are appended, each with one write, so that a reader never sees half a line.

    The file is private to its owner. A link, a pipe or a device in its place is refused. If a crash cut off the last
    line, a line break is added, so that the next line is separate. Every method may raise `OSError`; the file then ends
    with the last complete line.
    """

    def __init__(self, path: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        self._descriptor = os.open(path, flags, 0o600)
        try:
            state = os.fstat(self._descriptor)
            if not stat.S_ISREG(state.st_mode):
                raise OSError(f"{path} is not a regular file")
            if state.st_mode & 0o077:
                os.fchmod(self._descriptor, 0o600)
            self._torn = state.st_size > 0 and os.pread(self._descriptor, 1, state.st_size - 1) != b"\n"
        except BaseException:
            os.close(self._descriptor)
            raise

    @property
    def closed(self) -> bool:
        """Whether the file was closed."""
        return self._descriptor < 0

    def append(self, line: bytes) -> None:
        """Append a line; `line` ends with its line break."""
        if self.closed:
            raise OSError("the file is closed")
        if self._torn:
            line = b"\n" + line
        written = os.write(self._descriptor, line)
        if written != len(line):
            torn, self._torn = self._torn, True
            os.ftruncate(self._descriptor, os.fstat(self._descriptor).st_size - written)
            self._torn = torn
            raise OSError(f"only {written} of {len(line)} bytes could be written")
        self._torn = False

    def sync(self) -> None:
        """Wait until all appended lines are on the disk."""
        if not self.closed:
            getattr(os, "fdatasync", os.fsync)(self._descriptor)

    def close(self) -> None:
        """Close the file; closing it again does nothing."""
        if not self.closed:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)
