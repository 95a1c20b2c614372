"""A batch of a team: submits its jobs, follows them until all have ended, and passes on their results."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from ua_tui.core.errors import TeamError
from ua_tui.core.postgres.problems import describe, is_temporary
from ua_tui.core.tasks import pause
from ua_tui.core.team.jobs.postgres_jobs import PostgresJobs
from ua_tui.core.team.records import Counts, Job, JobBatch, JobResult, Submitted
from ua_tui.tui.team.reporters import Reporter, submitted_line
from ua_tui.tui.team.result_output import ResultOutput
from ua_tui.tui.terminal.signals import stopping_on_signals

POLL_SECONDS = 1.0
"""How often is looked for jobs that have ended."""
_RETRY_SECONDS = 1.0
"""How long is waited before the team's database is asked again that could not be reached."""
_CHECK_SECONDS = 30.0
_STARTING_SECONDS = 10.0

_Answer = TypeVar("_Answer")


@dataclass(kw_only=True)
class BatchRun:
    """One run of the command: submits a batch, waits for it, and has its results."""

    store: PostgresJobs
    reporter: Reporter
    _checked_at: float = field(default=-math.inf, init=False)
    _obstacle: str = field(default="", init=False)
    _began: float = field(default=0.0, init=False)
    _is_away: bool = field(default=False, init=False)
    _signals: list[int] = field(default_factory=list, init=False)

    async def submit(self, batch: JobBatch, jobs: Sequence[Job], *, retry_failed: bool) -> Submitted:
        """Submit the batch, and report what became of it.

        If the connection is lost before the answer, the batch is submitted again: jobs that are stored are then known.
        """
        # Those that ended earlier are no news.
        self._began = await self._ask(self.store.now)
        submitted = await self._ask(lambda: self.store.submit(batch, jobs, retry_failed=retry_failed))
        self.reporter.line(submitted_line(submitted, len(jobs)))
        return submitted

    async def work(self, batch: JobBatch, output: ResultOutput) -> list[int]:
        """Follow the jobs until all are over; returns the signals that stopped it.

        Raises:
            TeamError: the database failed, not for a time only.
        """
        # Workers that were started with the same command are not there yet.
        self._checked_at = time.monotonic() - _CHECK_SECONDS + _STARTING_SECONDS
        following = asyncio.create_task(self._follow(batch, output))
        with stopping_on_signals(following.cancel) as self._signals, suppress(asyncio.CancelledError):
            await following
        return self._signals

    async def _follow(self, batch: JobBatch, output: ResultOutput) -> None:
        """Report the progress, and give out what is over, until all jobs are."""
        output.since = began = self._began
        since: float = 0.0
        shown: Counts | None = None
        was_over = False
        while True:
            counts, ended, took = await self._ask(partial(self._progress, batch, since))
            for result in ended:
                end = result.finished or began
                # A query that is in the file twice is one job.
                if end > began and result.job.id not in output.results:
                    self.reporter.finished(result, counts)
                output.show(result)
                # Another one may have begun to be recorded before the last end.
                since = max(since, end - 60.0)
            if counts != shown:
                shown = counts
                self.reporter.counts(counts)
            is_over = counts.over == counts.total
            if is_over and (was_over or not output.left):
                return
            if is_over:
                # The last ones may have ended when the others were read.
                since = 0.0
            was_over = is_over
            await self._rest(took)

    async def _progress(self, batch: JobBatch, since: float) -> tuple[Counts, list[JobResult], float]:
        """The counts, jobs that ended after `since`, all of which they count, and how long that took."""
        began = time.monotonic()
        ended = [result async for result in self.store.results(batch.id, since)]
        counts = await self.store.counts(batch.id)
        await self.check_obstacle(batch, counts)
        return counts, ended, time.monotonic() - began

    async def _rest(self, took: float) -> None:
        """Wait; a large batch, whose answer took so many seconds, is asked for less often."""
        await pause(POLL_SECONDS + 5.0 * took)

    async def _ask(self, question: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """Ask the store; a database that cannot be reached is asked again until it answers or a person stops it."""
        while True:
            try:
                answer = await question()
            except TeamError as error:
                if self._signals or not is_temporary(error):
                    raise
                if not self._is_away:
                    self._is_away = True
                    problem = describe(error).problem
                    self.reporter.line(f"the team's database cannot be reached: {problem}; trying again")
                await pause(_RETRY_SECONDS)
                continue
            if self._is_away:
                self._is_away = False
                self.reporter.line("the database can be reached again")
            return answer

    async def check_obstacle(self, batch: JobBatch, counts: Counts) -> None:
        """Report once why jobs of a team wait, if none of them runs."""
        now = time.monotonic()
        if not counts.waiting or counts.running or counts.needs_you:
            return
        if now < self._checked_at + _CHECK_SECONDS:
            return
        self._checked_at = now
        before, self._obstacle = self._obstacle, await self.store.obstacle(batch.id)
        if self._obstacle not in ("", before):
            self.reporter.line(self._obstacle)
