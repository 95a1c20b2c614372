"""The agent of a session: connected when it is needed, reconnected after it died, and closed at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import msgspec

from ua_tui.core.agent.loop import AgentLoop
from ua_tui.core.concurrency.spawn import Handle, Spawn
from ua_tui.core.errors import AgentUnavailable


class AgentConnection(msgspec.Struct, eq=False):
    """Holds at most one agent loop, and the tasks that belong to it.

    Attributes:
        make: connects a new loop.
        terms: what a connection is made for; when they change, a new connection is made.
        spawn: starts background work.
        over: whether the session is over, so that nothing is connected any more.
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
    _handles: list[Handle] = msgspec.field(default_factory=list)

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
            AgentUnavailable: it could not be started, or the session is over.
        """
        async with self._lock:
            if self.over():
                raise AgentUnavailable("the session is over")
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
                connecting.cancel()
                await asyncio.gather(connecting, return_exceptions=True)
                raise
            finally:
                self._connecting = None
            self._handles += [
                self.spawn(loop.read, "reader", "agent"),
                self.spawn(loop.watch_servers, "servers", "agent"),
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
            self._connecting.cancel()
            await asyncio.gather(self._connecting, return_exceptions=True)
        if self.loop is not None:
            await self.loop.close()
        await self._end_work()

    async def _end_work(self) -> None:
        """Cancel the tasks of a closed loop; handles of a front end's workers are not awaited."""
        handles, self._handles = self._handles, []
        for handle in handles:
            handle.cancel()
        tasks = [handle for handle in handles if isinstance(handle, asyncio.Task)]
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch_end(self, loop: AgentLoop) -> None:
        await loop.ended.wait()
        if self.loop is loop and loop.failure is not None and not loop.was_stopped:
            self.died(loop.failure)
