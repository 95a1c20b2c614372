"""Reads how large the knowledge base of a team is, and what is in it."""

from __future__ import annotations

from ua_tui.core.knowledge.postgres.connection import Connection, Link
from ua_tui.core.knowledge.records import KnowledgeContent
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.schema import LATEST

_SIZE = """
SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'ua_tui' AND c.relkind = 'r' AND c.relname LIKE 'k\\_%%'
"""
_TEXT = "c.text <> ''"
_EMBEDDABLE = "(c.text <> '' OR d.title <> '')"


def read_content(address: Address, model: str) -> KnowledgeContent:
    """Read what this role sees; vectors are counted if there is a `model`.

    Raises:
        KnowledgeError: the database cannot be read.
    """
    link = Link(address)
    try:
        return link.read(lambda db: _read(db, model))
    finally:
        link.close()


def _read(db: Connection, model: str) -> KnowledgeContent:
    def number(statement: str, *values: object) -> int:
        row = db.execute(statement.encode(), values).fetchone()
        return int(row[0]) if row else 0

    passages = "SELECT count(*) FROM k_chunk c JOIN k_document d ON d.id = c.document WHERE "
    updated = db.execute("SELECT max(made_at) FROM k_document").fetchone()
    return KnowledgeContent(
        version=LATEST,
        size=number(_SIZE),
        updated=updated[0] if updated else None,
        documents=dict(db.execute("SELECT kind, count(*) FROM k_document GROUP BY kind").fetchall()),
        sessions=number(
            "SELECT count(*) FROM k_session s WHERE EXISTS (SELECT FROM k_document WHERE session = s.id)"
        ),
        passages=number(passages + _TEXT),
        sources=number("SELECT count(DISTINCT url) FROM k_document WHERE url <> ''"),
        embeddable=number(passages + _EMBEDDABLE) if model else 0,
        vectors=number("SELECT count(*) FROM k_vector WHERE model = %s AND data <> ''", model)
        if model
        else 0,
        places=dict(db.execute("SELECT name, place FROM k_session").fetchall()),
        forgotten=number("SELECT count(*) FROM k_forgotten WHERE NOT entry::jsonb ? 'done'"),
    )
