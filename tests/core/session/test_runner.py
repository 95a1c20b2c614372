"""The queries of a session, run one after the other."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from tests.waiting import PATIENCE
from ua_tui.core.bus import Bus
from ua_tui.core.concurrency.spawn import spawn_task
from ua_tui.core.session.budget import Budget
from ua_tui.core.session.runner import QueryRunner
from ua_tui.core.storage.queue_file import QueryQueue
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.view.costs import Costs


async def test_a_session_that_ends_before_its_queries_begin_waits_for_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def run(_text: str) -> str:
        return "success"

    bus = Bus()
    runner = QueryRunner(
        QueryQueue(Workspace.open(tmp_path)),
        Budget(None, Costs, bus.publish, lambda: None, lambda: True),
        run,
    )
    with caplog.at_level(logging.WARNING):
        runner.begin(spawn_task)
        await runner.end(within=PATIENCE)
    assert caplog.messages == []
