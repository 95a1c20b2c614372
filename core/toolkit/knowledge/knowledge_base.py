"""The knowledge base as the tools of one session see it: what earlier sessions of its kind found."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ua_tui.core.knowledge.place import folder_key, folder_path, is_here
from ua_tui.core.knowledge.records import FoundDocument, Results
from ua_tui.core.postgres.address import Address

if TYPE_CHECKING:
    from ua_tui.core.knowledge.place import KnowledgePlace
    from ua_tui.core.knowledge.search.embeddings import Embedder
    from ua_tui.core.knowledge.search.search import KnowledgeSearch

_log = logging.getLogger(__name__)


class KnowledgeBase:
    """Reads the file of the knowledge base, without the documents of the session that asks.

    What this session read is in its workspace, and an address that its agent wrote there must not come back as one that
    was found. The methods block; they may be called in any thread, and raise a `KnowledgeError` if there is a file that
    cannot be read. Without a file nothing is found.

    Args:
        path: the file, or the database of a team.
        session: the folder of the session that asks.
        demo: whether the session is one of the demo; it sees only what sessions of the same kind found.
        embeddings_file: the private file with the server for the search by meaning (an `Embedder` as JSON); None for no
            such search.
        add_secret: is called with the key of that server, to have it masked.
    """

    def __init__(
        self,
        path: KnowledgePlace,
        *,
        session: Path,
        demo: bool,
        embeddings_file: Path | None = None,
        add_secret: Callable[[str], object] = lambda _secret: None,
    ) -> None:
        self._path = path
        self._session = folder_key(path, session)
        self._demo = demo
        self._embeddings_file = embeddings_file
        self._add_secret = add_secret

    def search(self, query: str, *, limit: int, **filters: Any) -> Results:
        """Answer a query; `filters` are those of `KnowledgeSearch.search`."""
        with self._used() as file:
            return file.search(query, limit=limit, demo=self._demo, without_session=self._session, **filters)

    def read(self, number: int) -> FoundDocument | None:
        """Read a document; None if there is no such document of an earlier session."""
        with self._used() as file:
            document = file.document(number)
            return document if document is not None and self._is_earlier(document) else None

    def pages(self, url: str) -> list[FoundDocument]:
        """List the copies of a page that earlier sessions read, the newest first."""
        with self._used() as file:
            return [page for page in file.sources(url) if self._is_earlier(page)]

    def folder_of(self, session: str) -> Path | None:
        """The folder of a session that the knowledge base names; None if it is on another machine."""
        return folder_path(self._path, session) if is_here(self._path, session) else None

    def close(self) -> None:
        """Close the file if it was opened."""
        if "_file" in vars(self):
            self._file.close()

    @contextmanager
    def _used(self) -> Iterator[KnowledgeSearch]:
        try:
            yield self._file
        finally:
            if isinstance(self._path, Address):
                # Connections are what a server has few of, and sessions many.
                self._file.close()

    @cached_property
    def _file(self) -> KnowledgeSearch:
        from ua_tui.core.knowledge.access import open_search

        return open_search(self._path, embedder=self._embedder())

    def _embedder(self) -> Embedder | None:
        if self._embeddings_file is None:
            return None
        import msgspec

        from ua_tui.core.knowledge.search.embeddings import Embedder

        try:
            embedder = msgspec.json.decode(self._embeddings_file.read_bytes(), type=Embedder)
        except (OSError, msgspec.MsgspecError) as error:
            # The search for words does not depend on it.
            _log.warning("no search by meaning: %s", type(error).__name__)
            return None
        if embedder.key:
            self._add_secret(embedder.key)
        return embedder

    def _is_earlier(self, found: FoundDocument) -> bool:
        return found.demo == self._demo and found.session != self._session
