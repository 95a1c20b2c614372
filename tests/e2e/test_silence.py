"""An agent that is silent during a query, with the real command line: what is reported, and that it can be stopped."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from core.api import open_session
from core.events.describe import describe
from core.events.types import AgentSilent, ErrorRaised, Event, QueryFinished
from core.session.session import Session
from tests.e2e.faulty_service import faulty_service
from tests.e2e.running import model_environment


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("core.agent.messages.silence.REPORT_AFTER", 0.6)
    # Longer than a busy machine lets an agent that reacts wait.
    monkeypatch.setattr("core.agent.messages.silence._REACTS_WITHIN", 30.0)
    monkeypatch.chdir(tmp_path)
    for name in set(os.environ):
        monkeypatch.delenv(name)
    for name, value in model_environment(tmp_path, "").items():
        monkeypatch.setenv(name, value)


async def stopped_when_silent(session: Session, query: str, *, suspend: bool = False) -> list[Event]:
    """Ask, stop the query once a silence is reported, and give its events; `suspend` stops the process first."""
    events: list[Event] = []
    stopping: asyncio.Task[None] | None = None
    if suspend:
        loop = session._agent.loop
        assert loop is not None
        pid = loop._client._pid()
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
    async with asyncio.timeout(60):
        async for event in session.ask(query):
            events.append(event)
            if isinstance(event, AgentSilent) and stopping is None:
                stopping = asyncio.create_task(session.interrupt())
    assert stopping is not None
    await stopping
    return events


async def test_a_silent_service_and_a_stopped_process_are_named_and_can_be_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with faulty_service() as url:
        async with open_session(base_url=url) as session:
            for fault in ("silent", "stopped-stream", "pings"):
                events = await stopped_when_silent(session, f"fault {fault}")
                silent = next(event for event in events if isinstance(event, AgentSilent))
                assert silent.waits_for == "model", fault
                assert describe(silent).sentence.startswith("No answer from the model's service for "), fault
                assert isinstance(end := events[-1], QueryFinished)
                assert (end.status, end.error) == ("interrupted", None), fault

            monkeypatch.setattr("core.agent.messages.silence._REACTS_WITHIN", 1.0)
            monkeypatch.setattr("core.agent.turn._STOP_WITHIN", 2.0)
            events = await stopped_when_silent(session, "hello", suspend=True)
            assert next(event.waits_for for event in events if isinstance(event, AgentSilent)) == "process"
            assert isinstance(end := events[-1], QueryFinished)
            assert end.status == "interrupted"
            assert "did not react when it was asked to stop, and was ended" in describe(end).sentence
            assert not [event for event in events if isinstance(event, ErrorRaised)]

            # The next query starts it again.
            events = [event async for event in session.ask("hello")]
            assert isinstance(end := events[-1], QueryFinished)
            assert (end.status, end.error) == ("success", None)
