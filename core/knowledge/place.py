"""Where the knowledge base is: a file of this machine, or the database of a team; opens either.

What needs the packages of a team is imported only for the address of a database.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from core.knowledge.database_file import FILE, identity
from core.postgres.address import Address
from core.settings.model import Settings
from core.storage.workspace import WORKSPACES

if TYPE_CHECKING:
    from core.knowledge.embeddings import Embedder
    from core.knowledge.postgres.search import PostgresSearch
    from core.knowledge.postgres.store import PostgresStore
    from core.knowledge.postgres.vectors import PostgresVectors
    from core.knowledge.search import KnowledgeSearch
    from core.knowledge.store import KnowledgeStore
    from core.knowledge.vectors import VectorStore

__all__ = [
    "AnySearch",
    "AnyStore",
    "AnyVectors",
    "KnowledgePlace",
    "Origin",
    "check_packages",
    "is_made",
    "open_search",
    "open_store",
    "open_vectors",
    "place_of",
    "read_place",
    "shown_place",
    "version_of",
    "written_place",
]

KnowledgePlace = Path | Address
"""A SQLite file, or the PostgreSQL database of a team."""
AnyStore: TypeAlias = "KnowledgeStore | PostgresStore"
AnySearch: TypeAlias = "KnowledgeSearch | PostgresSearch"
AnyVectors: TypeAlias = "VectorStore | PostgresVectors"


@dataclass(frozen=True, slots=True)
class Origin:
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
    return (0, 0) if isinstance(place, Address) else identity(place)


def open_store(place: KnowledgePlace, origins: Mapping[str, Origin] | None = None) -> AnyStore:
    """Open what writes to the knowledge base; `origins` has the sessions of the team by the names of their folders.

    Raises:
        KnowledgeError: it cannot be opened.
    """
    if isinstance(place, Address):
        check_packages()
        from core.knowledge.postgres.store import PostgresStore

        return PostgresStore(place, origins)
    from core.knowledge.store import KnowledgeStore

    return KnowledgeStore(place)


def open_search(
    place: KnowledgePlace, *, budget: float | None = None, embedder: Embedder | None = None
) -> AnySearch:
    """Open what answers queries; nothing is read before the first one.

    Args:
        place: where the knowledge base is.
        budget: the seconds after which a search answers with what it has, if not the usual ones.
        embedder: makes the vector of a query; None for no search by meaning.

    Raises:
        KnowledgeError: the packages for a team's database are missing.
    """
    from core.knowledge.search import BUDGET, KnowledgeSearch

    seconds = BUDGET if budget is None else budget
    if isinstance(place, Address):
        check_packages()
        from core.knowledge.postgres.search import PostgresSearch

        return PostgresSearch(place, budget=seconds, embedder=embedder)
    return KnowledgeSearch(place, budget=seconds, embedder=embedder)


def open_vectors(place: KnowledgePlace) -> AnyVectors:
    """Open what stores the vectors of passages.

    Raises:
        KnowledgeError: it cannot be opened.
    """
    if isinstance(place, Address):
        check_packages()
        from core.knowledge.postgres.vectors import PostgresVectors

        return PostgresVectors(place)
    from core.knowledge.vectors import VectorStore

    return VectorStore(place)


def check_packages() -> None:
    """Check that the packages of a team are installed.

    Raises:
        KnowledgeError: they are not.
    """
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        from core.errors import KnowledgeError
        from core.postgres.problems import missing_extra

        raise KnowledgeError(str(missing_extra(error))) from error
