"""A session's folder with its real journal and bus, and its copy in a real database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

# The agent has loaded it before there is anything to copy; it takes long beside other load.
import claude_agent_sdk  # noqa: F401

from tests.postgres_server import Database
from ua_tui.core.bus import Bus
from ua_tui.core.events.types import ArtifactSaved, ErrorRaised, Event, SessionStarted
from ua_tui.core.postgres.address import Address
from ua_tui.core.records.journal import Journal
from ua_tui.core.session.resume import read_previous_state
from ua_tui.core.storage.workspace import JOURNAL, Workspace
from ua_tui.core.team.records import SessionId
from ua_tui.core.team.replica import SessionReplica
from ua_tui.core.view.session import SessionView

NOW = datetime(2026, 11, 20, 10, 11, 12, tzinfo=UTC)


class CopiedSession:
    """A session without an agent: what it publishes goes to its journal, and from there to the database."""

    def __init__(self, workspace: Workspace, address: Address, identity: SessionId, **options: Any) -> None:
        self.workspace = workspace
        self.failures: list[str] = []
        # What the copy reports is no event of this session, so that its events can be counted.
        reports = Bus()
        reports.subscribe(self._note_report)
        previous = read_previous_state(workspace) if (workspace.path / JOURNAL).exists() else None
        self.bus = Bus(previous.view.seq if previous is not None else 0)
        self.replica = SessionReplica(
            address,
            identity,
            workspace,
            reports,
            resumed=previous is not None,
            **options,
        )
        self.journal = Journal(
            workspace.path / JOURNAL, workspace.redactor, on_line=self.replica.line_handler()
        )
        self.view = previous.view if previous is not None else SessionView()
        self.bus.subscribe(self.view.add)
        self.bus.subscribe(self.journal.append)

    def _note_report(self, event: Event) -> None:
        if isinstance(event, ErrorRaised) and not self.superseded:
            self.failures.append(event.message)

    @property
    def superseded(self) -> bool:
        """Whether another program continues the session."""
        return self.replica.is_superseded

    def begin(self) -> None:
        """Start the copy, and publish the first event."""
        self.replica.start(self.view)
        self.publish(
            SessionStarted(
                session_id=self.workspace.session_id,
                workspace=str(self.workspace.path),
                cwd="/elsewhere",
                version="1",
                provider_session_id="11111111-2222-3333-4444-555555555555",
            )
        )

    def publish(self, *events: Event) -> None:
        """Publish events."""
        for event in events:
            self.bus.publish(event)

    def save(self, path: str, data: bytes) -> None:
        """Save an artifact, and announce it."""
        written = self.workspace.write(path, data)
        self.publish(
            ArtifactSaved(path=path, kind="x", size=written.size, sha256=written.sha256, observer="test")
        )

    def append_entry(self, line: bytes, path: str = ".conversation/conversation-1.jsonl") -> None:
        """Append to a transcript what the agent would."""
        self.workspace.root.append_lines(path, [line])

    @property
    def journal_lines(self) -> list[str]:
        """The lines of the journal."""
        return (self.workspace.path / JOURNAL).read_text().splitlines()


@asynccontextmanager
async def copied_session(
    folder: Path, database: Database | Address | str, identity: SessionId | None = None, **options: Any
) -> AsyncIterator[CopiedSession]:
    """A session in a new folder below `folder`, or in `folder` itself if it is that of a session."""
    place = database.url if isinstance(database, Database) else database
    address = place if isinstance(place, Address) else Address.parse(place)
    workspace = Workspace.resume(folder) if (folder / JOURNAL).exists() else Workspace.create(folder, NOW)
    session = CopiedSession(workspace, address, identity or SessionId(id="s1"), **options)
    session.begin()
    try:
        yield session
    finally:
        session.journal.close()
        await session.replica.drain(60.0)
        workspace.close()


def stored_lines(database: Database, session: str = "s1", path: str = JOURNAL) -> list[str]:
    """The lines of a journal, or of a transcript, in the database."""
    pieces = "SELECT data FROM piece WHERE session = %s AND path = %s ORDER BY start"
    return b"".join(data for (data,) in database.execute(pieces, session, path)).decode().splitlines()
