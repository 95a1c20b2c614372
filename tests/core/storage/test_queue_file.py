from __future__ import annotations

import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.queue_file import QUEUE_FILE, QueryQueue, read_queue
from ua_tui.core.storage.workspace import Workspace

SECRET = "sk-ant-canary-9876543210"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path, datetime.now(UTC), Redactor([SECRET]))


async def kept(queue: QueryQueue, workspace: Workspace) -> tuple[str, ...]:
    if queue._keeper is not None:
        await queue._keeper
    return read_queue(workspace.root)


async def test_what_waits_is_on_the_disk_until_it_is_taken(workspace: Workspace) -> None:
    queue = QueryQueue(workspace)
    for text in ("one", "two\nlines", "three \u202e \x1b[2J"):
        queue.add(text)
    assert await kept(queue, workspace) == tuple(queue)
    path = workspace.path / QUEUE_FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert b"\x1b" not in path.read_bytes()
    assert queue.pop_next() == "one"
    assert await kept(queue, workspace) == tuple(queue)
    assert queue.pop_newest() == "three \u202e \x1b[2J"
    assert queue.pop_next() == "two\nlines"
    assert queue.pop_next() is None
    assert await kept(queue, workspace) == ()
    assert not path.exists()


async def test_what_waits_at_the_end_stays_for_the_next_time_with_masked_secrets(
    workspace: Workspace,
) -> None:
    queue = QueryQueue(workspace)
    queue.add(f"use {SECRET}")
    assert SECRET not in str(await kept(queue, workspace))
    assert queue.pop_next() == f"use {SECRET}"
    assert await kept(queue, workspace) == ()
    queue = QueryQueue(workspace)
    queue.add("never run")
    await queue.close()
    assert queue.pop_next() is None
    assert not queue.change(["never run"], [])
    assert read_queue(workspace.root) == ("never run",)


async def test_a_held_queue_gives_nothing_out_until_it_is_let_go(workspace: Workspace) -> None:
    queue = QueryQueue(workspace)
    queue.pause()
    assert not queue.paused
    queue.add("one")
    queue.pause()
    assert queue.paused
    assert queue.pop_next() is None
    queue.resume()
    assert queue.pop_next() == "one"
    # Holding ends when nothing is left to hold.
    queue.add("one")
    queue.pause()
    assert queue.pop_newest() == "one"
    queue.add("two")
    assert queue.pop_next() == "two"


async def test_a_new_query_goes_before_held_ones_and_releases_them(workspace: Workspace) -> None:
    queue = QueryQueue(workspace)
    for text in ("one", "two"):
        queue.add(text)
    queue.pause()
    queue.add("first of all")
    queue.add("last")
    assert [queue.pop_next() for _ in range(5)] == ["first of all", "one", "two", "last", None]


async def test_a_change_counts_only_for_what_was_seen(workspace: Workspace) -> None:
    queue = QueryQueue(workspace)
    for text in ("one", "two", "three"):
        queue.add(text)
    seen = tuple(queue)
    assert queue.change(seen, ["three", " ", "one"])
    assert tuple(queue) == ("three", "one")
    assert not queue.change(seen, [])
    assert await kept(queue, workspace) == ("three", "one")


async def test_a_disk_that_fails_costs_the_file_and_not_the_queue(workspace: Workspace) -> None:
    queue = QueryQueue(workspace)
    (workspace.path / QUEUE_FILE).mkdir()
    queue.add("one")
    await queue.close()
    assert tuple(queue) == ("one",)


def test_a_file_of_others_is_refused(workspace: Workspace) -> None:
    assert read_queue(workspace.root) == ()
    workspace.write(QUEUE_FILE, '{"queries": [1]}')
    with pytest.raises(WorkspaceError, match=r"queue\.json"):
        read_queue(workspace.root)
