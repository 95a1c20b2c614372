from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from tests.waiting import run_ready
from ua_tui.core.agent.loop import AgentLoop
from ua_tui.core.concurrency.spawn import spawn_task
from ua_tui.core.errors import AgentUnavailable
from ua_tui.core.session.runner import AgentConnection


class Loop:
    """An agent that lives until it dies or is let go."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self.failure: AgentUnavailable | None = None
        self.was_stopped = False
        self.closed = False
        # It waits for them, too.
        self.servers = self

    @property
    def is_alive(self) -> bool:
        return not self.ended.is_set()

    async def read(self) -> None:
        await self.ended.wait()

    async def poll(self) -> None:
        await self.ended.wait()

    async def close(self) -> None:
        self.closed = True
        self.ended.set()

    def die(self) -> None:
        self.failure = AgentUnavailable("it died")
        self.ended.set()


class Bench:
    """A connection whose loops, terms and end are told from outside."""

    def __init__(self) -> None:
        self.made: list[Loop] = []
        self.may = asyncio.Event()
        self.may.set()
        self.begun = asyncio.Event()
        self.terms = 1.0
        self.over = False
        self.died: list[Exception] = []
        self.agent = AgentConnection(
            self.connect, spawn_task, terms=lambda: self.terms, over=lambda: self.over, died=self.died.append
        )

    async def connect(self) -> AgentLoop:
        self.begun.set()
        try:
            await self.may.wait()
        finally:
            # It has something to put away.
            await run_ready()
        loop = Loop()
        self.made.append(loop)
        return cast("AgentLoop", loop)


def others() -> set[asyncio.Task[Any]]:
    return asyncio.all_tasks() - {cast("asyncio.Task[Any]", asyncio.current_task())}


async def test_two_that_ask_at_once_get_one_agent() -> None:
    bench = Bench()
    assert sorted(await asyncio.gather(bench.agent.connect(), bench.agent.connect())) == [False, True]
    # As when a person lets the agent start again while a query does so for a new limit.
    bench.terms = 2.0
    assert not bench.agent.is_current
    assert sorted(await asyncio.gather(bench.agent.connect(), bench.agent.connect())) == [False, True]
    assert [loop.closed for loop in bench.made] == [True, False]
    assert bench.agent.is_current
    await bench.agent.close()
    assert others() == set()
    assert [loop.closed for loop in bench.made] == [True, True]
    # Who was let go did not die.
    assert bench.died == []


async def test_one_that_died_is_reported_and_replaced() -> None:
    bench = Bench()
    await bench.agent.connect()
    await run_ready()
    bench.made[0].die()
    await asyncio.wait(others())
    assert [str(error) for error in bench.died] == ["it died"]
    assert not bench.agent.is_alive
    assert await bench.agent.connect()
    assert bench.agent.is_alive
    await bench.agent.close()


async def test_connecting_is_given_up_when_the_session_ends() -> None:
    bench = Bench()
    bench.may.clear()
    connecting = asyncio.create_task(bench.agent.connect())
    await bench.begun.wait()
    bench.over = True
    await bench.agent.close()
    with pytest.raises(AgentUnavailable, match="ended while"):
        await connecting
    with pytest.raises(AgentUnavailable, match="has ended"):
        await bench.agent.connect()
    assert bench.made == []
    assert others() == set()


async def test_who_gives_up_waiting_for_it_leaves_no_half_made_agent() -> None:
    bench = Bench()
    bench.may.clear()
    connecting = asyncio.create_task(bench.agent.connect())
    await bench.begun.wait()
    connecting.cancel()
    await asyncio.wait({connecting})
    assert connecting.cancelled()
    assert others() == set()
    bench.may.set()
    assert await bench.agent.connect()
    assert len(bench.made) == 1
    await bench.agent.close()
