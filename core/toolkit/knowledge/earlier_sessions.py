"""Opens the knowledge base for the tools of one session: what earlier sessions of its kind found."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ua_tui.core.knowledge.place import folder_key
from ua_tui.core.postgres.address import Address

if TYPE_CHECKING:
    from ua_tui.core.knowledge.place import KnowledgePlace
    from ua_tui.core.knowledge.search.embeddings import Embedder
    from ua_tui.core.knowledge.search.search import KnowledgeSearch

_log = logging.getLogger(__name__)


def open_earlier(
    place: KnowledgePlace,
    *,
    session: Path,
    demo: bool,
    embeddings_file: Path | None = None,
    add_secret: Callable[[str], object] = lambda _secret: None,
) -> KnowledgeSearch:
    """Open the knowledge base, without the documents of the session that asks.

    What this session read is in its workspace, and an address that its agent wrote there must not come back as one that
    was found.

    Args:
        place: the file, or the database of a team.
        session: the folder of the session that asks.
        demo: whether the session is one of the demo; it sees only what sessions of the same kind found.
        embeddings_file: the private file with the server for the search by meaning (an `Embedder` as JSON); None for no
            such search.
        add_secret: is called with the key of that server, to have it masked.
    """
    from ua_tui.core.knowledge.access import open_search

    embedder = None if embeddings_file is None else _embedder(embeddings_file)
    if embedder is not None and embedder.key:
        add_secret(embedder.key)
    return open_search(
        place,
        embedder=embedder,
        # Connections are what a server has few of, and sessions many.
        stays_open=not isinstance(place, Address),
        demo=demo,
        without_session=folder_key(place, session),
    )


def _embedder(file: Path) -> Embedder | None:
    from ua_tui.core.knowledge.search.embeddings import Embedder

    try:
        return msgspec.json.decode(file.read_bytes(), type=Embedder)
    except (OSError, msgspec.MsgspecError) as error:
        # The search for words does not depend on it.
        _log.warning("no search by meaning: %s", type(error).__name__)
        return None
