"""Runs the queries of a session one after the other, until one must wait for a person."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from ua_tui.core.concurrency.spawn import Handle, Spawn
from ua_tui.core.session.budget import Budget
from ua_tui.core.storage.queue_file import QueryQueue

log = logging.getLogger(__name__)


class QueryRunner:
    """Runs queries from the queue within the spending limit, and pauses the queue after one that did not succeed.

    Belongs to one event loop.

    Args:
        queue: the waiting queries.
        budget: the spending limit.
        run: runs a query to its end, and returns its status: `success`, `error` or `interrupted`.
    """

    def __init__(self, queue: QueryQueue, budget: Budget, run: Callable[[str], Awaitable[str]]) -> None:
        self._queue = queue
        self._budget = budget
        self._run = run
        self._over = False
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._ended = asyncio.Event()
        self._ended.set()
        self._handle: Handle | None = None

    @property
    def is_paused(self) -> bool:
        """Whether waiting queries stay until a person resumes the queue, or raises the spending limit."""
        return self._queue.paused or (self._budget.is_spent and len(self._queue) > 0)

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
        await self._queue.close()

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
                    status = await self._run(text)
                    # At the limit the queue waits for a higher limit only.
                    if status == "interrupted" or (status == "error" and not self._budget.is_spent):
                        self._queue.pause()
                self._idle.set()
                self._wake.clear()
                await self._wake.wait()
        finally:
            self._ended.set()

    def _next(self) -> str | None:
        if self._queue.ready and self._budget.is_spent:
            self._budget.report_refusal()
            return None
        return self._queue.pop_next()
