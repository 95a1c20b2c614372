"""The feed of a session beside a heartbeat: `MODE RESULT_FILE`, where the mode is `indexing` or `visible`.

The journal, the bus and the feed are those of a session; the articles are written as its observers write them.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from core.bus import Bus
from core.errors import KnowledgeError
from core.events.types import McpStatus, QueryReceived, SessionStarted, ToolCallStarted
from core.knowledge.database import open_reader
from core.knowledge.search import KnowledgeSearch
from core.records.journal import Journal
from core.storage.workspace import JOURNAL, WORKSPACES, Workspace
from core.version import VERSION
from observers.knowledge.feed import KnowledgeFeed
from tests.bench.heartbeat import Heartbeat
from tests.bench.knowledge.sessions import Page, invent_sessions, save_article

ARTICLES = 500
AT_ONCE = 10
"""Articles of one crawl."""
BETWEEN = 0.05
SHOWN = 30
SECONDS = 120.0
LOOK = 0.02
WORK = "work"
USE = "toolu_crawl"
CRAWL = "mcp__local_toolkit__crawl_parallel"


@dataclass
class Followed:
    """A session that the feed follows."""

    bus: Bus
    folder: Path
    database: Path

    def save(self, page: Page, number: int) -> None:
        """Save an article, and publish that it was."""
        self.bus.publish(save_article(self.folder, page, f"extracted_articles/page_{number}.json", USE))


@asynccontextmanager
async def _session() -> AsyncIterator[Followed]:
    base = Path.cwd()
    workspace = Workspace.create(base, datetime.now(UTC))
    bus = Bus()
    journal = Journal(workspace.path / JOURNAL, workspace.redactor)
    bus.subscribe(journal.append)
    database = base / WORKSPACES / "knowledge.db"
    feed = KnowledgeFeed(database, workspace.path, base, workspace.redactor, bus.publish)
    bus.subscribe(feed.handle_event)
    (workspace.path / "extracted_articles").mkdir(exist_ok=True)
    bus.publish(
        SessionStarted(
            session_id=workspace.path.name, workspace=str(workspace.path), cwd=str(base), version=VERSION
        )
    )
    bus.publish(McpStatus(servers=[]))
    bus.publish(QueryReceived(query_id="q1", text="Read all of it"))
    bus.publish(ToolCallStarted(query_id="q1", tool_use_id=USE, name=CRAWL, input={}, iteration=1))
    try:
        yield Followed(bus, workspace.path, database)
    finally:
        await feed.close()
        journal.close()
        workspace.close()


async def indexing() -> dict[str, Any]:
    """Save articles as crawls do, and beat until all are indexed; times in milliseconds and seconds."""
    (session,) = invent_sessions(1, read=ARTICLES)
    async with _session() as followed:
        heart = Heartbeat()
        heart.start()
        await asyncio.sleep(1.0)
        heart.phase = WORK
        began = time.perf_counter()
        for number, page in enumerate(session.pages):
            # The observers write their files in threads.
            saved = await asyncio.to_thread(
                save_article, followed.folder, page, f"extracted_articles/page_{number}.json", USE
            )
            followed.bus.publish(saved)
            if number % AT_ONCE == AT_ONCE - 1:
                await asyncio.sleep(BETWEEN)
        submitted = time.perf_counter() - began
        chunks = await asyncio.to_thread(_wait_for, followed.database, ARTICLES)
        took = time.perf_counter() - began
        heart.phase = "after"
        heart.stop()
    report = heart.report()
    return {
        "longest": max(report["phases"][WORK]),
        "before": max(report["phases"]["start"]),
        "stalls": [stall for stall in report["stalls"] if stall["phase"] == WORK],
        "submitted": submitted,
        "took": took,
        "chunks": chunks,
    }


async def visible() -> dict[str, Any]:
    """Save articles one after the other; milliseconds from the event of each until a search finds it."""
    (session,) = invent_sessions(1, read=SHOWN)
    times = []
    async with _session() as followed:
        for number, page in enumerate(session.pages):
            await asyncio.sleep(0.3)
            began = time.perf_counter()
            followed.save(page, number)
            await asyncio.to_thread(_find, followed.database, page, f"extracted_articles/page_{number}.json")
            times.append((time.perf_counter() - began) * 1_000)
    return {"times": times}


def _wait_for(database: Path, articles: int) -> int:
    """Wait until this many articles are in the file; gives the chunks in it."""
    until = time.monotonic() + SECONDS
    while not database.exists() and time.monotonic() < until:
        time.sleep(LOOK)
    with closing(open_reader(database)) as db:
        while time.monotonic() < until:
            if db.execute("SELECT count(*) FROM document WHERE kind = 'article'").fetchone()[0] >= articles:
                return int(db.execute("SELECT count(*) FROM chunk").fetchone()[0])
            time.sleep(LOOK)
    raise TimeoutError("the articles were not indexed")


def _find(database: Path, page: Page, path: str) -> None:
    until = time.monotonic() + SECONDS
    search = KnowledgeSearch(database)
    try:
        while time.monotonic() < until:
            # There is no file before the first article is indexed.
            with suppress(KnowledgeError):
                if any(hit.path == path for hit in search.search(page.title).hits):
                    return
            time.sleep(LOOK)
    finally:
        search.close()
    raise TimeoutError(f"{page.title} was not found")


def main(mode: str, result: str) -> None:
    """Run one mode, and write what was found to the file `result`."""
    work = {"indexing": indexing, "visible": visible}[mode]
    Path(result).write_text(json.dumps(asyncio.run(work())), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
