"""What the copy of a session does on its event loop."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path

import pytest

from tests.core.team.copied_session import NOW, CopiedSession
from tests.waiting import PATIENCE, run_ready
from ua_tui.core.errors import TeamError
from ua_tui.core.postgres.address import Address
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.team.records import SessionId
from ua_tui.core.team.replica import SessionReplica


async def test_the_copy_ends_although_a_cancellation_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []

    async def wait_and_lose_the_first_cancellation(_: SessionReplica) -> None:
        begun.append("copy")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise TeamError("away") from None

    monkeypatch.setattr(SessionReplica, "_copy", wait_and_lose_the_first_cancellation)
    with closing(Workspace.create(tmp_path, NOW)) as workspace:
        session = CopiedSession(workspace, Address.parse("postgresql://127.0.0.1:1/x"), SessionId(id="s1"))
        session.replica.start(session.view)
        await run_ready()
        drained = asyncio.create_task(session.replica.drain(0.0))
        await asyncio.wait([drained], timeout=PATIENCE)
        assert drained.done()
        session.journal.close()
    assert begun == ["copy"]
