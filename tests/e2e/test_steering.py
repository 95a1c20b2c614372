"""What is said into a running query, with the real agent and a model that waits for the test."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from core.events.types import Event, QueryFinished, QueryReceived, QuerySteered
from core.session.session import Session, SessionState
from tests.e2e.running import model_settings
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
async def session_of(base: Path, url: str, events: list[Event], **more: Any) -> AsyncIterator[Session]:
    settings = model_settings(base, url, allow=(LIST,), **more)
    session = await compose_session(settings, interactive=True, subscribers=(events.append,))
    try:
        await session.start()
        yield session
    finally:
        await session.close("test")


async def asked(model: Model) -> None:
    assert await asyncio.to_thread(model.asked.acquire, timeout=60)


async def test_what_is_said_while_a_query_runs_reaches_the_model(tmp_path: Path) -> None:
    model, events = Model(calls=1), list[Event]()
    with serving(model) as url:
        async with session_of(tmp_path, url, events) as session:
            # Before a result of a tool, then before the end of an answer that calls none.
            for question in ("first question", "second question"):
                before = len(model.requests)
                session.submit(question)
                await asked(model)
                assert await session.steer(f"{STEER} {question}")
                assert not any(f"{STEER} {question}" in event.text for event in of(events, QuerySteered))
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
            steered = [event.text for event in of(events, QuerySteered)][2:]
            assert [*steered, *session.queued] == ["never mind"]
            while session.unqueue():
                pass
            for _ in range(20):
                model.may_answer.release()
            # Without a running query it is one of its own.
            assert not await session.steer("fourth question")
            await session.wait_idle()
    assert [event.text for event in of(events, QuerySteered)][:2] == [
        f"{STEER} first question",
        f"{STEER} second question",
    ]
    assert [event.text for event in of(events, QueryReceived)] == [
        "first question",
        "second question",
        "third question",
        "fourth question",
    ]
    finished = of(events, QueryFinished)
    assert [event.status for event in finished] == ["success", "success", "interrupted", "success"]
    assert finished[0].text == "Done."
    assert STEER in (session.workspace.path / "transcript.md").read_text(encoding="utf-8")
    names = [event.event_name for event in events]
    assert names.index("query_steered") < names.index("query_finished")
