"""Documents in the knowledge base of a team, and what the tables have of them."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing

from tests.postgres_server import Cluster, Database
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.index.store import KnowledgeStore
from ua_tui.core.knowledge.place import Origin
from ua_tui.core.knowledge.records import Batch, Cursor, KnowledgeDocument
from ua_tui.core.knowledge.search.search import KnowledgeSearch
from ua_tui.core.postgres.address import Address

HERE, THERE = "ada:/home/session_1", "bob:/home/session_1"


def address_of(database: Database) -> Address:
    """The address of a database over its socket, as its owner."""
    return Address.parse(database.url)


def address_for(cluster: Cluster, database: Database, role: str) -> Address:
    """The same as another role."""
    return Address.parse(cluster.url(database.name, role))


def add(
    store: KnowledgeStore, folder: str, *documents: KnowledgeDocument, replaced: Collection[str] = ()
) -> bool:
    """Store documents of a session as those of its next event."""
    before = store.cursor(folder)
    after = Cursor(before.seq + 1, before.place + 100)
    return store.apply(
        folder,
        before,
        Batch(after=after, title="About quokkas", documents=documents, replaced=replaced),
    )


def fill(address: Address, folder: str, *documents: KnowledgeDocument, origin: Origin | None = None) -> None:
    """Store documents of a session, with a store of its own."""
    with open_store(address, {folder: origin} if origin else None) as store:
        assert add(store, folder, *documents)


def found(address: Address, words: str) -> list[tuple[str, str]]:
    """The session and the title of each hit, in order of the alphabet."""
    with closing(KnowledgeSearch(address, budget=60)) as search:
        return sorted((hit.session, hit.title) for hit in search.search(words, limit=100).hits)


def counted(database: Database) -> dict[str, int]:
    """The words and how many chunks have them."""
    return dict(database.execute("SELECT word, ndoc FROM ts_stat('SELECT vector FROM k_chunk')"))


def disconnect(database: Database) -> None:
    """End all connections to a database, as a restart of its server does."""
    database.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
