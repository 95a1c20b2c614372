"""Stores the vectors of passages in the database, which the search by meaning compares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from ua_tui.core.knowledge.index.vectors import Passage
from ua_tui.core.knowledge.postgres.connection import Link, reporting
from ua_tui.core.postgres.address import Address

# Each role fills in the vectors of its own rows: a worker, those of all.
_MISSING = """
SELECT c.id, d.title, c.text FROM k_chunk c JOIN k_document d ON d.id = c.document
LEFT JOIN k_vector v ON v.chunk = c.id AND v.model = %s
WHERE c.id > %s AND c.id <= %s AND v.chunk IS NULL AND (c.text <> '' OR d.title <> '')
    AND (d.owner = current_user OR is_worker()) ORDER BY c.id DESC LIMIT %s
"""
_PUT = """
INSERT INTO k_vector (chunk, model, data) SELECT id, %s, %s FROM k_chunk WHERE id = %s AND text = %s
ON CONFLICT (chunk) DO UPDATE SET model = excluded.model, data = excluded.data
"""


class PostgresVectors:
    """Writes vectors as `ua_tui.core.knowledge.index.vectors.VectorStore` does for a file; use it in one thread.

    Every method raises `KnowledgeError` if the database cannot be used.
    """

    identity: tuple[int, int] | None = (0, 0)
    """A database is never replaced by another one."""

    def __init__(self, address: Address) -> None:
        self._link = Link(address)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._link.close()

    def last(self) -> int:
        """The number of the newest passage; 0 if there is none."""
        row = self._link.read(lambda db: db.execute("SELECT coalesce(max(id), 0) FROM k_chunk").fetchone())
        return int(row[0]) if row else 0

    def missing(self, model: str, *, above: int, up_to: int, limit: int) -> list[Passage]:
        """Find passages without a vector of the model, the newest first, with numbers in this range."""
        rows = self._link.read(lambda db: db.execute(_MISSING, (model, above, up_to, limit)).fetchall())
        return [Passage(*row) for row in rows]

    def put(self, model: str, passages: Sequence[Passage], vectors: Sequence[bytes]) -> None:
        """Store the vectors of passages; those that were removed or replaced meanwhile are left out."""
        with reporting(self._link.address):
            db = self._link.db
            with db.transaction():
                for passage, vector in zip(passages, vectors, strict=True):
                    db.execute(_PUT, (model, vector, passage.chunk, passage.text))
