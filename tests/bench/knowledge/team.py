"""The same passages and queries in the PostgreSQL database of a team: how long each takes."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from tests.bench.knowledge.queries import query_rows
from tests.bench.table import Row
from tests.postgres_server import Cluster, binaries, short_folder
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.records import Batch, Cursor, IndexedCall, KnowledgeDocument
from ua_tui.core.knowledge.search.search import KnowledgeSearch
from ua_tui.core.postgres.address import Address

MEDIAN, P95 = 20.0, 60.0
_DOCUMENTS = """
SELECT d.id, d.kind, d.path, d.part, d.title, d.context, d.made_at, d.url FROM document d
WHERE d.session = ? ORDER BY d.id
"""


@contextmanager
def team_database(fill: Callable[[Address], None]) -> Iterator[Address | None]:
    """A new database of a team with what `fill` stores in it; None without a PostgreSQL server."""
    if binaries() is None:
        yield None
        return
    import psycopg

    cluster = Cluster.create(short_folder())
    try:
        address = Address.parse(cluster.make_team_database().url)
        fill(address)
        with psycopg.connect(address.url, autocommit=True) as db:
            # As autovacuum does within a minute.
            db.execute("VACUUM ANALYZE")
        yield address
    finally:
        cluster.remove()


def team_rows(file: Path) -> tuple[list[Row], list[str]]:
    """Store what a file has in a new database, and ask the same queries; no rows without a PostgreSQL server."""
    with team_database(partial(_copy, file)) as address:
        if address is None:
            return [], ["knowledge of a team: PostgreSQL is not installed here"]
        with closing(KnowledgeSearch(address)) as search:
            search.search("")
            return query_rows(file, search, "on PostgreSQL, ", (MEDIAN, P95), _clock_of(address)), []


def _clock_of(address: Address) -> Callable[[], float]:
    """Give the time of a core that this thread used, and the processes of the server for the connections to it."""
    import psycopg

    with psycopg.connect(address.url) as db:
        pids = db.execute(
            "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'ua-tui%' AND pid <> pg_backend_pid()"
        ).fetchall()
    files = [Path(f"/proc/{pid}/schedstat") for (pid,) in pids]
    if not files or not all(file.exists() for file in files):
        return time.perf_counter
    return lambda: time.thread_time() + sum(int(file.read_text().split()[0]) for file in files) / 1e9


def _copy(file: Path, address: Address) -> None:
    """Store all sessions of a file, as a worker does."""
    with closing(sqlite3.connect(file)) as db, open_store(address) as store:
        sessions = db.execute("SELECT id, folder, title FROM session").fetchall()
        for number, folder, title in sessions:
            call = IndexedCall(tool_use_id=f"t{number}", tool="mcp__composio__COMPOSIO_SEARCH_WEB")
            documents = [*_documents(db, number)]
            name, ends = f"bench:/runs/{folder}", Cursor(1, 1)
            assert store.apply(
                name, Cursor(), Batch(after=ends, title=title, calls=[call], documents=documents)
            )


def _documents(db: sqlite3.Connection, session: int) -> Iterator[KnowledgeDocument]:
    texts: dict[int, list[str]] = {}
    for number, text in db.execute(
        "SELECT document, text FROM chunk WHERE document IN (SELECT id FROM document WHERE session = ?) ORDER BY id",
        (session,),
    ):
        texts.setdefault(number, []).append(text)
    for number, kind, path, part, title, context, made_at, url in db.execute(_DOCUMENTS, (session,)):
        yield KnowledgeDocument(
            kind=kind, path=path, part=part, title=title, context=context, text="\n\n".join(texts[number]),
            made_at=made_at, trust="web", url=url, tool_use_id=f"t{session}",
        )  # fmt: skip
