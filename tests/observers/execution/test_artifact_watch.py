"""Changes of saved artifacts: each is reported once, when the file is at rest."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ua_tui.core.bus import Bus
from ua_tui.core.concurrency.spawn import spawn_task
from ua_tui.core.events.types import ArtifactChanged, ArtifactSaved, Event
from ua_tui.core.storage.workspace import Workspace
from ua_tui.observers.execution.artifact_watch import ArtifactWatch

PATH = "work_products/report.md"


class Watched:
    """A workspace with one saved artifact, and what is reported of it."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.file = workspace.path / PATH
        self.events: list[Event] = []
        self.bus = Bus()
        self.watch = ArtifactWatch(workspace, self.bus.publish)
        self.bus.subscribe(self.watch.handle_event)
        self.bus.subscribe(self.events.append)
        self.save("first")

    def save(self, text: str) -> None:
        written = self.workspace.write(PATH, text)
        self.bus.publish(
            ArtifactSaved(
                path=PATH, kind="work_product", size=written.size, sha256=written.sha256, observer="o"
            )
        )

    async def looks(self, count: int) -> list[str]:
        for _ in range(count):
            await self.watch.check()
        return self.changes

    @property
    def changes(self) -> list[str]:
        return [event.sha256 for event in self.events if isinstance(event, ArtifactChanged)]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    made = Workspace.create(tmp_path, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    yield made
    made.close()


@pytest.fixture
def watched(workspace: Workspace) -> Watched:
    return Watched(workspace)


def replace(path: Path, text: str) -> None:
    """Write as an editor does: a temporary file that is renamed."""
    beside = path.with_name(".report.md.swp")
    beside.write_text(text)
    os.replace(beside, path)


async def test_a_change_is_reported_once_when_the_file_is_at_rest(watched: Watched) -> None:
    assert await watched.looks(3) == []
    replace(watched.file, "second")
    assert await watched.looks(1) == []
    assert await watched.looks(3) == [digest("second")]
    (event,) = [event for event in watched.events if isinstance(event, ArtifactChanged)]
    assert (event.path, event.kind, event.size) == (PATH, "work_product", 6)
    # It was touched, and is as it was.
    os.utime(watched.file)
    assert await watched.looks(4) == [digest("second")]
    # A new version that is reported as saved is not a change.
    watched.save("third")
    assert await watched.looks(3) == [digest("second")]


async def test_a_file_that_is_written_all_the_time_makes_one_report_at_the_end(watched: Watched) -> None:
    for number in range(20):
        replace(watched.file, f"draft {number}")
        await watched.looks(1)
    assert watched.changes == []
    await watched.watch.finish()
    assert watched.changes == [digest("draft 19")]


async def test_a_file_that_changes_often_has_to_rest_for_longer(watched: Watched) -> None:
    for number in range(6):
        replace(watched.file, f"draft {number}")
        await watched.looks(3)
    assert watched.changes == [digest("draft 0"), digest("draft 1")]
    watched.file.unlink()
    assert len(await watched.looks(3)) == 2


async def test_it_looks_until_the_session_ends(workspace: Workspace) -> None:
    looked = asyncio.Event()
    go = asyncio.Semaphore(0)

    async def pause() -> None:
        looked.set()
        await go.acquire()

    reported: list[Event] = []
    watch = ArtifactWatch(workspace, reported.append, pause)
    watch.start(spawn_task)
    await looked.wait()
    written = workspace.write(PATH, "a")
    saved = ArtifactSaved(path=PATH, kind="k", size=written.size, sha256=written.sha256, observer="o")
    watch.handle_event(saved)
    workspace.write(PATH, "b")
    for _ in range(2):
        looked.clear()
        go.release()
        await looked.wait()
    assert [type(event) for event in reported] == [ArtifactChanged]
    await watch.finish()
    assert len(reported) == 1
