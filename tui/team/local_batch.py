"""A batch on this machine: runs its jobs as sessions of this program, several at a time, until all have ended."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

from msgspec.structs import asdict, replace

from ua_tui.core.errors import CredentialsError
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.settings.model import Settings, secrets
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.tasks import pause
from ua_tui.core.team.fleet.local import RunningBatch
from ua_tui.core.team.jobs.results_file import ResultsFile
from ua_tui.core.team.jobs.running import PUT_OFF_SECONDS, JobStop, RunJob, run_to_end
from ua_tui.core.team.records import NO_MONEY, Counts, Job, JobClaim, JobResult, Outcome, SessionId, Submitted
from ua_tui.core.text import clean_line
from ua_tui.tui.team.reporters import Reporter, submitted_line
from ua_tui.tui.team.result_output import ResultOutput
from ua_tui.tui.terminal.signals import stopping_on_signals

_LEAST_USD = 0.01


@dataclass
class _Running:
    """A job that runs, how it is now, and what it may cost in addition to what it had cost before."""

    claim: JobClaim
    now: JobResult
    reserved_usd: float
    stop: JobStop = field(default_factory=JobStop)


@dataclass(kw_only=True)
class LocalBatch:
    """Runs the jobs of a batch that are not over.

    Args:
        name: what people call it.
        settings: those of every session; a job has some of its own.
        file: knows what was done before, and which sessions were begun.
        output: has the rows of the file, of which equal ones run once, and gets each result.
        reporter: gets the progress.
        parallel: how many run at a time.
        max_cost_usd: what all may cost; None for no limit.
        grace: how many seconds actions that run have to end when the batch is stopped.
        retry_failed: whether jobs that failed run again, in their sessions.
        run: runs one job; by default as a session.
    """

    name: str
    settings: Settings
    file: ResultsFile
    output: ResultOutput
    reporter: Reporter
    parallel: int
    max_cost_usd: float | None
    grace: float
    retry_failed: bool
    run: RunJob | None = None
    _waiting: deque[Job] = field(default_factory=deque, init=False)
    _running: dict[str, _Running] = field(default_factory=dict, init=False)
    _costs: dict[str, float] = field(default_factory=dict, init=False)
    _leaving: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _put_off: int = field(default=0, init=False)
    _shown: RunningBatch = field(init=False)

    def plan(self) -> str:
        """Find out what is to be done; returns it in words."""
        for job, *_ in self.output.rows.values():
            known = self.file.known.get(job.id)
            self._costs[job.id] = known.cost_usd or 0.0 if known is not None else 0.0
            if known is None or (self.retry_failed and known.state != "done"):
                self._waiting.append(job)
            else:
                self.output.results[job.id] = known
        # Sessions that were interrupted come first.
        self._waiting = deque(sorted(self._waiting, key=lambda job: job.id not in self.file.begun))
        again = sum(job.id in self.file.known for job in self._waiting)
        submitted = Submitted(
            new=len(self._waiting) - again, known=len(self.output.results) + again, reopened=again
        )
        resumed = sum(job.id in self.file.begun for job in self._waiting)
        return submitted_line(submitted, len(self.output.jobs), resumed=resumed)

    async def work(self) -> list[int]:
        """Run the jobs; returns the signals that stopped it, none if all are over.

        Raises:
            CredentialsError: no way to reach a model is configured, and a job needs one; nothing was begun.
            WorkspaceError: the results cannot be written.
        """
        demo = all(job.settings.get("demo") is True for job in self._waiting)
        if self.run is None and not demo and not self.settings.has_credentials():
            raise CredentialsError
        for result in list(self.output.results.values()):
            self.output.show(result)
        redactor = Redactor(secrets(self.settings, os.environ))
        self._shown = RunningBatch(
            self.settings.workspace_base / WORKSPACES, self.name, self.file.path, redactor
        )
        tasks: set[asyncio.Task[None]] = set()
        with stopping_on_signals(self.stop) as signals:
            try:
                while True:
                    while len(tasks) < self.parallel and (running := self._begin()) is not None:
                        tasks.add(asyncio.create_task(self._run_one(running)))
                    self._report()
                    if not tasks:
                        return signals
                    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                    for task in done:
                        tasks.discard(task)
                        task.result()
            except Exception:
                # A result cannot be written, say: the other sessions end as at a signal, and their results are tried.
                self.stop()
                await asyncio.gather(*tasks, return_exceptions=True)
                raise
            finally:
                self._leaving.set()
                self._end_all()
                await asyncio.gather(*tasks, return_exceptions=True)
                self._shown.close()

    def _report(self) -> None:
        """Say how far it is, here and to the fleets of other programs."""
        counts = self.counts()
        self.reporter.counts(counts)
        folders = [each.folder for each in self.file.begun.values()]
        folders += [each.folder for each in self.output.results.values()]
        self._shown.show(counts, {Path(folder).name for folder in folders if folder})

    def stop(self) -> None:
        """Begin nothing more, and let actions that run end within the grace."""
        self._leaving.set()
        for each in self._running.values():
            each.stop.soon.set()
        if self._running:
            self.reporter.line(
                f"stopping: running calls have {self.grace:.0f} s to finish; Ctrl+C again stops at once"
            )
        asyncio.get_running_loop().call_later(self.grace, self._end_all)

    def counts(self) -> Counts:
        """How many jobs are in each state."""
        begun = [*self.output.results.values(), *(each.now for each in self._running.values())]
        waiting = self.output.left - len(self._running)
        cost = sum(each.cost_usd or 0.0 for each in begun)
        return Counts(waiting=waiting, cost_usd=cost, **Counter(str(each.state) for each in begun))

    def _end_all(self) -> None:
        for each in self._running.values():
            each.stop.set()

    def _begin(self) -> _Running | None:
        """Begin the next job; None if there is none now, as all run or are put off, or others use the money."""
        while self._waiting and not self._leaving.is_set() and not self._put_off:
            job = self._waiting[0]
            before = self._costs[job.id]
            limit = job.settings.get("max_cost_usd")
            if self.max_cost_usd is not None:
                reserved = sum(each.reserved_usd for each in self._running.values())
                free = self.max_cost_usd - sum(self._costs.values()) - reserved
                wanted = _LEAST_USD if limit is None else limit - before
                limit = free + before if limit is None else min(limit, free + before)
                # A session that gets a small rest fails by it; what others do not use up may be enough.
                if self._running and (free < _LEAST_USD or free < wanted / 2):
                    return None
                if free < _LEAST_USD:
                    self._refuse(self.max_cost_usd)
                    continue
            self._waiting.popleft()
            # As exact as a result has it when it is read.
            now = JobResult(job=job, state="running", attempt=1, started=round(time.time(), 3))
            begun = self.file.begun.get(job.id)
            folder = None
            if (earlier := begun or self.file.known.get(job.id)) is not None:
                folder = earlier.folder or None
                now = replace(now, attempt=earlier.attempt + 1, started=(begun or now).started)
            session = SessionId(id=job.id, attempt=now.attempt, job=job.id)
            claim = JobClaim(job=job, session=session, limit_usd=limit, folder=folder)
            self._running[job.id] = running = _Running(claim, now, (limit or 0.0) - before)
            return running
        return None

    def _refuse(self, most: float) -> None:
        """Leave the next job, as no money is left for it; with a higher limit it is run."""
        job = self._waiting.popleft()
        limit = f"{most:.2f}" if most >= _LEAST_USD else f"{most:.6f}".rstrip("0")
        why = f"{NO_MONEY} (${limit}) is reached"
        self.output.results[job.id] = JobResult(job=job, state="failed", error=why)

    async def _run_one(self, running: _Running) -> None:
        claim = running.claim
        try:
            run = self.run or partial(self._run_session, running)
            outcome = await run_to_end(run, claim, running.stop, lambda _: None)
        finally:
            del self._running[claim.job.id]
        self._costs[claim.job.id] = outcome.cost_usd or self._costs[claim.job.id]
        match outcome.state:
            case "done" | "failed" | "cancelled":
                result = replace(
                    running.now,
                    **asdict(outcome),
                    worker=socket.gethostname(),
                    session=Path(outcome.folder).name,
                    finished=round(time.time(), 3),
                )
                self.output.show(result)
                self.reporter.finished(result, self.counts())
            case "waiting":
                if not self._leaving.is_set():
                    query = clean_line(claim.job.query, 80)
                    why = "unfinished, as its actions could not be recorded: is the disk full?"
                    self.reporter.line(f"{query}: {why}")
            case _:
                # The provider refuses requests: no other job begins for a while.
                self._waiting.appendleft(claim.job)
                if not self._put_off:
                    self.reporter.line(f"{outcome.error}; no job starts for {PUT_OFF_SECONDS:.0f} s")
                self._report()
                self._put_off += 1
                await pause(PUT_OFF_SECONDS, self._leaving)
                self._put_off -= 1
        self._report()

    async def _run_session(self, running: _Running, claim: JobClaim, stop: JobStop) -> Outcome:
        from ua_tui.tui.team.job_session import JobRun

        async def note(
            _session: SessionId, state: Literal["running", "needs_you"], cost_usd: float | None, folder: str
        ) -> bool:
            now = running.now = replace(running.now, state=state, cost_usd=cost_usd, folder=folder)
            noted = self.file.begun.get(now.job.id)
            if folder and (noted is None or (noted.folder, noted.attempt) != (folder, now.attempt)):
                await asyncio.to_thread(self.file.begin, now)
            self._report()
            return True

        return await JobRun(claim, stop, settings=self.settings, note=note, address=None).work()
