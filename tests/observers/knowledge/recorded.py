"""Sessions as their journals record them, and what the knowledge base has of them."""

from __future__ import annotations

import hashlib
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from ua_tui.core.events import types as ev
from ua_tui.core.events.codec import encode_event
from ua_tui.core.knowledge.index.database import connect, open_writer
from ua_tui.core.knowledge.place import FILE
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.ownership import seal_session
from ua_tui.core.storage.workspace import JOURNAL

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


class Recorded:
    """A session below `base` whose journal grows by what is added; it has one query."""

    def __init__(self, base: Path, name: str = "session_20260310_120000") -> None:
        self.folder = base / WORKSPACES / name
        (self.folder / "work_products").mkdir(parents=True)
        self.seq = 0
        self.add(
            ev.SessionStarted(session_id=name, workspace=str(self.folder), cwd=str(base), version="1"),
            ev.QueryReceived(query_id="q1", text="Which animals smile?"),
        )
        seal_session(Root(self.folder))

    def add(self, *events: ev.Event) -> None:
        """Append events to the journal."""
        lines = b""
        for event in events:
            self.seq += 1
            at = NOON + timedelta(seconds=self.seq)
            lines += encode_event(msgspec.structs.replace(event, seq=self.seq, at=at)) + b"\n"
        with open(self.folder / JOURNAL, "ab") as file:
            file.write(lines)

    def write_file(self, name: str, text: str) -> ev.ArtifactSaved:
        """Write the file of a report, and give the event by which the call of that name saved it."""
        data = text.encode()
        path = f"work_products/{name}.md"
        (self.folder / path).write_bytes(data)
        return ev.ArtifactSaved(
            path=path,
            kind="work_product",
            size=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
            observer="work_products",
            tool_use_id=name,
        )

    def write_report(self, name: str, text: str) -> None:
        """Write a report by a call that is named after it."""
        saved = self.write_file(name, text)
        tool = "mcp__local_toolkit__write_local_file"
        self.add(
            ev.ToolCallStarted(query_id="q1", tool_use_id=name, name=tool, input={"path": saved.path}),
            ev.ToolCallFinished(tool_use_id=name, status="success"),
            saved,
        )

    def answer(self, text: str) -> None:
        """Answer the query."""
        self.add(ev.QueryFinished(query_id="q1", status="success", text=text))


def database_of(base: Path) -> Path:
    """The file of the knowledge base below `base`."""
    return base / WORKSPACES / FILE


def passages(database: Path, words: str = "") -> list[tuple[str, str, str]]:
    """The passages that match words, by default all of them: the session's folder, the document's path, the text.

    The index is checked against them, too.
    """
    if not database.exists():
        return []
    # Also of a file that other programs made, with a key of theirs.
    with closing(connect(database, "rw")) as db:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'chunk_fts'").fetchone():
            return []
        db.execute("INSERT INTO chunk_fts(chunk_fts, rank) VALUES ('integrity-check', 1)")
        where = "WHERE chunk.id IN (SELECT rowid FROM chunk_fts WHERE chunk_fts MATCH ?)" if words else ""
        return db.execute(
            "SELECT session.folder, document.path, chunk.text FROM chunk"
            " JOIN document ON document.id = chunk.document JOIN session ON session.id = document.session"
            f" {where} ORDER BY 1, 2, document.part, chunk.start, 3",
            (words,) if words else (),
        ).fetchall()


def sessions(database: Path) -> set[str]:
    """The folders of the sessions in the file."""
    with closing(open_writer(database)) as db:
        return {folder for (folder,) in db.execute("SELECT folder FROM session")}
