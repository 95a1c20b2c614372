"""The knowledge base follows a running session."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.core.limits import file_size_limit
from tests.observers.knowledge.recorded import Recorded, database_of, passages, sessions
from tests.waiting import PATIENCE, until, until_in_thread
from ua_tui.core.bus import Bus
from ua_tui.core.events import types as ev
from ua_tui.core.knowledge import access
from ua_tui.core.knowledge.index.database import emptied, open_writer
from ua_tui.core.knowledge.place import Origin
from ua_tui.core.postgres.address import Address
from ua_tui.core.records.journal import Journal
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage import sqlite
from ua_tui.core.storage.sqlite import transaction
from ua_tui.core.storage.workspace import JOURNAL
from ua_tui.observers.knowledge import catch_up
from ua_tui.observers.knowledge.feed import KnowledgeFeed, Pace

PACE = Pace(wake=0.01, start=0.01, check=0.1, pause=0.001, retry=0.02)

Kind = TypeVar("Kind", bound=ev.Event)


class Live:
    """A running session below `base`: what is published goes to its journal, and wakes the feed."""

    def __init__(
        self, base: Path, database: Path | None = None, team: Address | None = None, origin: Origin | None = None
    ) -> None:  # fmt: skip
        self.recorded = Recorded(base)
        self.database = database or database_of(base)
        self.events: list[ev.Event] = []
        self.bus = Bus(self.recorded.seq)
        folder, redactor = self.recorded.folder, Redactor()
        self.journal = Journal(folder / JOURNAL, redactor)
        place = team or self.database
        self.feed = KnowledgeFeed(place, folder, base, redactor, self.bus.publish, PACE, lambda: origin)
        for subscriber in (self.events.append, self.journal.append, self.feed.handle_event):
            self.bus.subscribe(subscriber)

    def start(self) -> None:
        """Publish the beginning of a session whose agent is connected."""
        folder = self.recorded.folder
        self.bus.publish(
            ev.SessionStarted(session_id=folder.name, workspace=str(folder), cwd="/", version="1")
        )
        self.bus.publish(ev.McpStatus())

    def save_report(self, name: str, text: str) -> None:
        """Publish a call that writes a report."""
        self.bus.publish(ev.ToolCallStarted(query_id="q1", tool_use_id=name, name="write"))
        self.bus.publish(ev.ToolCallFinished(tool_use_id=name, status="success"))
        self.bus.publish(self.recorded.write_file(name, text))

    def of(self, kind: type[Kind]) -> list[Kind]:
        """The published events of a kind."""
        return [event for event in self.events if isinstance(event, kind)]

    async def end(self) -> None:
        """End the session as the program does, unless it has ended."""
        if self.of(ev.SessionFinished):
            return
        self.bus.publish(ev.SessionFinished(reason="finished"))
        await self.feed.close(PATIENCE)
        self.journal.close()

    def found(self, words: str) -> list[str]:
        """The paths of the documents with passages that match."""
        return [path for _, path, _ in passages(self.database, words)] if self.database.exists() else []


@pytest.fixture
async def live(tmp_path: Path) -> AsyncIterator[Live]:
    live = Live(tmp_path)
    yield live
    await live.end()


def attempts_of_feeds(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Make a list that grows whenever a feed begins to index a piece of its session or opens the knowledge base."""
    made: list[object] = []

    def noted(work: Callable[..., Any]) -> Callable[..., Any]:
        def note(*args: Any, read_only: bool = False) -> Any:
            if read_only:
                return work(*args, read_only=True)
            made.append(work)
            return work(*args)

        return note

    for module, name in ((catch_up, "index_piece"), (access, "open_store")):
        monkeypatch.setattr(module, name, noted(getattr(module, name)))
    return made


async def test_a_saved_report_is_found(live: Live) -> None:
    live.save_report("quokka", "A quokka smiles. " * 100)
    live.bus.publish(ev.QueryFinished(query_id="q1", status="success", text="The quokka smiles."))
    await until_in_thread(lambda: set(live.found("quokka smiles")) == {"", "work_products/quokka.md"})


async def test_what_is_left_at_the_end_is_indexed(live: Live) -> None:
    for number in range(15):
        live.recorded.write_report(f"earlier{number}", f"Report {number} about numbats.")
    live.bus.publish(ev.QueryReceived(query_id="q2", text="And numbats?"))
    for number in range(30):
        live.save_report(f"report{number}", f"Report {number} about quokkas.")
    await live.end()
    assert (len(live.found("quokkas")), len(live.found("numbats"))) == (30, 16)
    assert isinstance(live.events[-1], ev.SessionFinished)
    # Nothing is left for the next start.
    with closing(open_writer(live.database)) as db:
        (place,) = db.execute("SELECT place FROM session").fetchone()
    assert place == (live.recorded.folder / JOURNAL).stat().st_size


