"""Opens the knowledge base, whatever it is: a file of this machine, or the database of a team.

What needs the packages of a team is imported only for the address of a database.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ua_tui.core import log
from ua_tui.core.errors import KnowledgeError, missing_extra
from ua_tui.core.knowledge.place import KnowledgePlace, Origin, folder_key
from ua_tui.core.postgres.address import Address

if TYPE_CHECKING:
    from ua_tui.core.knowledge.index.store import KnowledgeStore
    from ua_tui.core.knowledge.search.search import KnowledgeSearch


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


def open_search(place: KnowledgePlace, **options: Any) -> KnowledgeSearch:
    """Open what answers queries, with the options of `KnowledgeSearch`; nothing is read before the first one.

    Raises:
        KnowledgeError: the packages for a team's database are missing.
    """
    from ua_tui.core.knowledge.search.search import KnowledgeSearch

    return KnowledgeSearch(open_store(place, read_only=True), **options)


def open_earlier(
    place: KnowledgePlace,
    *,
    session: Path,
    demo: bool,
    embeddings_file: Path | None = None,
    add_secret: Callable[[str], object] = lambda _secret: None,
) -> KnowledgeSearch:
    """Open what answers the agent of a session: what sessions of its kind, of the demo or not, found before it.

    What this `session` read is in its workspace, and an address that its agent wrote there must not come back as one
    that was found. `embeddings_file` is the private file with the server for the search by meaning (an `Embedder` as
    JSON), and `add_secret` is called with the key of that server, to have it masked.
    """
    embedder = None
    if embeddings_file is not None:
        from ua_tui.core.knowledge.search.embeddings import Embedder

        try:
            embedder = msgspec.json.decode(embeddings_file.read_bytes(), type=Embedder)
            if embedder.key:
                add_secret(embedder.key)
        except (OSError, msgspec.MsgspecError) as error:
            # The search for words does not depend on it.
            log.warning("no search by meaning: %s", type(error).__name__)
    return open_search(
        place,
        embedder=embedder,
        # Connections are what a server has few of, and sessions many.
        stays_open=not isinstance(place, Address),
        demo=demo,
        without_session=folder_key(place, session),
    )
