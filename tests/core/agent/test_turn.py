from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from ua_tui.core.agent.turn import Stopping
from ua_tui.core.errors import AgentUnavailable


class Agent:
    """Notes what it is asked; it answers when it may."""

    def __init__(self) -> None:
        self.asked = 0
        self.was_asked = asyncio.Semaphore(0)
        self.answered = 0
        self.killed = False
        self.may_answer = asyncio.Event()

    async def interrupt(self) -> None:
        self.asked += 1
        self.was_asked.release()
        await self.may_answer.wait()
        self.answered += 1

    async def kill(self) -> None:
        self.killed = True


def others() -> set[asyncio.Task[object]]:
    return asyncio.all_tasks() - {asyncio.current_task()}


async def test_all_asking_ends_when_the_agent_is_let_go() -> None:
    agent = Agent()
    stopping = Stopping(cast("Any", agent))
    stopping.ask_until(asyncio.get_running_loop().create_future())
    stopping.ask_until(asyncio.get_running_loop().create_future())
    await agent.was_asked.acquire()
    await agent.was_asked.acquire()
    assert len(others()) == 2
    await stopping.close()
    assert others() == set()
    assert agent.answered == 0


async def test_it_is_asked_until_the_turn_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ua_tui.core.agent.turn._ASK_AGAIN", 0)
    agent = Agent()
    agent.may_answer.set()
    stopping = Stopping(cast("Any", agent))
    done = asyncio.get_running_loop().create_future()
    stopping.ask_until(done)
    for _ in range(3):
        await agent.was_asked.acquire()
    done.set_result(None)
    await asyncio.wait(others())
    asked = agent.asked
    stopping.ask_until(done)
    await asyncio.wait(others())
    assert agent.asked == asked
    assert not agent.killed


async def test_an_agent_that_does_not_stop_is_ended_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Agent()
    agent.may_answer.set()
    done, gone = (asyncio.get_running_loop().create_future() for _ in range(2))
    done.set_result(None)
    gone.set_exception(AgentUnavailable("the agent is gone"))
    for future in (done, gone):
        await Stopping(cast("Any", agent)).stop(future)
    assert (agent.asked, agent.killed) == (2, False)
    monkeypatch.setattr("ua_tui.core.agent.turn._STOP_WITHIN", 0)
    await Stopping(cast("Any", agent)).stop(asyncio.get_running_loop().create_future())
    assert agent.killed


async def test_asking_that_fails_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Agent):
        async def interrupt(self) -> None:
            raise RuntimeError("no such agent")

    stopping = Stopping(cast("Any", Broken()))
    stopping.ask_until(asyncio.get_running_loop().create_future())
    stopping.ask_until(asyncio.get_running_loop().create_future())
    await asyncio.wait(others())
    await stopping.close()
    reported = [str(record.exc_info[1]) for record in caplog.records if record.exc_info]
    assert reported == ["no such agent"] * 2
