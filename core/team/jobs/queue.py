"""The worker of a team: procrastinate delivers jobs, and takes them from workers that were lost.

What a job is, and who may work on it, is decided by its own row: it is claimed in the statement that fetches it from
the queue, and its end is recorded in the one that removes it there.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ua_tui.core.errors import TeamError
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import connect_async
from ua_tui.core.postgres.problems import reporting
from ua_tui.core.postgres.schema import check_version
from ua_tui.core.postgres.state import read_rights
from ua_tui.core.team.jobs.delivery import (
    Delivered,
    Delivery,
    Ended,
    describe_failure,
    make_app,
    make_queue_pool,
)
from ua_tui.core.team.jobs.postgres_jobs import LOST_AFTER, PostgresJobs, queue_of
from ua_tui.core.team.jobs.running import Report, RunJob, run_to_end
from ua_tui.core.team.records import FORMAT, JobClaim
from ua_tui.core.text import clean_line
from ua_tui.core.version import VERSION

if TYPE_CHECKING:
    from procrastinate import App

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Timing:
    """The times of a worker, in seconds; all workers of a team must agree on `lost_after`.

    Attributes:
        lost_after: so long after its last heartbeat, by the clock of the server, a worker is taken for lost.
        beat: the pause between two heartbeats.
        silence: so long after its last heartbeat a worker stops its sessions itself, so that they have ended when
            others take them over.
        sweep: how often it looks for jobs of lost workers.
        forgotten: how often it looks for jobs that the queue has lost.
        wait: how long a job waits for money of its batch in its place before it lets another one have the place.
    """

    lost_after: float = LOST_AFTER
    beat: float = 5.0
    silence: float = 20.0
    sweep: float = 5.0
    forgotten: float = 30.0
    wait: float = 5.0


def worker_name() -> str:
    """The name of this program among the workers: the machine and the process."""
    return f"{socket.gethostname()}:{os.getpid()}"


def _clock() -> float:
    # It also runs while the machine sleeps, where there is such a clock.
    if (boot := getattr(time, "CLOCK_BOOTTIME", None)) is not None:
        return time.clock_gettime(boot)
    return time.monotonic()


@dataclass
class _Running:
    """A job that runs here; `missing` counts how often the database did not know of it."""

    claim: JobClaim
    lost: asyncio.Event = field(default_factory=asyncio.Event)
    missing: int = 0


class QueueWorker:
    """Runs jobs of a team until it is stopped, some at a time.

    Args:
        address: the database.
        run: runs one job.
        parallel: how many at a time.
        report: gets one line for each thing that a person should know.
        clock: gives the seconds by which contact with the database is judged.
    """

    def __init__(
        self,
        address: Address,
        run: RunJob,
        *,
        parallel: int = 1,
        report: Report = log.info,
        timing: Timing | None = None,
        name: str = "",
        clock: Callable[[], float] = _clock,
    ) -> None:
        self._address = address
        self._run_job = run
        self._parallel = parallel
        self._report = report
        self._timing = timing or Timing()
        self._name = name or worker_name()
        self._running: dict[str, _Running] = {}
        self._stopping = asyncio.Event()
        self._draining = False
        self._clock = clock
        self._contact = clock()
        self._out_of_contact = False
        self._reported_format = False
        self._reported = ""
        self._problem: TeamError | None = None

    def stop(self) -> None:
        """Hand the jobs back, whose sessions end at once, and end."""
        self._stopping.set()
        for each in self._running.values():
            each.lost.set()

    def drain(self, problem: TeamError | None = None) -> None:
        """Begin no other job, and end when those that run are over."""
        self._problem = self._problem or problem
        self._draining = True
        self._stopping.set()

    async def work(self) -> None:
        """Run jobs until `stop` or `drain`.

        Raises:
            TeamError: the database cannot be reached at first, this role may not run jobs, or the tables are of another
                version; in that case while it runs, too, when the running jobs are over.
        """
        jobs = PostgresJobs(self._address)
        await jobs.open()
        await jobs.close()
        await self._check_rights()
        for name in ("procrastinate", "psycopg.pool"):
            # What it reports is either handled here or meant for programmers.
            logging.getLogger(name).setLevel(logging.CRITICAL)
        pool = make_queue_pool(self._address, max(3, min(self._parallel + 1, 8)))
        delivery = Delivery(pool, self._name, self._timing.lost_after)
        app = make_app(delivery, self._on_delivery)
        async with pool, app.open_async(pool):
            while not self._stopping.is_set():
                await self._work_once(app, delivery)
        if self._problem is not None:
            raise self._problem

    async def _check_rights(self) -> None:
        async with await connect_async(self._address) as db:
            with reporting(self._address):
                rights = await read_rights(db)
            user = clean_line(db.info.user, 60)
        if rights not in ("owner", "worker"):
            raise TeamError(
                f"the team's database {self._address}: {user} may not run jobs: connect as the owner of the tables, "
                f"or as a member of that role (GRANT OWNER TO {user} in psql)"
            )

    async def _work_once(self, app: App, delivery: Delivery) -> None:
        """Run the worker of procrastinate until it ends; it can only do so by a failure that nobody foresaw."""
        work = asyncio.create_task(
            app.run_worker_async(
                queues=[queue_of(each) for each in range(1, FORMAT + 1)],
                name="ua-tui",
                concurrency=self._parallel,
                fetch_job_polling_interval=self._timing.sweep,
                abort_job_polling_interval=3600.0,
                update_heartbeat_interval=self._timing.beat,
                stalled_worker_timeout=max(3600.0, self._timing.lost_after),
                delete_jobs="always",
                install_signal_handlers=False,
            )
        )
        side = [
            asyncio.create_task(self._beat(delivery)),
            asyncio.create_task(self._watch_contact()),
            asyncio.create_task(self._sweep(delivery)),
        ]
        stopped = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait((work, stopped), return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                # It waits for the jobs that run.
                work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            if not self._stopping.is_set():
                failure = work.exception() if work.done() and not work.cancelled() else None
                problem = f"the queue failed, and is tried again: {describe_failure(failure)}"
                if problem != self._reported:
                    self._reported = problem
                    self._report(problem)
                await asyncio.sleep(1.0)
        finally:
            for each in (*side, stopped, work):
                each.cancel()
            await asyncio.gather(*side, stopped, work, return_exceptions=True)
            with suppress(Exception):
                await asyncio.wait_for(delivery.sign_off(), 2.0)

    async def _on_delivery(self, delivered: Delivered) -> Ended | None:
        """Run a job that was fetched from the queue; returns what to record, or None if there is nothing."""
        claim, until = delivered.claim, self._clock() + self._timing.wait
        while claim is None and delivered.verdict == "wait":
            if self._clock() > until or self._stopping.is_set():
                return Ended(None, None, again_in=self._timing.wait)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), min(1.0, self._timing.wait / 2))
            claim = await delivered.claim_again()
        if claim is None:
            return None
        running = _Running(claim)
        self._running[claim.job.id] = running
        if self._stopping.is_set() and not self._draining:
            running.lost.set()
        try:
            outcome = await run_to_end(self._run_job, claim, running.lost, self._report)
        finally:
            del self._running[claim.job.id]
        return Ended(claim, outcome, give_up=self._stopping)

    async def _beat(self, delivery: Delivery) -> None:
        while True:
            if delivery.worker_id is None:
                await asyncio.sleep(0.05)
                continue
            sent = self._clock()
            try:
                async with asyncio.timeout(self._timing.beat):
                    version = await delivery.beat(VERSION, self._parallel)
            except Exception as error:
                if not self._out_of_contact:
                    self._out_of_contact = True
                    self._report(
                        f"the team's database cannot be reached: {describe_failure(error)}; trying again"
                    )
                await asyncio.sleep(min(1.0, self._timing.beat))
                continue
            self._contact = sent
            if self._out_of_contact:
                self._out_of_contact = False
                self._report("the team's database can be reached again")
            if not self._draining:
                try:
                    check_version(version, self._address)
                except TeamError as error:
                    self._report(f"{error}; this worker ends when its jobs are over")
                    self.drain(error)
            await asyncio.sleep(self._timing.beat)

    async def _watch_contact(self) -> None:
        while True:
            if self._clock() - self._contact > self._timing.silence:
                for each in list(self._running.values()):
                    if not each.lost.is_set():
                        self._report(
                            f"job {each.claim.job.id[:8]} is stopped: the team's database was away for too long"
                        )
                        each.lost.set()
            await asyncio.sleep(self._timing.beat / 10)

    async def _sweep(self, delivery: Delivery) -> None:
        unknown: set[str] = set()
        forgotten = 0.0
        while True:
            await asyncio.sleep(self._timing.sweep)
            if delivery.worker_id is None or self._out_of_contact:
                continue
            try:
                async with asyncio.timeout(self._timing.lost_after):
                    known = await delivery.known_jobs()
                    self._stop_superseded(known)
                    # Twice: one that was fetched just now is not yet in `_running`.
                    strange = set(known) - set(delivery.busy)
                    for job_id in strange & unknown:
                        await delivery.give_back(job_id, known[job_id])
                    unknown = strange
                    look = self._clock() - forgotten > self._timing.forgotten
                    if look:
                        forgotten = self._clock()
                        await self._report_later_formats(delivery)
                    if count := await delivery.take_over(forgotten=look):
                        self._report(f"{count} jobs of lost workers were queued again" if count > 1 else
                                     "a job of a lost worker was queued again")  # fmt: skip
            except Exception as error:
                log.info("looking for lost jobs failed: %s", describe_failure(error))

    def _stop_superseded(self, known: dict[str, tuple[str, int]]) -> None:
        for job_id, running in list(self._running.items()):
            ours = (running.claim.session.id, running.claim.session.attempt)
            # Once it may have been asked for before it was claimed.
            running.missing = 0 if known.get(job_id) == ours else running.missing + 1
            if running.missing > 1 and not running.lost.is_set():
                self._report(f"job {job_id[:8]} is stopped: another worker has taken it over")
                running.lost.set()

    async def _report_later_formats(self, delivery: Delivery) -> None:
        if not self._reported_format and (count := await delivery.later_formats()):
            self._reported_format = True
            self._report(
                f"{count} waiting jobs were made by a later version of ua-tui, and are left to workers of it: "
                "update ua-tui here"
            )
