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

from tests.e2e.live import Live, agent_of, live
from tests.e2e.running import DEADLINE, model_settings
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.waiting import PATIENCE, until
from ua_tui.core.events import types as ev
from ua_tui.core.session.parts import SessionState
from ua_tui.core.storage.queue_file import read_queue

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
                assert not any(f"{STEER} {question}" in event.text for event in here.of(ev.QuerySteered))
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
            steered = [event.text for event in here.of(ev.QuerySteered)][2:]
            assert [*steered, *session.queued] == ["never mind"]
            while session.queue.pop_newest():
                pass
            for _ in range(20):
                model.may_answer.release()
            # Without a running query it is one of its own.
            assert not await session.steer("fourth question")
            await session.wait_idle()
    steered = [event.text for event in here.of(ev.QuerySteered)][:2]
    assert steered == [f"{STEER} first question", f"{STEER} second question"]
    received = [event.text.split()[0] for event in here.of(ev.QueryReceived)]
    assert received == ["first", "second", "third", "fourth"]
    finished = here.of(ev.QueryFinished)
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
            assert session.queue.pop_newest() == "third question"
            (first,) = here.of(ev.QueryFinished)
            assert first.status == "interrupted"
            assert any(
                event.text for event in here.of(ev.MessageFinished) if event.query_id == first.query_id
            )
            started = {event.tool_use_id for event in here.of(ev.ToolCallStarted)}
            assert started == {event.tool_use_id for event in here.of(ev.ToolCallFinished)}
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
            await until(lambda: here.of(ev.QueryReceived)[-1].text == "sixth question")
            assert len(session.queued) == 2
    assert read_queue(session.workspace.root) == ("fourth question", "fifth question")


WRITE = "mcp__local_toolkit__write_local_file"


class TwoTasks:
    """Gives work to two sub-agents: one wants to write a file, which asks; the other waits for the test."""

    def __init__(self) -> None:
        self.works = threading.Event()
        self.may_end = threading.Event()
        self.last_request = ""

    def __call__(self, body: dict[str, Any], results: int) -> tuple[Block, ...]:
        first = json.dumps(body["messages"][0])
        if "FIRST TASK" in first:
            return Text("I write."), Use(WRITE, {"path": "work_products/a.txt", "content": "a"})
        if "SECOND TASK" in first:
            self.works.set()
            self.may_end.wait(DEADLINE)
            return (Text("The second is done."),)
        self.last_request = json.dumps(body["messages"])
        if results:
            return (Text("Both are over."),)
        return tuple(
            Use("Agent", {"subagent_type": "general-purpose", "prompt": f"{name} TASK", "description": name})
            for name in ("FIRST", "SECOND")
        )


async def test_one_sub_agent_is_stopped_and_the_query_continues(tmp_path: Path) -> None:
    model = TwoTasks()
    with scripted_model(model) as url:
        try:
            async with session_of(tmp_path, url, ask=(WRITE,)) as here:
                session = here.session
                assert not await session.stop_subagent("toolu_0")
                session.submit("do both")
                await until(lambda: here.of(ev.PermissionAsked) and model.works.is_set())
                first = next(each for each in here.of(ev.SubagentStarted) if each.description == "FIRST")
                assert await session.stop_subagent(first.tool_use_id)
                await until(
                    lambda: first.tool_use_id in [e.tool_use_id for e in here.of(ev.ToolCallFinished)]
                )
                assert not here.of(ev.QueryFinished)
                model.may_end.set()
                await session.wait_idle()
                assert not await session.stop_subagent(first.tool_use_id)
        finally:
            model.may_end.set()
    ends = {each.tool_use_id: each for each in here.of(ev.SubagentFinished)}
    assert (ends[first.tool_use_id].status, ends[first.tool_use_id].by_person) == ("cancelled", True)
    (other,) = (each for each in ends.values() if each.tool_use_id != first.tool_use_id)
    assert (other.status, other.by_person) == ("success", False)
    # The question that the sub-agent had open is withdrawn, and every call ends once: its own as cancelled.
    assert [each.decision for each in here.of(ev.PermissionAnswered)] == ["deny"]
    finished = {each.tool_use_id: each.status for each in here.of(ev.ToolCallFinished)}
    assert sorted(finished) == sorted(each.tool_use_id for each in here.of(ev.ToolCallStarted))
    written = next(each.tool_use_id for each in here.of(ev.ToolCallStarted) if each.name == WRITE)
    assert (finished[first.tool_use_id], finished[written]) == ("cancelled", "cancelled")
    assert "The person stopped this sub-agent; it did not fail." in model.last_request
    assert here.of(ev.QueryFinished)[0].text == "Both are over."
