"""Stores the vectors of passages, which the search by meaning compares."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import msgspec

from ua_tui.core.errors import KnowledgeError
from ua_tui.core.knowledge.index.database import close_writer, open_writer
from ua_tui.core.knowledge.problems import reporting
from ua_tui.core.storage.sqlite import identity, transaction

HAS_WORDS = "(chunk.text != '' OR document.title != '')"
"""The SQL condition for passages that can have a vector."""

_MISSING = f"""
SELECT chunk.id, document.title, chunk.text FROM chunk JOIN document ON document.id = chunk.document
LEFT JOIN vector ON vector.chunk = chunk.id AND vector.model = ?
WHERE chunk.id > ? AND chunk.id <= ? AND vector.chunk IS NULL AND {HAS_WORDS} ORDER BY chunk.id DESC LIMIT ?
"""  # noqa: S608 -- made of constants


class Passage(msgspec.Struct, frozen=True):
    """A passage without a vector: its number in the table `chunk`, its document's title, and its text."""

    chunk: int
    title: str
    text: str


class VectorStore:
    """Writes vectors beside the program's `KnowledgeStore`, as another program would; use it in one thread.

    Every method raises `KnowledgeError` if the file is missing or cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.identity = identity(path)
        if self.identity is None:
            raise KnowledgeError(f"there is no knowledge base {path}: it is made when a session runs")
        self._db = open_writer(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        close_writer(self._path, self._db, self.identity)

    def last(self) -> int:
        """The number of the newest passage; 0 if there is none."""
        with reporting(self._path, "read"):
            (last,) = self._db.execute("SELECT coalesce(max(id), 0) FROM chunk").fetchone()
        return int(last)

    def missing(self, model: str, *, above: int, up_to: int, limit: int) -> list[Passage]:
        """Find passages without a vector of the model, the newest first, with numbers in this range."""
        with reporting(self._path, "read"):
            rows = self._db.execute(_MISSING, (model, above, up_to, limit)).fetchall()
        return [Passage(*row) for row in rows]

    def put(self, model: str, passages: Sequence[Passage], vectors: Sequence[bytes]) -> None:
        """Store the vectors of passages; those that were removed or replaced meanwhile are left out."""
        with reporting(self._path, "written"), transaction(self._db):
            if identity(self._path) != self.identity:
                raise KnowledgeError(f"the knowledge base {self._path} was replaced by another program")
            for passage, vector in zip(passages, vectors, strict=True):
                self._db.execute(
                    "INSERT OR REPLACE INTO vector(chunk, model, data)"
                    " SELECT id, ?, ? FROM chunk WHERE id = ? AND text = ?",
                    (model, vector, passage.chunk, passage.text),
                )
