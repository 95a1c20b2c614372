"""The queries of a session, run one after the other."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from core.bus import Bus
from core.concurrency.spawn import spawn_task
from core.session.budget import Budget
from core.session.runner import QueryRunner
from core.storage.queue_file import QueryQueue
from core.storage.workspace import Workspace
from tests.waiting import PATIENCE


async def test_a_session_that_ends_before_its_queries_begin_waits_for_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def run(_text: str) -> str:
        return "success"

    bus = Bus()
    runner = QueryRunner(QueryQueue(Workspace.open(tmp_path)), Budget(None, lambda: None, bus.publish), run)
    with caplog.at_level(logging.WARNING):
        runner.begin(spawn_task)
        await runner.end(within=PATIENCE)
    assert caplog.messages == []
