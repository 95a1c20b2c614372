"""The same passages and queries in the PostgreSQL database of a team: how long each takes, and how large it is."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from core.knowledge.access import open_search, open_store
from core.knowledge.records import Call, Cursor, Document, Facts
from core.knowledge.status import read_status
from core.postgres.address import Address
from tests.bench.knowledge.queries import query_rows
from tests.bench.table import Row
from tests.postgres_server import Cluster, binaries, short_folder

__all__ = ["team_rows"]

MEDIAN, P95 = 40.0, 80.0
SPEED = 1_000.0
SIZE = 5.0
_DOCUMENTS = """
SELECT d.id, d.kind, d.path, d.part, d.title, d.context, d.made_at, s.url FROM document d
JOIN source s ON s.id = d.source WHERE d.session = ? ORDER BY d.id
"""


def team_rows(file: Path, text_bytes: int) -> tuple[list[Row], list[str]]:
    """Store what a file has in a new database, and ask the same queries; no rows without a PostgreSQL server."""
    if binaries() is None:
        return [], ["knowledge of a team: PostgreSQL is not installed here"]
    cluster = Cluster.create(short_folder())
    try:
        address = Address.parse(cluster.make_team_database().url)
        began = time.perf_counter()
        _copy(file, address)
        took = time.perf_counter() - began
        # As autovacuum does within a minute.
        _analyse(address.url)
        status = read_status(address)
        with closing(open_search(address)) as search:
            queries = query_rows(file, search, "on PostgreSQL, ", (MEDIAN, P95))
    finally:
        cluster.remove()
    chunks, size = status.passages, status.size
    return [
        *queries,
        Row(
            "knowledge: on PostgreSQL, time to index 1,000 chunks",
            took / chunks * SPEED * 1_000,
            "ms",
            1_500.0,
            f"{chunks / took:,.0f} chunks/s: {chunks:,} chunks in {took:.1f} s, by one writer",
        ),
        Row(
            "knowledge: on PostgreSQL, size of the tables, to that of the texts",
            size / text_bytes,
            "times",
            SIZE,
            f"{size / 1e6:.0f} MB for {text_bytes / 1e6:.0f} MB of texts and titles",
        ),
    ], []


def _copy(file: Path, address: Address) -> None:
    """Store all sessions of a file, as a worker does."""
    with closing(sqlite3.connect(file)) as db, open_store(address) as store:
        for number, folder, started, title in db.execute(
            "SELECT id, folder, started, title FROM session"
        ).fetchall():
            call = Call(tool_use_id=f"t{number}", tool="mcp__composio__COMPOSIO_SEARCH_WEB", started=started)
            documents = [*_documents(db, number)]
            stored = store.apply(
                f"bench:/runs/{folder}",
                Cursor(),
                Cursor(1, 1),
                facts=Facts(started=started, title=title),
                calls=[call],
                documents=documents,
            )
            assert stored


def _documents(db: sqlite3.Connection, session: int) -> Iterator[Document]:
    texts: dict[int, list[str]] = {}
    for number, text in db.execute(
        "SELECT document, text FROM chunk WHERE document IN (SELECT id FROM document WHERE session = ?) ORDER BY id",
        (session,),
    ):
        texts.setdefault(number, []).append(text)
    for number, kind, path, part, title, context, made_at, url in db.execute(_DOCUMENTS, (session,)):
        yield Document(
            kind=kind,
            path=path,
            part=part,
            title=title,
            context=context,
            text="\n\n".join(texts[number]),
            made_at=made_at,
            trust="web",
            url=url,
            tool_use_id=f"t{session}",
        )


def _analyse(url: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as db:
        db.execute("VACUUM ANALYZE")
