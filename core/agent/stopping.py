"""Stopping a turn: asking the agent once or until it listens, and ending it by force when it does not."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, Protocol

from core.errors import AgentError

__all__ = ["Stoppable", "Stopping"]

log = logging.getLogger(__name__)

_STOP_WITHIN = 6.0
_ASK_AGAIN = 0.4


class Stoppable(Protocol):
    """An agent that can be asked to stop, and ended."""

    async def interrupt(self) -> None:
        """Ask it to stop what it is doing; never raises."""

    def kill(self) -> None:
        """End it."""


class Stopping:
    """Everything that is under way to stop an agent; what still is when the agent is let go ends with it."""

    def __init__(self, agent: Stoppable) -> None:
        self._agent = agent
        self._tasks: set[asyncio.Task[None]] = set()

    async def stop(self, done: asyncio.Future[Any]) -> None:
        """Stop a turn that is over when `done` is, by force when asking does not help."""
        try:
            async with asyncio.timeout(_STOP_WITHIN):
                await self._agent.interrupt()
                await asyncio.shield(done)
        except TimeoutError:
            log.warning("the agent did not stop within %s s and is ended", _STOP_WITHIN)
            self._agent.kill()
        except AgentError:
            log.info("the agent ended while it was being stopped")

    def ask(self) -> None:
        """Ask once, without waiting for the answer."""
        self._begin(self._agent.interrupt())

    def ask_until(self, done: asyncio.Future[Any]) -> None:
        """Ask, without waiting for the answer, until `done` is over: as it may not listen yet."""
        self._begin(self._ask_until(done))

    async def close(self) -> None:
        """Give up all asking that is still under way."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        # Nobody waits for the asking, so that it is told here that it failed.
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("the agent could not be asked to stop", exc_info=error)

    async def _ask_until(self, done: asyncio.Future[Any]) -> None:
        while not done.done():
            await self._agent.interrupt()
            await asyncio.wait((done,), timeout=_ASK_AGAIN)
