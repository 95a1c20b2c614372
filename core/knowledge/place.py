"""Where the knowledge base is, a file of this machine or the database of a team, and how it names sessions."""

from __future__ import annotations

import os
import socket
import stat
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ua_tui.core.postgres.address import Address
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.workspace import JOURNAL

if TYPE_CHECKING:
    from ua_tui.core.settings.model import Settings

KnowledgePlace = Path | Address
"""A SQLite file, or the PostgreSQL database of a team."""
FILE = "knowledge.db"
"""The usual name of the file, which is in the folder of the sessions."""


class Origin(msgspec.Struct, frozen=True):
    """Which session of a team is indexed; its rows are the same on every machine that works on it.

    Attributes:
        id: the id of the session in the team.
        attempt: a writer with an earlier one than the session has by now is refused.
        owner: the role whose rows they become; None for that of the connection.
        shared: whether the team may find them.
    """

    id: str
    attempt: int = 1
    owner: str | None = None
    shared: bool = True


def place_of(settings: Settings) -> KnowledgePlace | None:
    """Where the knowledge base of a session is; None if the settings turn it off."""
    match settings.knowledge:
        case "off":
            return None
        case "on":
            return settings.workspace_base / WORKSPACES / FILE
        case place:
            return place


def read_place(text: str) -> KnowledgePlace:
    """Read what `written_place` has written.

    Raises:
        SettingsError: it is an address that cannot be read, or one with a password.
    """
    return Address.parse(text) if text.startswith(("postgresql:", "postgres:")) else Path(text)


def written_place(place: KnowledgePlace) -> str:
    """Write a place so that `read_place` can read it; a relative path stays one."""
    return place.url if isinstance(place, Address) else os.fspath(place)


def exists(place: KnowledgePlace) -> bool:
    """Whether there is a file; the database of a team, which `ua-tui team migrate` makes, is not looked for."""
    return isinstance(place, Address) or os.path.lexists(place)


def folder_key(place: KnowledgePlace, folder: Path) -> str:
    """Return the name of a session's folder in the knowledge base, so that a folder with both can be moved.

    In a file it is the folder's own name if it lies beside it, else its path. In the database of a team it is the name
    of the machine with the path, since sessions of several machines may have the same name.
    """
    parent = folder.parent.resolve()
    if isinstance(place, Address):
        return f"{_host()}:{parent / folder.name}"
    return folder.name if parent == place.parent.resolve() else str(parent / folder.name)


def folder_path(place: KnowledgePlace, key: str) -> Path | None:
    """Return the folder of the session that is named `key`, if it still exists; None if it is on another machine."""
    if isinstance(place, Address):
        host, _, path = key.partition(":")
        return Path(path) if host == _host() else None
    # An absolute path stays as it is.
    return place.parent.resolve() / key


def journal_size(folder: Path) -> int | None:
    """The bytes of a session's journal; None if a folder is none of a session: one of the two is missing, or a link."""
    try:
        is_folder, journal = stat.S_ISDIR(os.lstat(folder).st_mode), os.lstat(folder / JOURNAL)
    except (OSError, ValueError):
        return None
    return journal.st_size if is_folder and stat.S_ISREG(journal.st_mode) else None


@cache
def _host() -> str:
    return socket.gethostname().replace(":", "-")
