"""Names the folder of a session in the knowledge base, so that a folder that holds both can be copied or moved."""

from __future__ import annotations

import os
import socket
import stat
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ua_tui.core.postgres.address import Address
from ua_tui.core.storage.workspace import JOURNAL

if TYPE_CHECKING:
    from ua_tui.core.knowledge.place import KnowledgePlace

_ELSEWHERE = Path(os.devnull)
"""Nothing can be below it."""


def folder_key(place: KnowledgePlace, folder: Path) -> str:
    """Return the name of a session's folder in the knowledge base.

    In a file it is the folder's own name if it lies beside it, else its path. In the database of a team it is the name
    of the machine with the path, since sessions of several machines may have the same name.
    """
    parent = folder.parent.resolve()
    if isinstance(place, Address):
        return f"{_host()}:{parent / folder.name}"
    return folder.name if parent == place.parent.resolve() else str(parent / folder.name)


def folder_path(place: KnowledgePlace, key: str) -> Path:
    """Return the folder of the session that is named `key`; that of another machine does not exist."""
    if isinstance(place, Address):
        host, _, path = key.partition(":")
        return Path(path) if host == _host() else _ELSEWHERE / host / path.lstrip("/")
    # An absolute path stays as it is.
    return place.parent.resolve() / key


def is_here(place: KnowledgePlace, key: str) -> bool:
    """Whether the session that is named `key` is, or was, on this machine."""
    return not isinstance(place, Address) or key.partition(":")[0] == _host()


def is_session(folder: Path) -> bool:
    """Whether a folder is that of a session: it has a journal, and neither of the two is a link."""
    try:
        return stat.S_ISDIR(os.lstat(folder).st_mode) and stat.S_ISREG(os.lstat(folder / JOURNAL).st_mode)
    except (OSError, ValueError):
        return False


@cache
def _host() -> str:
    return socket.gethostname().replace(":", "-")
