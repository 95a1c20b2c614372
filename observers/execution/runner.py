"""Runs the observers in parallel with the agent: nothing waits for them, and nothing is lost."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

import msgspec

from ua_tui.core.concurrency.threads import Schedule, in_loop
from ua_tui.core.concurrency.worker import WorkerUnavailable
from ua_tui.core.events.types import Event, ToolCallStarted
from ua_tui.core.log import log
from ua_tui.core.observation import ToolResult
from ua_tui.observers.base import Observer, ObserverContext
from ua_tui.observers.execution.offload import ResultOffload
from ua_tui.observers.execution.run import Run, perform, planned_run

_LOST = "the session ended before it finished"
Observers = Sequence[Observer] | Callable[[], Sequence[Observer]]


class _Job(msgspec.Struct, eq=False):
    run: Run
    observer: Observer
    result: ToolResult
    turn: tuple[int, bool]
    """The number of its result, and whether its observer is one of the last; smaller turns were submitted before."""


class ObserverRunner:
    """Passes every finished tool call to the observers that want it.

    Belongs to the event loop that calls `start`; `publish` is called on it.

    A run is published when it starts and when it ends; one made out of curiosity (`Interest.CURIOUS`) only when
    it ends, with both events, and not at all when it came to nothing.

    An observer with the attribute `is_last` reads what others have saved: its runs start when all runs for earlier
    results are done, and those of the other observers for the same result.

    With `offload`, large results are observed in its child process.

    The `observers` may also be what makes them: it is called in a thread when the first call begins, as their imports
    take a tenth of a second.
    """

    def __init__(
        self,
        observers: Observers,
        context: ObserverContext,
        publish: Callable[[Event], object],
        *,
        workers: int = 4,
        offload: ResultOffload | None = None,
    ) -> None:
        self._make = observers if callable(observers) else None
        self._loading: asyncio.Task[None] | None = None
        # Those that came before the observers were made.
        self._early: list[ToolResult] = []
        self._context = context
        self._offload = offload
        self._publish = publish
        self._workers = workers
        self._threads: list[Schedule] = []
        self._free: list[Schedule] = []
        self._submitted = 0
        # In the order of their turns.
        self._waiting: deque[_Job] = deque()
        self._running: dict[str, _Job] = {}
        self._ended: asyncio.Future[None] | None = None
        self._closing = False
        self._observers: Sequence[Observer] = () if callable(observers) else sorted(observers, key=_is_last)

    @property
    def backlog(self) -> int:
        """The number of waiting and running runs."""
        return len(self._waiting) + len(self._running)

    def start(self) -> None:
        """Start the threads: made while there is memory, as one for each run could fail later, or never start."""
        self._threads = [Schedule("observer") for _ in range(self._workers)]
        for thread in self._threads:
            thread.plan(lambda: None)
        self._free = [*self._threads]
        self._begin_soon()

    def handle_event(self, event: Event) -> None:
        """Make the observers when a call begins, so that they are there when its result comes."""
        if isinstance(event, ToolCallStarted):
            self._load_soon()

    def _load_soon(self) -> None:
        if self._make is not None and self._loading is None:
            self._loading = asyncio.create_task(self._load(self._make))

    def submit(self, result: ToolResult) -> None:
        """Queue a result for every observer that wants it; never blocks, drops or raises."""
        if self._make is not None:
            self._early.append(result)
            self._load_soon()
            return
        self._submitted += 1
        for observer in self._observers:
            run = planned_run(observer, result)
            if run is None:
                continue
            if run.error is not None or self._closing:
                self._give_up(run, run.error or _LOST)
                continue
            self._waiting.append(_Job(run, observer, result, (self._submitted, _is_last(observer))))
        self._begin_soon()

    async def _load(self, make: Callable[[], Sequence[Observer]]) -> None:
        try:
            self._observers = sorted(await asyncio.to_thread(make), key=_is_last)
        finally:
            self._make = None
            early, self._early = self._early, []
            for result in early:
                self.submit(result)

    async def _loaded(self) -> None:
        if self._loading is not None:
            await asyncio.shield(self._loading)

    async def finish_submitted(self) -> None:
        """Wait until the results that were submitted until now have been observed, or given up."""
        await self._loaded()
        last = self._submitted
        while any(job.turn[0] <= last for job in (*self._running.values(), *self._waiting)):
            await self._next_end()

    async def _next_end(self) -> None:
        if self._ended is None:
            self._ended = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._ended)

    def _note_end(self) -> None:
        ended, self._ended = self._ended, None
        if ended is not None and not ended.done():
            ended.set_result(None)

    async def drain(self, deadline: float = 5.0) -> list[str]:
        """Wait up to `deadline` seconds for everything queued, then stop; returns the labels of lost runs.

        Can be cancelled, which loses what is not done yet: call `abandon` then for the names.
        """
        await self._loaded()
        if not self._threads:
            self.start()
        with suppress(TimeoutError):
            async with asyncio.timeout(deadline):
                while self.backlog:
                    await self._next_end()
        return self.abandon()

    def abandon(self) -> list[str]:
        """Stop immediately; unfinished runs are reported as failed, and their labels are returned."""
        self._closing = True
        if self._loading is not None:
            self._loading.cancel()
        jobs = [*self._running.values(), *self._waiting]
        started = set(self._running)
        self._running.clear()
        self._waiting.clear()
        for job in jobs:
            announced = job.run.run_id in started and not job.run.curious
            self._give_up(job.run, _LOST, announced=announced)
        self._note_end()
        for thread in self._threads:
            thread.finish(0.0)
        return [job.run.label for job in jobs]

    def _begin_soon(self) -> None:
        """Begin what can begin, behind what is being done now."""
        asyncio.get_running_loop().call_soon(self._begin_ready)

    def _begin_ready(self) -> None:
        while self._free and (job := self._pop_ready()) is not None:
            thread = self._free.pop()
            self._running[job.run.run_id] = job
            if not job.run.curious:
                self._publish(job.run.started())
            thread.plan(partial(self._perform, job, in_loop(partial(self._done, job, thread))))

    def _pop_ready(self) -> _Job | None:
        """Take the first waiting job that can start now."""
        # One that is among the last is ready when it is the first in turn, running jobs included.
        for index, job in enumerate(self._waiting):
            is_first = index == 0 and all(other.turn >= job.turn for other in self._running.values())
            if is_first or not job.turn[1]:
                del self._waiting[index]
                return job
        return None

    def _perform(self, job: _Job, done: Callable[[], None]) -> None:
        """Run a job, and say that it is `done`; for worker threads."""
        try:
            self._run(job)
        finally:
            done()

    def _run(self, job: _Job) -> None:
        if self._offload is not None and self._offload.accepts(job.observer, job.result):
            try:
                self._offload.perform(job.run, job.result)
                return
            except WorkerUnavailable as error:
                log.warning("observer %s works in the main process: %s", job.run.label, error)
            except Exception as error:
                job.run.fail(error)
                return
        perform(job.run, job.observer, job.result, self._context)

    def _done(self, job: _Job, thread: Schedule) -> None:
        """Publish the outcome of a job; runs on the event loop."""
        self._free.append(thread)
        if self._running.pop(job.run.run_id, None) is None:
            return
        for event in job.run.finished(announced=not job.run.curious):
            self._publish(event)
        self._note_end()
        self._begin_ready()

    def _give_up(self, run: Run, reason: str, *, announced: bool = False) -> None:
        # The thread may still be at work on `run`, so that the report is made from a copy.
        lost = Run(run.observer, run.tool_name, run.tool_use_id, run.curious, run.run_id, error=reason)
        for event in lost.finished(announced=announced):
            self._publish(event)


def _is_last(observer: Observer) -> bool:
    return bool(getattr(observer, "is_last", False))
