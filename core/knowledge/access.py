"""Opens the knowledge base, whatever it is: a file of this machine, or the database of a team."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ua_tui.core.errors import KnowledgeError, missing_extra
from ua_tui.core.knowledge.place import KnowledgePlace, Origin
from ua_tui.core.postgres.address import Address

if TYPE_CHECKING:
    from ua_tui.core.knowledge.index.store import KnowledgeStore


def open_store(
    place: KnowledgePlace, origins: Mapping[str, Origin] | None = None, *, read_only: bool = False
) -> KnowledgeStore:
    """Open the knowledge base; to be written, a missing file is made, and else nothing is opened before it is read.

    `origins` are the sessions of a team that are on this machine, by their names.

    Raises:
        KnowledgeError: it cannot be opened, or the packages for a team's database are missing.
    """
    if isinstance(place, Address):
        try:
            from ua_tui.core.knowledge.postgres.store import PostgresStore
        except ImportError as error:
            raise KnowledgeError(missing_extra("team", "working in a team")) from error
        return PostgresStore(place, origins, read_only=read_only)
    from ua_tui.core.knowledge.index.sqlite_store import SqliteStore

    return SqliteStore(place, read_only=read_only)
