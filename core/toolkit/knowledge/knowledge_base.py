"""The knowledge base as the tools of one session see it: what earlier sessions of its kind found."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from core.knowledge.folders import folder_key, folder_path
from core.knowledge.records import FoundDocument, FoundPage, Kind, Results

if TYPE_CHECKING:
    from core.knowledge.search import KnowledgeSearch

__all__ = ["KnowledgeBase"]


class KnowledgeBase:
    """Reads the file of the knowledge base, which is opened when it is first asked, and again when it was replaced.

    The documents of the session that asks are left out: what it read is in its workspace, and an address that its agent
    wrote there must not come back as one that was found. Its methods block; they may be called in any thread, and
    raise a `KnowledgeError` if there is a file that cannot be read.

    Args:
        path: the file, which need not exist.
        session: the folder of the session that asks.
        demo: whether the session is one of the demo; it sees only what sessions of the same kind found.
    """

    def __init__(self, path: Path, *, session: Path, demo: bool) -> None:
        self.path = path
        self.session = folder_key(path, session)
        self.demo = demo
        self._search: KnowledgeSearch | None = None
        self._file: tuple[int, int] | None = None
        self._lock = threading.Lock()

    def search(
        self,
        query: str,
        *,
        limit: int,
        kinds: Sequence[Kind] = (),
        sites: Sequence[str] = (),
        since: float | None = None,
    ) -> Results | None:
        """Answer a query; None if there is no file yet."""
        with self._opened() as search:
            if search is None:
                return None
            return search.search(
                query,
                limit=limit,
                demo=self.demo,
                kinds=tuple(kinds),
                sites=tuple(sites),
                since=since,
                without_session=self.session,
            )

    def read(self, number: int) -> tuple[FoundDocument, str] | None:
        """Read a document and its text; None if there is no such document of an earlier session."""
        with self._opened() as search:
            document = search.document(number) if search is not None else None
            if search is None or document is None or not self._is_earlier(document):
                return None
            return document, search.text(number, limit=document.length)

    def pages(self, url: str) -> list[FoundPage]:
        """List the copies of a page that earlier sessions read, the newest first."""
        with self._opened() as search:
            found = search.sources(url) if search is not None else ()
            return [page for page in found if self._is_earlier(page)]

    def folder_of(self, session: str) -> Path:
        """The folder of a session that the file names."""
        return folder_path(self.path, session)

    def close(self) -> None:
        """Close the file if it was opened."""
        with self._lock:
            self._close()

    def _is_earlier(self, found: FoundDocument | FoundPage) -> bool:
        return found.demo == self.demo and found.session != self.session

    @contextmanager
    def _opened(self) -> Iterator[KnowledgeSearch | None]:
        """The file for one question; None if there is none."""
        from core.knowledge.search import KnowledgeSearch

        with self._lock:
            try:
                found = os.stat(self.path)
            except FileNotFoundError:
                self._close()
                yield None
                return
            except OSError:
                # Opening it names the reason.
                file = None
            else:
                file = found.st_dev, found.st_ino
            if file != self._file:
                self._close()
                self._file = file
            if self._search is None:
                self._search = KnowledgeSearch(self.path)
            yield self._search

    def _close(self) -> None:
        if self._search is not None:
            self._search.close()
            self._search = None
