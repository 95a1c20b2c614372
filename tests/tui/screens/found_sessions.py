"""A session on disk and in a knowledge base, for the tests of the search."""

from __future__ import annotations

import json
from pathlib import Path

from msgspec.structs import replace

from tests.tui.played import fixed_bus
from ua_tui.core.events import types as ev
from ua_tui.core.events.codec import encode_event
from ua_tui.core.knowledge.access import open_store
from ua_tui.core.knowledge.place import FILE
from ua_tui.core.knowledge.records import Batch, Cursor, IndexedCall, KnowledgeDocument
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.version import VERSION

NAME = "session_20261120_140200"
TITLE = "Bicycles for the office"
MADE_AT = 1_795_183_320.0
"""The time of the session: 2026-11-20 14:02 UTC."""
REPORT = "work_products/report.md"
ROWS = "search_results/news.json"
PAGE = "extracted_articles/page.md"

_FILLING = "\n\n".join(f"Paragraph {number} has nothing that anybody searches for." for number in range(80))
REPORT_TEXT = (
    f"# Three bicycles\n\n{_FILLING}\n\nThe **Velomax** has the strongest motor of all.\n\n{_FILLING}\n"
)
PAGE_TEXT = "The Velomax costs 2,400 euros, and its battery lasts for [red]90[/nope] kilometres."

DOCUMENTS = (
    KnowledgeDocument(
        kind="report", path=REPORT, title="Three bicycles", text=REPORT_TEXT, made_at=MADE_AT, trust="own",
        tool_use_id="t2",
    ),
    KnowledgeDocument(
        kind="article", path=PAGE, title="A [bold]test[/nope] of the Velomax", text=PAGE_TEXT, made_at=MADE_AT,
        trust="web", url="https://bicycles.example/velomax", author="Ada Example", date="2026-11-18", tool_use_id="t1",
    ),
    KnowledgeDocument(
        kind="search_row", path=ROWS, part=2, title="Velomax recalled",
        text="The maker of the Velomax calls back ten thousand brakes.", made_at=MADE_AT, trust="web",
        url="https://news.example/recall", tool_use_id="t1",
    ),
    KnowledgeDocument(
        kind="query", part=2, title="Compare bicycles", text="Compare bicycles such as the Velomax", made_at=MADE_AT,
        trust="own",
    ),
)  # fmt: skip


def lay_session(base: Path, name: str = NAME) -> Path:
    """Write a session with a journal, a report, a page and search results; returns its folder."""
    folder = base / WORKSPACES / name
    rows = [
        {"title": f"Row {number}", "url": f"https://news.example/{number}", "snippet": "About the Velomax."}
        for number in (1, 2, 3)
    ]
    found = json.dumps({"tool": "SEARCH_NEWS", "query": "velomax", "results": rows})
    for path, text in ((REPORT, REPORT_TEXT), (PAGE, PAGE_TEXT), (ROWS, found)):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (folder / ".lock").touch()
    events: tuple[ev.Event, ...] = (
        ev.SessionStarted(session_id=name, workspace="/w", cwd="/", version=VERSION),
        ev.QueryReceived(query_id="q1", text="Compare bicycles such as the Velomax"),
        ev.ToolCallStarted(
            query_id="q1", tool_use_id="t1", name="mcp__composio__SEARCH_NEWS", input={"query": "velomax"}
        ),
        ev.ToolCallFinished(tool_use_id="t1", status="success"),
        ev.ArtifactSaved(
            tool_use_id="t1", kind="search_results", path=ROWS, size=200, sha256="0", observer="o"
        ),
        ev.ToolCallStarted(query_id="q1", tool_use_id="t2", name="Write", input={"file_path": REPORT}),
        ev.ToolCallFinished(tool_use_id="t2", status="success"),
    )
    bus, lines = fixed_bus(), list[bytes]()
    bus.subscribe(lambda event: lines.append(encode_event(event) + b"\n"))
    for event in events:
        bus.publish(event)
    (folder / "journal.jsonl").write_bytes(b"".join(lines))
    return folder


def fill(base: Path, *documents: KnowledgeDocument, name: str = NAME, demo: bool = False) -> Path:
    """Store documents of the session, after those that it has; returns the knowledge base."""
    database = base / WORKSPACES / FILE
    with open_store(database) as store:
        before = store.cursors().get(name, Cursor())
        assert store.apply(
            name,
            before,
            Batch(
                after=replace(before, seq=before.seq + 1),
                title=TITLE,
                demo=demo,
                calls=[
                    IndexedCall(tool_use_id="t1", tool="mcp__composio__SEARCH_NEWS"),
                    IndexedCall(tool_use_id="t2", tool="Write"),
                ],
                documents=documents or DOCUMENTS,
            ),
        )
    return database
