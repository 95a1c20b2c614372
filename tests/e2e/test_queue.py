"""Queries that wait, with the real agent behind them."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

from core.events.types import (
    Event,
    MessageFinished,
    QueryFinished,
    QueryReceived,
    TextDelta,
    ToolCallFinished,
    ToolCallStarted,
)
from core.session.session import Session, SessionState
from core.storage.queue_file import QUEUE_FILE, read_queue
from tests.e2e.test_sessions import children, demo_session, of, own_home
from tests.waiting import PATIENCE, until

__all__ = ["own_home"]

LONG = "Research the latest AI chip news and write a comprehensive report"


async def spoken(session: Session) -> None:
    """Wait until the agent has begun to speak."""
    shown_text = asyncio.Event()
    leave = session.bus.subscribe(lambda e: shown_text.set() if isinstance(e, TextDelta) else None)
    await asyncio.wait_for(shown_text.wait(), PATIENCE)
    leave()


async def test_what_waits_survives_interrupts_and_what_was_said_is_kept(tmp_path: Path) -> None:
    events: list[Event] = []
    async with demo_session(tmp_path, events, demo_pace=1.0) as session:
        session.submit(LONG)
        await spoken(session)
        session.submit("What is the capital of France?")
        session.submit("What is the capital of Spain?")
        # Twice in quick succession: one query ends, once.
        await asyncio.gather(session.interrupt(), session.interrupt())
        await session.wait_idle()
        assert session.state is SessionState.IDLE
        assert session.queue_paused
        assert len(session.queued) == 2
        assert session.unqueue() == "What is the capital of Spain?"
        session.resume_queue()
        await session.wait_idle()
        assert not session.queue_paused
    first, second = of(events, QueryFinished)
    assert (first.status, second.status) == ("interrupted", "success")
    assert "Paris" in second.text
    assert any(event.text for event in of(events, MessageFinished) if event.query_id == first.query_id)
    started = {event.tool_use_id for event in of(events, ToolCallStarted)}
    assert started == {event.tool_use_id for event in of(events, ToolCallFinished)}
    assert not (session.workspace.path / QUEUE_FILE).exists()


async def test_what_waits_survives_the_death_of_the_agent_and_an_end(tmp_path: Path) -> None:
    events: list[Event] = []
    async with demo_session(tmp_path, events, demo_pace=1.0) as session:
        session.submit(LONG)
        await spoken(session)
        for text in ("What is the capital of France?", "What is the capital of Spain?"):
            session.submit(text)
        (agent,) = [pid for pid, command in children(os.getpid()) if "claude" in command]
        os.kill(agent, signal.SIGKILL)
        await session.wait_idle()
        assert session.state is SessionState.FAILED
        assert len(session.queued) == 2
        await session.restart()
        assert session.queue_paused
        session.submit("What is the capital of Italy?")
        await until(lambda: len(of(events, QueryReceived)) >= 2)
        asked = of(events, QueryReceived)
        assert asked[1].text == "What is the capital of Italy?"
        assert len(session.queued) == 2
    assert read_queue(session.workspace.root) == (
        "What is the capital of France?",
        "What is the capital of Spain?",
    )
