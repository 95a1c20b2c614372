"""The worker of this machine: it runs the jobs of the SQLite file, beside other programs that do so."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from ua_tui.core.team.jobs.running import Report, RunJob, run_to_end
from ua_tui.core.team.jobs.sqlite_jobs import SqliteJobs
from ua_tui.core.team.records import JobClaim

_POLL_SECONDS = 0.5


class LocalWorker:
    """Runs jobs, some at a time; those of one batch until all are over, or of all batches until it is stopped.

    Args:
        store: the jobs.
        run: runs one job.
        parallel: how many at a time.
        batch_id: the batch; None for all.
        report: gets one line for each thing that a person should know.
    """

    def __init__(
        self, store: SqliteJobs, run: RunJob, *, parallel: int, report: Report, batch_id: str | None = None
    ) -> None:
        self._store = store
        self._run = run
        self._parallel = parallel
        self._report = report
        self._batch_id = batch_id
        self._stopping = asyncio.Event()
        self._changed = asyncio.Event()
        self._lost: set[asyncio.Event] = set()

    def stop(self) -> None:
        """Hand the jobs back, whose sessions end at once, and end."""
        self._stopping.set()
        self._changed.set()
        for each in self._lost:
            each.set()

    async def work(self) -> None:
        """Run jobs.

        Raises:
            TeamError: the file cannot be used any more.
        """
        running: set[asyncio.Task[None]] = set()
        try:
            while not self._stopping.is_set():
                self._changed.clear()
                while len(running) < self._parallel and (claim := await self._store.next(self._batch_id)):
                    running.add(asyncio.create_task(self._run_one(claim)))
                if not running and await self._is_over():
                    return
                with suppress(TimeoutError):
                    # Jobs of a program that was killed, and money that another one has not used up.
                    await asyncio.wait_for(self._changed.wait(), _POLL_SECONDS)
                for task in [each for each in running if each.done()]:
                    running.discard(task)
                    task.result()
        finally:
            self.stop()
            await asyncio.gather(*running)

    async def _is_over(self) -> bool:
        if self._batch_id is None:
            return False
        counts = await self._store.counts(self._batch_id)
        return counts.over == counts.total

    async def _run_one(self, claim: JobClaim) -> None:
        lost = asyncio.Event()
        if self._stopping.is_set():
            lost.set()
        self._lost.add(lost)
        try:
            outcome = await run_to_end(self._run, claim, lost, self._report)
            if outcome is None:
                await self._store.release(claim)
            else:
                await self._store.finish(claim, outcome)
        finally:
            self._lost.discard(lost)
            self._changed.set()
