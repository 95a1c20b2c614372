"""Opens the knowledge base, whatever it is: a file of this machine, or the database of a team.

What needs the packages of a team is imported only for the address of a database.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.place import KnowledgePlace, Origin
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.problems import missing_extra

if TYPE_CHECKING:
    from ua_tui.core.knowledge.index.store import KnowledgeStore
    from ua_tui.core.knowledge.index.vectors import VectorStore
    from ua_tui.core.knowledge.postgres.search import PostgresSearch
    from ua_tui.core.knowledge.postgres.store import PostgresStore
    from ua_tui.core.knowledge.postgres.vectors import PostgresVectors
    from ua_tui.core.knowledge.search.embeddings import Embedder
    from ua_tui.core.knowledge.search.search import KnowledgeSearch

AnyStore: TypeAlias = "KnowledgeStore | PostgresStore"
AnySearch: TypeAlias = "KnowledgeSearch | PostgresSearch"
AnyVectors: TypeAlias = "VectorStore | PostgresVectors"


def open_store(place: KnowledgePlace, origins: Mapping[str, Origin] | None = None) -> AnyStore:
    """Open what writes to the knowledge base; `origins` has the sessions of the team by the names of their folders.

    Raises:
        KnowledgeError: it cannot be opened.
    """
    if isinstance(place, Address):
        check_packages()
        from ua_tui.core.knowledge.postgres.store import PostgresStore

        return PostgresStore(place, origins)
    from ua_tui.core.knowledge.index.store import KnowledgeStore

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
    from ua_tui.core.knowledge.search.search import BUDGET, KnowledgeSearch

    seconds = BUDGET if budget is None else budget
    if isinstance(place, Address):
        check_packages()
        from ua_tui.core.knowledge.postgres.search import PostgresSearch

        return PostgresSearch(place, budget=seconds, embedder=embedder)
    return KnowledgeSearch(place, budget=seconds, embedder=embedder)


def open_vectors(place: KnowledgePlace) -> AnyVectors:
    """Open what stores the vectors of passages.

    Raises:
        KnowledgeError: it cannot be opened.
    """
    if isinstance(place, Address):
        check_packages()
        from ua_tui.core.knowledge.postgres.vectors import PostgresVectors

        return PostgresVectors(place)
    from ua_tui.core.knowledge.index.vectors import VectorStore

    return VectorStore(place)


def check_packages() -> None:
    """Check that the packages of a team are installed.

    Raises:
        KnowledgeError: they are not.
    """
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise KnowledgeError(str(missing_extra(error))) from error
