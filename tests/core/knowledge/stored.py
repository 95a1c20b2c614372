"""Documents for the knowledge base, and everything that a file has, in an order of its own."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from typing import Any

from ua_tui.core.knowledge.index.database import connect, open_writer
from ua_tui.core.knowledge.index.store import KnowledgeStore
from ua_tui.core.knowledge.records import Batch, Cursor, Kind, KnowledgeDocument

TABLES = Path(__file__).with_suffix(".sql").read_text("utf-8").splitlines()
"""A statement for each table, which gives its rows in an order that does not depend on their numbers."""


def document(
    text: str = "", *, path: str = "notes.md", part: int = 0, kind: Kind = "article", **fields: Any
) -> KnowledgeDocument:
    """A document with the text."""
    return KnowledgeDocument(kind=kind, path=path, part=part, text=text, made_at=1_000.0, **fields)


def add(
    store: KnowledgeStore, folder: str, *documents: KnowledgeDocument, replaced: Collection[str] = ()
) -> bool:
    """Store documents of a session as those of its next event."""
    before = store.cursor(folder)
    after = Cursor(before.seq + 1, before.place + 100)
    return store.apply(
        folder,
        before,
        Batch(after=after, title=f"About {folder}", documents=documents, replaced=replaced),
    )


def content(database: Path) -> list[list[Any]]:
    """All rows without their numbers; the index is checked against them."""
    with closing(open_writer(database)) as db:
        db.execute("INSERT INTO chunk_fts(chunk_fts, rank) VALUES ('integrity-check', 1)")
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        return [db.execute(query).fetchall() for query in TABLES]


def found(database: Path, words: str) -> list[tuple[str, str]]:
    """The folders and paths of the documents with a passage that matches an expression of FTS5."""
    with closing(connect(database, "ro")) as db:
        return db.execute(
            "SELECT DISTINCT folder, path FROM chunk_fts JOIN chunk ON chunk.id = chunk_fts.rowid"
            " JOIN document ON document.id = document JOIN session ON session.id = session"
            " WHERE chunk_fts MATCH ? ORDER BY 1, 2",
            (words,),
        ).fetchall()
