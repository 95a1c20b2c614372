"""Removes documents from the tables, in short transactions, and what is left of their texts from the file."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence

import msgspec

from ua_tui.core.storage.sqlite import PAUSE_SECONDS, transaction

_DOCUMENTS = 200
_CHUNKS = 500
_PAGES = 500
"""Pages of the index that are merged in one transaction."""


def erase(db: sqlite3.Connection, condition: str, values: Sequence[object]) -> None:
    """Remove the documents for which an SQL condition holds, in several transactions."""
    more = True
    while more:
        with transaction(db):
            more = remove_some(db, condition, values)
        time.sleep(PAUSE_SECONDS if more else 0)


def remove_some(db: sqlite3.Connection, condition: str, values: Sequence[object]) -> bool:
    """Remove some of the documents for which an SQL condition holds, within a transaction; False if there are none.

    Texts and sources that no other document has are removed with them.
    """
    query = f"SELECT id FROM document WHERE {condition} LIMIT {_DOCUMENTS}"  # noqa: S608 -- made of constants
    documents = _ids(db.execute(query, values))
    if documents is None:
        return False
    chunks = _ids(
        db.execute(
            "SELECT id FROM chunk WHERE document IN (SELECT value FROM json_each(?)) LIMIT ?",
            (documents, _CHUNKS),
        )
    )
    if chunks is not None:
        # The index needs the texts that it was given.
        db.execute(
            "INSERT INTO chunk_fts(chunk_fts, rowid, title, text, context)"
            " SELECT 'delete', passage.* FROM passage WHERE id IN (SELECT value FROM json_each(?))",
            (chunks,),
        )
        db.execute("DELETE FROM chunk WHERE id IN (SELECT value FROM json_each(?))", (chunks,))
        return True
    bodies = _ids(
        db.execute("SELECT body FROM document WHERE id IN (SELECT value FROM json_each(?))", (documents,))
    )
    sources = _ids(
        db.execute(
            "SELECT source FROM document WHERE source IS NOT NULL AND id IN (SELECT value FROM json_each(:ids))"
            " UNION SELECT source FROM citation WHERE document IN (SELECT value FROM json_each(:ids))",
            {"ids": documents},
        )
    )
    db.execute("DELETE FROM document WHERE id IN (SELECT value FROM json_each(?))", (documents,))
    if bodies is not None:
        db.execute(
            "DELETE FROM body WHERE id IN (SELECT value FROM json_each(?))"
            " AND NOT EXISTS (SELECT 1 FROM document WHERE document.body = body.id)",
            (bodies,),
        )
    if sources is not None:
        db.execute(
            "DELETE FROM source WHERE id IN (SELECT value FROM json_each(?))"
            " AND NOT EXISTS (SELECT 1 FROM document WHERE document.source = source.id)"
            " AND NOT EXISTS (SELECT 1 FROM citation WHERE citation.source = source.id)",
            (sources,),
        )
    return True


def scrub(db: sqlite3.Connection) -> bool:
    """Remove what is left of removed texts from the file and its log.

    Other programs wait while the file is written again, which takes about a second for a hundred megabytes.

    Returns:
        Whether nothing is left; False if another program still reads what was removed.
    """
    # The index keeps the words of removed texts until its parts are merged.
    pages = -_PAGES
    while True:
        with transaction(db):
            before = db.total_changes
            db.execute("INSERT INTO chunk_fts(chunk_fts, rank) VALUES ('merge', ?)", (pages,))
            if db.total_changes - before < 2:
                break
        pages = _PAGES
        time.sleep(PAUSE_SECONDS)
    # `secure_delete` leaves copies in pages whose content was moved to others.
    db.execute("VACUUM")
    (is_busy, _, _) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not is_busy


def _ids(found: sqlite3.Cursor) -> str | None:
    """The numbers that a query found, as JSON; None if there are none."""
    numbers = [number for (number,) in found]
    return msgspec.json.encode(numbers).decode() if numbers else None
