"""Keeps the agent of a session connected, and runs its queries one by one, until one must wait for a person."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

import msgspec

from ua_tui.core.agent.loop import AgentLoop
from ua_tui.core.concurrency.spawn import Handle, Spawn
from ua_tui.core.errors import AgentUnavailable
from ua_tui.core.log import log
from ua_tui.core.session.budget import Budget
from ua_tui.core.storage.queue_file import QueryQueue
from ua_tui.core.tasks import end_tasks


class QueryRunner(msgspec.Struct, eq=False):
    """Runs queries from the queue within the spending limit, and pauses the queue after one that did not succeed.

    Belongs to one event loop.

    Args:
        queue: the waiting queries.
        budget: the spending limit.
        run: runs a query to its end, and returns its status: `success`, `error` or `interrupted`.
    """

    queue: QueryQueue
    budget: Budget
    run: Callable[[str], Awaitable[str]]
    _over: bool = False
    _wake: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    _idle: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    _ended: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    _handle: Handle | None = None

    def __post_init__(self) -> None:
        self._ended.set()

    @property
    def is_paused(self) -> bool:
        """Whether waiting queries stay until a person resumes the queue, or raises the spending limit."""
        return self.queue.paused or (self.budget.is_spent and len(self.queue) > 0)

    def begin(self, spawn: Spawn) -> None:
        """Start running queries in a task; has no effect after `stop`."""
        if not self._over:
            self._handle = spawn(self._run_all, "queries", "agent")

    def wake(self) -> None:
        """Check again for a query that may run."""
        self._idle.clear()
        self._wake.set()

    async def wait_idle(self) -> None:
        """Wait until no query runs, and none waits except in a paused queue."""
        await self._idle.wait()

    async def stop(self) -> None:
        """Begin no further query, and wait until the waiting ones are stored; a running one continues."""
        self._over = True
        await self.queue.close()

    async def end(self, within: float) -> None:
        """Cancel what still runs, and wait up to `within` seconds for its end."""
        if self._handle is not None:
            self._handle.cancel()
        try:
            async with asyncio.timeout(within):
                await self._ended.wait()
        except TimeoutError:
            log.warning("the running query did not end")

    async def _run_all(self) -> None:
        self._ended.clear()
        try:
            while not self._over:
                while (text := self._next()) is not None:
                    status = await self.run(text)
                    # At the limit the queue waits for a higher limit only.
                    if status == "interrupted" or (status == "error" and not self.budget.is_spent):
                        self.queue.pause()
                self._idle.set()
                self._wake.clear()
                await self._wake.wait()
        finally:
            self._ended.set()

    def _next(self) -> str | None:
        if self.queue.ready and self.budget.is_spent:
            self.budget.report_refusal()
            return None
        return self.queue.pop_next()


class AgentConnection(msgspec.Struct, eq=False):
    """Holds at most one agent loop, and the tasks that belong to it.

    Attributes:
        make: connects a new loop.
        terms: what a connection is made for; when they change, a new connection is made.
        spawn: starts background work.
        over: whether the session has ended, so that nothing is connected any more.
        died: called with the error when an agent ended that was not closed.
        loop: the newest one, alive or not; None before the first and while another is connected.
    """

    make: Callable[[], Coroutine[Any, Any, AgentLoop]]
    spawn: Spawn
    terms: Callable[[], object]
    over: Callable[[], bool]
    died: Callable[[Exception], None]
    loop: AgentLoop | None = None
    _made_for: object = None
    _lock: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    _connecting: asyncio.Task[AgentLoop] | None = None
    _handles: list[Handle] = []

    @property
    def is_alive(self) -> bool:
        """Whether an agent is connected."""
        return self.loop is not None and self.loop.is_alive

    @property
    def is_current(self) -> bool:
        """Whether an agent is connected on the current terms."""
        return self.is_alive and self._made_for == self.terms()

    async def connect(self) -> bool:
        """Connect the agent; returns False if it is already connected.

        Raises:
            AgentUnavailable: it could not be started, or the session has ended.
        """
        async with self._lock:
            if self.over():
                raise AgentUnavailable("the session has ended")
            if self.is_current:
                return False
            await self._drop()
            self._made_for = self.terms()
            connecting = self._connecting = asyncio.create_task(self.make())
            try:
                loop = self.loop = await connecting
            except asyncio.CancelledError:
                if self.over() and connecting.cancelled():
                    raise AgentUnavailable("the session ended while the agent was connecting") from None
                await end_tasks(connecting)
                raise
            finally:
                self._connecting = None
            self._handles += [
                self.spawn(loop.read, "reader", "agent"),
                self.spawn(loop.servers.poll, "servers", "agent"),
                self.spawn(partial(self._watch_end, loop), "watch", "agent"),
            ]
            return True

    async def disconnect(self) -> None:
        """Close the agent until `connect` is called again."""
        async with self._lock:
            await self._drop()

    async def _drop(self) -> None:
        old, self.loop = self.loop, None
        if old is not None:
            await old.close()
            await self._end_work()

    async def close(self) -> None:
        """Cancel connecting, and close the agent."""
        if self._connecting is not None:
            await end_tasks(self._connecting)
        if self.loop is not None:
            await self.loop.close()
        await self._end_work()

    async def _end_work(self) -> None:
        """Cancel the tasks of a closed loop; handles of a front end's workers are not awaited."""
        handles, self._handles = self._handles, []
        for handle in handles:
            handle.cancel()
        await end_tasks(*(handle for handle in handles if isinstance(handle, asyncio.Task)))

    async def _watch_end(self, loop: AgentLoop) -> None:
        await loop.ended.wait()
        if self.loop is loop and loop.failure is not None and not loop.was_stopped:
            self.died(loop.failure)