async def test_other_sessions_are_indexed_while_this_one_runs(live: Live, tmp_path: Path) -> None:
    first = Recorded(tmp_path, "session_20260309_120000")
    first.write_report("quokka", "A quokka smiles.")
    live.start()
    await until_in_thread(lambda: live.found("quokka") == ["work_products/quokka.md"])
    first.write_report("numbat", "A numbat eats termites.")
    await until_in_thread(lambda: live.found("numbat") == ["work_products/numbat.md"])
    shutil.rmtree(first.folder)
    await until_in_thread(lambda: first.folder.name not in sessions(live.database))
    assert not live.of(ev.ErrorRaised)
    await live.end()
    assert [file.name for file in live.database.parent.glob("knowledge.db*")] == ["knowledge.db"]


async def test_a_session_whose_folder_is_deleted_while_it_runs_leaves_nothing(live: Live) -> None:
    live.save_report("quokka", "A quokka smiles.")
    await until_in_thread(lambda: live.found("quokka"))
    # A file that was removed is made again.
    for file in live.database.parent.glob("knowledge.db*"):
        file.unlink()
    live.save_report("numbat", "A numbat eats termites.")
    await until_in_thread(lambda: len(live.found("quokka OR numbat")) == 2)
    shutil.rmtree(live.recorded.folder)
    live.bus.publish(ev.QueryReceived(query_id="q2", text="And numbats?"))
    await live.end()
    assert not sessions(live.database)
    assert not live.of(ev.ErrorRaised)


async def test_a_failure_is_reported_once_and_indexing_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = attempts_of_feeds(monkeypatch)
    (tmp_path / "place").write_text("a file where the folder should be")
    live = Live(tmp_path, tmp_path / "place" / "knowledge.db")
    live.start()
    for number in range(3):
        live.save_report(f"report{number}", "About quokkas.")
    await until(lambda: live.of(ev.ErrorRaised))
    reported = len(attempts)
    await until(lambda: len(attempts) > reported + 2)
    (tmp_path / "place").unlink()
    await until_in_thread(lambda: len(live.found("quokkas")) == 3)
    await live.end()
    (error,) = live.of(ev.ErrorRaised)
    assert error.where == "knowledge"
    assert str(live.database) in error.message
    assert "indexing is tried again" in error.message


async def test_a_full_disk_is_reported_once_and_indexing_resumes(live: Live) -> None:
    live.save_report("quokka", "A quokka smiles.")
    await until_in_thread(lambda: live.found("quokka"))
    text = " ".join(f"word{number}" for number in range(60_000))
    live.save_report("long", text)
    with file_size_limit(200_000):
        await until(lambda: live.of(ev.ErrorRaised))
    await until_in_thread(lambda: live.found("word7"))
    await live.end()
    (error,) = live.of(ev.ErrorRaised)
    assert error.where == "knowledge"


async def test_a_file_that_is_locked_for_a_while_is_no_failure(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = attempts_of_feeds(monkeypatch)
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", PATIENCE)
    with closing(open_writer(live.database)) as other:
        with transaction(other):
            live.save_report("quokka", "A quokka smiles.")
            await until(lambda: attempts)
        await until_in_thread(lambda: live.found("quokka"))
    assert not live.of(ev.ErrorRaised)


async def test_the_end_of_a_session_does_not_wait_for_a_file_that_is_locked(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = attempts_of_feeds(monkeypatch)
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", PATIENCE)
    with closing(open_writer(live.database)) as other, transaction(other):
        live.recorded.write_report("quokka", "A quokka smiles.")
        # What wakes the feed comes after the report: the attempt that waits for the file has read it.
        live.bus.publish(ev.QueryReceived(query_id="q2", text="And numbats?"))
        await until(lambda: attempts)
        live.bus.publish(ev.SessionFinished(reason="finished"))
        await live.feed.close(0.01)
    await until_in_thread(lambda: live.found("quokka"))
    assert not live.of(ev.ErrorRaised)


async def test_a_file_that_is_emptied_is_filled_again_while_the_session_rests(live: Live) -> None:
    live.start()
    live.save_report("cats", "The cats are grey.")
    await until(lambda: bool(live.found("cats")))
    emptied(live.database)
    await until(lambda: bool(live.found("cats")))


async def test_a_session_without_a_query_leaves_no_file(live: Live) -> None:
    await live.end()
    assert not live.database.exists()


async def test_a_damaged_file_is_reported_and_made_again_with_all_sessions(
    live: Live, tmp_path: Path
) -> None:
    Recorded(tmp_path, "session_20260309_120000").write_report("quokka", "A quokka smiles.")
    live.database.write_bytes(b"no database " * 1_000)
    live.start()
    live.save_report("numbat", "A numbat eats termites.")
    await until(lambda: live.of(ev.ErrorRaised))
    await until_in_thread(lambda: len(live.found("quokka OR numbat")) == 2)
    (error,) = live.of(ev.ErrorRaised)
    assert "set aside" in error.message
