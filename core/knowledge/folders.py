"""Names the folder of a session in the knowledge base, so that a folder that holds both can be copied or moved."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from core.storage.workspace import JOURNAL

__all__ = ["folder_key", "folder_path", "is_session"]


def folder_key(database: Path, folder: Path) -> str:
    """Return the name of a session's folder in the file `database`: its own if it lies beside it, else its path."""
    beside, place = database.parent.resolve(), folder.parent.resolve()
    return folder.name if place == beside else str(place / folder.name)


def folder_path(database: Path, key: str) -> Path:
    """Return the folder of the session that the file `database` names `key`."""
    # An absolute path stays as it is.
    return database.parent.resolve() / key


def is_session(folder: Path) -> bool:
    """Whether a folder is that of a session: it has a journal, and neither of the two is a link."""
    try:
        return stat.S_ISDIR(os.lstat(folder).st_mode) and stat.S_ISREG(os.lstat(folder / JOURNAL).st_mode)
    except (OSError, ValueError):
        return False
