"""Where the knowledge base is: a file of this machine, or the database of a team."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ua_tui.core.knowledge.index.database_file import FILE
from ua_tui.core.postgres.address import Address
from ua_tui.core.storage.folders import WORKSPACES

if TYPE_CHECKING:
    from ua_tui.core.settings.model import Settings

KnowledgePlace = Path | Address
"""A SQLite file, or the PostgreSQL database of a team."""


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


def shown_place(place: KnowledgePlace) -> str:
    """The place for a person."""
    return place.shown if isinstance(place, Address) else os.fspath(place)


def is_made(place: KnowledgePlace) -> bool:
    """Whether there is a knowledge base; that of a team is made by `ua-tui team migrate`, and not looked for here."""
    return isinstance(place, Address) or place.exists()


def version_of(place: KnowledgePlace) -> tuple[int, int] | None:
    """What tells a file from another that replaced it; None if there is none. A database is always the same."""
    from ua_tui.core.storage.sqlite import identity

    return (0, 0) if isinstance(place, Address) else identity(place)
