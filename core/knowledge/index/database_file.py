"""The name of the knowledge base's file, and the files beside it that other programs have left."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

FILE = "knowledge.db"
"""The usual name of the file, which is in the folder of the sessions."""


def damaged_files(path: Path) -> list[Path]:
    """The files that were set aside, with their logs."""
    try:
        with os.scandir(path.parent) as found:
            names = [each.name for each in found if each.name.startswith(f"{path.name}.corrupt-")]
    except OSError:
        return []
    return [path.with_name(name) for name in sorted(names)]


def remove_unfinished(path: Path) -> None:
    """Remove the file beside the database that a rebuild has left which was killed; one that runs keeps its file.

    Raises:
        OSError: it cannot be removed.
    """
    from ua_tui.core.storage.sqlite import sidecars

    file = path.with_name(f"{path.name}.new")
    lock = file.with_name(f"{file.name}.lock")
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for each in (file, *sidecars(file), lock):
            with suppress(FileNotFoundError):
                os.unlink(each)
    except BlockingIOError:
        return
    finally:
        os.close(descriptor)
