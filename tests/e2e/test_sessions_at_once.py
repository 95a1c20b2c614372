"""Sessions that run at once in one process, as those of a worker do, are as they would be alone."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
import threading
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.journals import read_journal
from ua_tui.core.events import types as ev
from ua_tui.core.settings.loading import load_settings
from ua_tui.tui.compose import compose_session

RESEARCH = "Who is the CEO of Northwind Silicon?"
CAPITAL = "What is the capital of France?"
_LEVELS = ("debug", "info", "warning", "error")
# A slow machine has something to say of its own.
_UNSTEADY = ("asyncio", "ua_tui.core.knowledge.index.store")


async def run(base: Path, query: str) -> Path:
    """Run a query in a session of the demo; returns its folder."""
    settings = load_settings({"demo": True, "workspace_base": base, "demo_pace": 0.0})
    session = await compose_session(settings, interactive=False)
    try:
        logging.getLogger("tests.own").warning("says %s", query)
        await session.start()
        session.submit(query)
        await session.wait_idle()
    finally:
        await session.close("finished")
    return session.workspace.path


def outline(folder: Path) -> dict[str, Any]:
    """What a session did, without what depends on the time."""
    reading = read_journal(folder / "journal.jsonl")
    assert reading.skipped == 0
    events: list[ev.Event] = reading.events
    numbers = [event.seq for event in events]
    assert numbers == sorted(set(numbers))
    return {
        "calls": [each.status for each in events if isinstance(each, ev.ToolCallFinished)],
        "queries": [each.text for each in events if isinstance(each, ev.QueryReceived)],
        "answers": [
            (each.status, each.turns, each.text) for each in events if isinstance(each, ev.QueryFinished)
        ],
        "artifacts": Counter(
            Path(each.path).parts[0] for each in events if isinstance(each, ev.ArtifactSaved)
        ),
        "ends": [(each.reason, each.tool_calls) for each in events if isinstance(each, ev.SessionFinished)],
        "starts": [each.session_id == folder.name for each in events if isinstance(each, ev.SessionStarted)],
        "observers": {each.observer for each in events if isinstance(each, ev.ObserverFinished)},
    }


def log_of(folder: Path) -> Counter[str]:
    """How many entries of each kind a session's log has; those that were logged with the name of the logger."""
    lines = (folder / "run.log").read_text(encoding="utf-8").splitlines()
    entries = [(line[25:36].strip(), line[36:].partition(":")[0]) for line in lines if line[:1].isdigit()]
    return Counter(
        f"{kind} {logger}" if kind in _LEVELS else kind
        for kind, logger in entries
        if kind != "mcp" and logger not in _UNSTEADY
    )


def process_state() -> tuple[Any, ...]:
    """What belongs to the whole process, and no session may leave changed."""
    root = logging.getLogger()
    return (
        Path.cwd(),
        dict(os.environ),
        [
            signal.getsignal(number)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)
        ],
        list(root.handlers),
        root.level,
        warnings.showwarning,
        sys.unraisablehook,
        threading.excepthook,
        gc.isenabled(),
        gc.get_threshold(),
    )


@pytest.mark.slow
async def test_two_sessions_at_once_are_as_they_are_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UA_KNOWLEDGE", str(tmp_path / "knowledge.db"))
    before, frozen = process_state(), gc.get_freeze_count()
    alone = await asyncio.create_task(run(tmp_path / "alone", RESEARCH))
    together, capital = await asyncio.gather(
        run(tmp_path / "again", RESEARCH), run(tmp_path / "other", CAPITAL)
    )
    assert process_state() == before
    # Each freezing would keep the garbage of the sessions before for ever.
    assert gc.get_freeze_count() <= frozen
    assert outline(alone) == outline(together)
    assert log_of(alone) == log_of(together)
    assert outline(capital)["queries"] == [CAPITAL]
    assert outline(capital)["calls"] == []
    for folder, query, other in ((together, RESEARCH, capital), (capital, CAPITAL, together)):
        log = (folder / "run.log").read_text(encoding="utf-8")
        assert log.count("tests.own: says ") == 1
        assert f"says {query}" in log
        assert str(other) not in log
