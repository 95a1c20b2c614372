"""A person stops one of two sub-agents, with the real agent: the other and the query continue."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

from core.events.types import (
    Event,
    PermissionAnswered,
    PermissionAsked,
    QueryFinished,
    SubagentFinished,
    SubagentStarted,
    ToolCallFinished,
    ToolCallStarted,
)
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.e2e.test_steering import session_of
from tests.waiting import PATIENCE

WRITE = "mcp__local_toolkit__write_local_file"


class Model:
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
            self.may_end.wait(60)
            return (Text("The second is done."),)
        self.last_request = json.dumps(body["messages"])
        if results:
            return (Text("Both are over."),)
        return tuple(
            Use("Agent", {"subagent_type": "general-purpose", "prompt": f"{name} TASK", "description": name})
            for name in ("FIRST", "SECOND")
        )


async def test_one_sub_agent_is_stopped_and_the_query_continues(tmp_path: Path) -> None:
    model = Model()
    asks, stopped = asyncio.Event(), asyncio.Event()

    def note(event: Event) -> None:
        if isinstance(event, PermissionAsked):
            asks.set()
        if isinstance(event, ToolCallFinished) and event.tool_use_id == first.tool_use_id:
            stopped.set()

    first = SubagentStarted(task_id="", tool_use_id="", name="")
    with scripted_model(model) as url:
        try:
            async with session_of(tmp_path, url, ask=(WRITE,)) as here:
                session = here.session
                session.bus.subscribe(note)
                assert not await session.stop_subagent("toolu_0")
                session.submit("do both")
                async with asyncio.timeout(PATIENCE):
                    await asks.wait()
                    assert await asyncio.to_thread(model.works.wait, PATIENCE)
                first = next(each for each in here.of(SubagentStarted) if each.description == "FIRST")
                assert await session.stop_subagent(first.tool_use_id)
                async with asyncio.timeout(PATIENCE):
                    await stopped.wait()
                assert not here.of(QueryFinished)
                model.may_end.set()
                await session.wait_idle()
                assert not await session.stop_subagent(first.tool_use_id)
        finally:
            model.may_end.set()
    ends = {each.tool_use_id: each for each in here.of(SubagentFinished)}
    assert (ends[first.tool_use_id].status, ends[first.tool_use_id].by_person) == ("cancelled", True)
    (other,) = (each for each in ends.values() if each.tool_use_id != first.tool_use_id)
    assert (other.status, other.by_person) == ("success", False)
    # The question that the sub-agent had open is withdrawn, and every call ends once: its own as cancelled.
    assert [each.decision for each in here.of(PermissionAnswered)] == ["deny"]
    finished = {each.tool_use_id: each.status for each in here.of(ToolCallFinished)}
    assert sorted(finished) == sorted(each.tool_use_id for each in here.of(ToolCallStarted))
    written = next(each.tool_use_id for each in here.of(ToolCallStarted) if each.name == WRITE)
    assert (finished[first.tool_use_id], finished[written]) == ("cancelled", "cancelled")
    assert "The person stopped this sub-agent; it did not fail." in model.last_request
    assert here.of(QueryFinished)[0].text == "Both are over."
