"""What is said into a running query, with the real agent and a model that waits for the test."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from core.events.types import Event, QueryFinished, QueryReceived, QuerySteered
from core.session.session import Session, SessionState
from core.settings.model import load_settings
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.e2e.test_sessions import of, own_home
from tui.compose import compose_session

__all__ = ["own_home"]

LIST = "mcp__local_toolkit__list_directory"
STEER = "also mention cats"


class Model:
    """Says when it is asked, and answers when it may; it remembers every request."""

    def __init__(self, *, calls: int) -> None:
        self.calls = calls
        self.asked = threading.Semaphore(0)
        self.may_answer = threading.Semaphore(0)
        self.requests: list[str] = []

    def __call__(self, body: dict[str, Any], results: int) -> tuple[Block, ...]:
        self.requests.append(json.dumps(body["messages"]))
        self.asked.release()
        self.may_answer.acquire(timeout=60)
        if results < self.calls:
            return Text("I look."), Use(LIST, {"path": ""})
        return (Text("Done."),)


@contextmanager
def serving(model: Model) -> Iterator[str]:
    with scripted_model(model) as url:
        try:
            yield url
        finally:
            for _ in range(20):
                model.may_answer.release()


@asynccontextmanager
async def session_of(base: Path, url: str, events: list[Event]) -> AsyncIterator[Session]:
    settings = load_settings(
        {
            "workspace_base": base,
            "base_url": url,
            "api_key": "sk-ant-test-0123456789",
            "classifier": "off",
            "allow": (LIST,),
        }
    )
    session = await compose_session(settings, interactive=True, subscribers=(events.append,))
    try:
        await session.start()
        yield session
    finally:
        await session.close("test")


async def asked(model: Model) -> None:
    assert await asyncio.to_thread(model.asked.acquire, timeout=60)


@pytest.mark.parametrize("calls", [1, 0])
async def test_what_is_said_reaches_the_model_within_the_query(tmp_path: Path, calls: int) -> None:
    model, events = Model(calls=calls), list[Event]()
    with serving(model) as url:
        async with session_of(tmp_path, url, events) as session:
            session.submit("first question")
            await asked(model)
            assert await session.steer(STEER)
            assert of(events, QuerySteered) == []
            model.may_answer.release()
            await asked(model)
            model.may_answer.release()
            await session.wait_idle()
            assert session.queued == ()
    assert STEER not in model.requests[0]
    assert STEER in model.requests[1]
    assert [e.text for e in of(events, QuerySteered)] == [STEER]
    assert [e.text for e in of(events, QueryReceived)] == ["first question"]
    (finished,) = of(events, QueryFinished)
    assert (finished.status, finished.text) == ("success", "Done.")
    assert STEER in (session.workspace.path / "transcript.md").read_text(encoding="utf-8")
    names = [event.event_name for event in events]
    assert names.index("query_steered") < names.index("query_finished")


async def test_an_interrupt_stops_what_was_said_last_too(tmp_path: Path) -> None:
    model, events = Model(calls=0), list[Event]()
    with serving(model) as url:
        async with session_of(tmp_path, url, events) as session:
            session.submit("first question")
            await asked(model)
            assert await session.steer(STEER)
            await session.interrupt()
            await session.wait_idle()
            assert session.state is SessionState.IDLE
            told = [e.text for e in of(events, QuerySteered)]
            assert [*told, *session.queued] == [STEER]
            (finished,) = of(events, QueryFinished)
            assert finished.status == "interrupted"
            while session.unqueue():
                pass
            for _ in range(20):
                model.may_answer.release()
            session.submit("second question")
            await session.wait_idle()
    assert [e.status for e in of(events, QueryFinished)] == ["interrupted", "success"]


async def test_without_a_running_query_it_is_a_query_of_its_own(tmp_path: Path) -> None:
    model, events = Model(calls=0), list[Event]()
    with serving(model) as url:
        async with session_of(tmp_path, url, events) as session:
            model.may_answer.release()
            assert not await session.steer(STEER)
            await session.wait_idle()
    assert [e.text for e in of(events, QueryReceived)] == [STEER]
