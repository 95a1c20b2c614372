"""What the copy of a session does on its event loop."""

from __future__ import annotations

import asyncio
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.core.team.copied_session import NOW, CopiedSession, copied_session
from tests.postgres_server import Database
from tests.waiting import PATIENCE, run_ready
from ua_tui.core.errors import TeamError
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.team.records import SessionId
from ua_tui.core.team.replica import SessionReplica
from ua_tui.core.team.session_store import append_entries, load_sdk


async def test_the_copy_ends_although_a_cancellation_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []

    async def wait_and_lose_the_first_cancellation(_: SessionReplica) -> None:
        begun.append("files")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if len(begun) == 1:
                raise TeamError("away") from None
            raise

    async def nothing(_: SessionReplica) -> None: ...

    monkeypatch.setattr(SessionReplica, "_copy_lines", nothing)
    monkeypatch.setattr(SessionReplica, "_copy_files", wait_and_lose_the_first_cancellation)
    with closing(Workspace.create(tmp_path, NOW)) as workspace:
        session = CopiedSession(workspace, "postgresql://127.0.0.1:1/x", SessionId(id="s1"))
        session.replica.start()
        await run_ready()
        drained = asyncio.create_task(session.replica.drain(0.0))
        await asyncio.wait([drained], timeout=PATIENCE)
        assert drained.done()
        session.journal.close()
    assert begun == ["files"]


async def test_the_sdk_is_loaded_in_a_thread_before_the_transaction(
    tmp_path: Path, team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[str, bool]] = []

    def load() -> None:
        calls.append(("load", threading.current_thread() is threading.main_thread()))
        load_sdk()

    async def append(*args: Any, **more: Any) -> None:
        calls.append(("append", True))
        await append_entries(*args, **more)

    monkeypatch.setattr("ua_tui.core.team.replica.load_sdk", load)
    monkeypatch.setattr("ua_tui.core.team.replica.append_entries", append)
    async with copied_session(tmp_path, team_database) as session:
        session.append_entry(b'{"type":"mode"}')
        assert await session.replica.flush(PATIENCE)
    assert calls[:2] == [("load", False), ("append", True)]
