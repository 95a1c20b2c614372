"""What is said into a running query, with the real agent and a model that waits for the test."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from core.events.types import (
    MessageFinished,
    QueryFinished,
    QueryReceived,
    QuerySteered,
    ToolCallFinished,
    ToolCallStarted,
)
from core.session.session import SessionState
from core.storage.queue_file import read_queue
from tests.e2e.live import Live, agent_of, live
from tests.e2e.running import model_settings
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.waiting import PATIENCE, until

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
        self.may_answer.acquire(timeout=PATIENCE)
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
async def session_of(base: Path, url: str, **more: Any) -> AsyncIterator[Live]:
    async with live(model_settings(base, url, allow=(LIST,), **more), interactive=True) as here:
        yield here


async def asked(model: Model) -> None:
    assert await asyncio.to_thread(model.asked.acquire, timeout=PATIENCE)


async def test_what_is_said_while_a_query_runs_reaches_the_model(tmp_path: Path) -> None:
    model = Model(calls=1)
    with serving(model) as url:
        async with session_of(tmp_path, url) as here:
            session = here.session
            # Before a result of a tool, then before the end of an answer that calls none.
            for question in ("first question", "second question"):
                before = len(model.requests)
                session.submit(question)
                await asked(model)
                assert await session.steer(f"{STEER} {question}")
                assert not any(f"{STEER} {question}" in event.text for event in here.of(QuerySteered))
                model.may_answer.release()
                await asked(model)
                model.may_answer.release()
                await session.wait_idle()
                assert session.queued == ()
                assert f"{STEER} {question}" not in model.requests[before]
                assert f"{STEER} {question}" in model.requests[before + 1]
            # An interrupt stops what was said last, too.
            session.submit("third question")
            await asked(model)
            assert await session.steer("never mind")
            await session.interrupt()
            await session.wait_idle()
            assert session.state is SessionState.IDLE
            steered = [event.text for event in here.of(QuerySteered)][2:]
            assert [*steered, *session.queued] == ["never mind"]
            while session.unqueue():
                pass
            for _ in range(20):
                model.may_answer.release()
            # Without a running query it is one of its own.
            assert not await session.steer("fourth question")
            await session.wait_idle()
    assert [event.text for event in here.of(QuerySteered)][:2] == [
        f"{STEER} first question",
        f"{STEER} second question",
    ]
    assert [event.text for event in here.of(QueryReceived)] == [
        "first question",
        "second question",
        "third question",
        "fourth question",
    ]
    finished = here.of(QueryFinished)
    assert [event.status for event in finished] == ["success", "success", "interrupted", "success"]
    assert finished[0].text == "Done."
    assert STEER in (session.workspace.path / "transcript.md").read_text(encoding="utf-8")
    names = [event.event_name for event in here.events]
    assert names.index("query_steered") < names.index("query_finished")


async def test_what_waits_survives_interrupts_the_death_of_the_agent_and_an_end(tmp_path: Path) -> None:
    model = Model(calls=1)
    with serving(model) as url:
        async with session_of(tmp_path, url) as here:
            session = here.session
            session.submit("first question")
            await asked(model)
            model.may_answer.release()
            await asked(model)
            session.submit("second question")
            session.submit("third question")
            # Twice in quick succession: one query ends, once, and what it said is kept.
            await asyncio.gather(session.interrupt(), session.interrupt())
            await session.wait_idle()
            assert session.state is SessionState.IDLE
            assert session.queue_paused
            assert len(session.queued) == 2
            assert session.unqueue() == "third question"
            (first,) = here.of(QueryFinished)
            assert first.status == "interrupted"
            assert any(event.text for event in here.of(MessageFinished) if event.query_id == first.query_id)
            started = {event.tool_use_id for event in here.of(ToolCallStarted)}
            assert started == {event.tool_use_id for event in here.of(ToolCallFinished)}
            session.resume_queue()
            await asked(model)
            assert not session.queue_paused
            for text in ("fourth question", "fifth question"):
                session.submit(text)
            os.kill(agent_of(session), signal.SIGKILL)
            await session.wait_idle()
            assert session.state is SessionState.FAILED
            assert len(session.queued) == 2
            await session.restart()
            assert session.queue_paused
            session.submit("sixth question")
            await until(lambda: here.of(QueryReceived)[-1].text == "sixth question")
            assert len(session.queued) == 2
    assert read_queue(session.workspace.root) == ("fourth question", "fifth question")
