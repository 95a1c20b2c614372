"""Opens the knowledge base, whatever it is: a file of this machine, or the database of a team.

What needs the packages of a team is imported only for the address of a database.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ua_tui.core.errors import KnowledgeError, advise
from ua_tui.core.knowledge.place import KnowledgePlace, Origin
from ua_tui.core.postgres.address import Address

if TYPE_CHECKING:
    from ua_tui.core.knowledge.index.tables import Tables
    from ua_tui.core.knowledge.search.database import Database
    from ua_tui.core.knowledge.search.embeddings import Embedder
    from ua_tui.core.knowledge.search.search import KnowledgeSearch


def open_tables(place: KnowledgePlace, origins: Mapping[str, Origin] | None, file: Path | None) -> Tables:
    """Open what the store writes to: the database of a team, the file at `place`, or a new one that is to replace it.

    Raises:
        KnowledgeError: it cannot be opened.
    """
    if isinstance(place, Address):
        check_packages()
        from ua_tui.core.knowledge.postgres.tables import PostgresTables

        return PostgresTables(place, origins)
    from ua_tui.core.knowledge.index.sqlite_tables import SqliteTables

    return SqliteTables(place, file)


def open_database(place: KnowledgePlace) -> Database:
    """Open what is read; nothing is before the first question.

    Raises:
        KnowledgeError: the packages for a team's database are missing.
    """
    if isinstance(place, Address):
        check_packages()
        from ua_tui.core.knowledge.postgres.reader import PostgresReader

        return PostgresReader(place)
    from ua_tui.core.knowledge.index.reader import SqliteReader

    return SqliteReader(place)


def open_search(
    place: KnowledgePlace, *, budget: float | None = None, embedder: Embedder | None = None
) -> KnowledgeSearch:
    """Open what answers queries; nothing is read before the first one.

    Args:
        place: where the knowledge base is.
        budget: the seconds after which a search answers with what it has, if not the usual ones.
        embedder: makes the vector of a query; None for no search by meaning.

    Raises:
        KnowledgeError: the packages for a team's database are missing.
    """
    from ua_tui.core.knowledge.search.search import BUDGET, KnowledgeSearch

    return KnowledgeSearch(
        open_database(place), budget=BUDGET if budget is None else budget, embedder=embedder
    )


def check_packages() -> None:
    """Check that the packages of a team are installed.

    Raises:
        KnowledgeError: they are not.
    """
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise KnowledgeError(advise("postgres.no_packages")) from error
