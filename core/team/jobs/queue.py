"""A worker of a team: claims jobs, runs them, hands back unfinished ones, and frees the jobs of lost workers.

What a job is, and who may work on it, is decided by its own row; whoever writes with an earlier attempt is refused.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path

from msgspec.structs import replace

from ua_tui.core.errors import TeamError
from ua_tui.core.events.units import quantity
from ua_tui.core.log import log
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import Connections
from ua_tui.core.postgres.problems import describe, is_temporary
from ua_tui.core.postgres.schema import check_version, sharing
from ua_tui.core.postgres.state import read_rights
from ua_tui.core.storage.files import failed
from ua_tui.core.tasks import end_tasks, pause
from ua_tui.core.team.jobs.postgres_jobs import BEAT_SECONDS, PostgresJobs
from ua_tui.core.team.jobs.running import PUT_OFF_SECONDS, JobStop, Report, RunJob, run_to_end
from ua_tui.core.team.jobs.schedules import run_due
from ua_tui.core.team.records import JobClaim, Outcome
from ua_tui.core.text import clean_line
from ua_tui.core.version import VERSION

_AGAIN_SECONDS = 0.5
SILENCE_SECONDS = 20.0
"""So long after its last heartbeat a worker stops its sessions: they have ended when others take them over."""
_LAST_SECONDS = 5.0
"""How long the end of a job is tried to be recorded after the worker was stopped."""


def worker_name() -> str:
    """The name of this program among the workers: the machine and the process."""
    return f"{socket.gethostname()}:{os.getpid()}"


def _clock() -> float:
    # It also runs while the machine sleeps, where there is such a clock.
    if (boot := getattr(time, "CLOCK_BOOTTIME", None)) is not None:
        return time.clock_gettime(boot)
    return time.monotonic()


def _problem_of(folder: Path) -> str:
    """Why nothing can be written to a folder, which is made if it is missing; empty if something can."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return str(failed("write to the folder", str(folder), error))


@dataclass
class _Running:
    """A job that runs here."""

    claim: JobClaim
    stop: JobStop = field(default_factory=JobStop)
    over: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(eq=False)
class QueueWorker:
    """Runs jobs of a team until it is stopped, some at a time.

    Args:
        address: the database.
        run: runs one job.
        parallel: how many at a time.
        only_demo: whether only jobs of the demo are claimed, as no model can be reached from here.
        folder: where sessions begin; while it cannot be written to, nothing is claimed.
        grace: how many seconds the tool calls in flight have to end when the worker is stopped.
        report: gets one line for each thing that a person should know.
        beat: the pause between two heartbeats, with which it also looks for jobs.
        clock: gives the seconds by which contact with the database is judged.
    """

    address: Address
    run: RunJob
    _: KW_ONLY
    parallel: int = 1
    only_demo: bool = False
    folder: Path | None = None
    grace: float = 60.0
    report: Report = log.info
    beat: float = 5.0
    name: str = field(default_factory=worker_name)
    clock: Callable[[], float] = _clock
    _jobs: PostgresJobs = field(init=False)
    _beats: PostgresJobs = field(init=False)
    _connections: Connections = field(init=False)
    _refused: str = field(default="", init=False)
    _id: int = field(default=0, init=False)
    _running: dict[tuple[str, int], _Running] = field(default_factory=dict, init=False)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set, init=False)
    _stopping: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _is_stopped: bool = field(default=False, init=False)
    _is_claiming: bool = field(default=False, init=False)
    _wake: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _contact: float = field(default=0.0, init=False)
    _out_of_contact: bool = field(default=False, init=False)
    _problem: TeamError | None = field(default=None, init=False)

    def stop(self) -> None:
        """Claim nothing more, let the tool calls in flight end, hand the jobs back, and end."""
        if self._running and self.grace > 0:
            self.report(
                f"stopping: no more jobs are claimed; the calls of {quantity(len(self._running), 'job')} in flight "
                f"have {self.grace:.0f} s to finish, then the jobs are handed back; a second signal stops at once"
            )
        self._is_stopped = True
        self._stopping.set()
        self._wake.set()
        for each in self._running.values():
            each.stop.soon.set()
        asyncio.get_running_loop().call_later(self.grace, self._end_all)

    def drain(self, problem: TeamError | None = None) -> None:
        """Claim nothing more, and end when the jobs that run are over."""
        self._problem = self._problem or problem
        self._stopping.set()
        self._wake.set()

    async def work(self) -> None:
        """Run jobs until `stop` or `drain`.

        Raises:
            TeamError: the database cannot be reached at first, this role may not run jobs, or the tables are of another
                version; in that case while it runs, too, when the running jobs are over.
        """
        # What the pool reports is either handled here or meant for programmers.
        logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)
        # A connection of its own: a heartbeat waits for no other work, or the jobs would be taken for lost.
        own = replace(self.address, connections=None)
        async with sharing(self.address, 2) as shared, sharing(own, 1, BEAT_SECONDS) as own:
            self._jobs, self._beats = PostgresJobs(shared), PostgresJobs(own)
            assert shared.connections is not None
            self._connections = shared.connections
            await self._check_rights()
            self._id = await self._jobs.add_worker(self.name, VERSION, self.parallel)
            self._contact = self.clock()
            end_listening = self._connections.listener.subscribe(self._handle_notice)
            side = [
                asyncio.create_task(each()) for each in (self._beat, self._watch_contact, self._submit_due)
            ]
            try:
                await self._claim_until_stopped()
                while self._tasks:
                    await asyncio.wait(self._tasks)
            finally:
                end_listening()
                await end_tasks(*side, *self._tasks)
                with suppress(TeamError, TimeoutError):
                    async with asyncio.timeout(2.0):
                        await self._jobs.remove_worker(self._id)
        if self._problem is not None:
            raise self._problem

    async def _check_rights(self) -> None:
        async with self._jobs.connection() as db:
            rights, user = await read_rights(db), clean_line(db.info.user, 60)
        if rights not in ("owner", "worker"):
            raise TeamError(
                f"in the team's database {self.address}, {user} may not run jobs: connect as the owner of the tables, "
                f"or as a member of that role (GRANT OWNER TO {user} in psql)"
            )

    def _handle_notice(self, payload: str) -> None:
        if payload in ("", "queue"):
            self._wake.set()

    def _end_all(self) -> None:
        for each in self._running.values():
            each.stop.set()

    # -- jobs ---------------------------------------------------------------------------------------

    async def _claim_until_stopped(self) -> None:
        """Claim jobs while there is place, when one may have come, and with every heartbeat."""
        while not self._stopping.is_set():
            self._wake.clear()
            while len(self._running) < self.parallel and not self._stopping.is_set():
                claim = await self._claim()
                if claim is None:
                    break
                running = _Running(claim)
                self._running[claim.session.key] = running
                task = asyncio.create_task(self._run(running))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            await pause(self.beat, self._wake)
            # Anybody in the database can announce something.
            await pause(0.02)

    async def _claim(self) -> JobClaim | None:
        if (
            self._out_of_contact
            or self.clock() - self._contact > SILENCE_SECONDS
            or self._connections.is_short
            or not await self._can_begin()
        ):
            return None
        self._is_claiming = True
        try:
            # One that was claimed by a statement whose answer was lost is handed back later.
            return await self._jobs.claim(self._id, self.name, only_demo=self.only_demo)
        except (TeamError, OSError, TimeoutError) as error:
            self._note_away(error)
            return None
        finally:
            self._is_claiming = False

    async def _can_begin(self) -> bool:
        """Whether sessions can begin here; otherwise each fails at once, and this machine takes all jobs of a team."""
        if self.folder is None:
            return True
        before, self._refused = self._refused, await asyncio.to_thread(_problem_of, self.folder)
        if self._refused != before:
            problem = self._refused and f"{self._refused}; until then, no jobs are claimed"
            self.report(problem or "jobs are claimed again")
        return not self._refused

    async def _run(self, running: _Running) -> None:
        claim = running.claim
        if self._is_stopped:
            running.stop.set()
        try:
            for each in list(self._running.values()):
                if each is not running and each.claim.job.id == claim.job.id:
                    # It was freed while the database could not be reached from here.
                    each.stop.set()
                    await each.over.wait()
            outcome = await run_to_end(self.run, claim, running.stop, self.report)
            # It is over: nobody stops it any more while that is recorded.
            running.stop.set()
            if outcome.state == "put_off":
                self.report(f"the workers of the team will claim no jobs for {PUT_OFF_SECONDS:.0f} s")
            if not await self._finish(claim, outcome) and outcome.state != "waiting":
                log.warning("job %s now belongs to another worker: its end was not recorded", claim.job.id)
        finally:
            del self._running[claim.session.key]
            running.over.set()
            self._wake.set()

    async def _finish(self, claim: JobClaim, outcome: Outcome) -> bool:
        """Record the end of a job, again until that succeeds; returns whether the job was still ours."""
        until = None
        while True:
            try:
                return await self._jobs.finish(claim.session, outcome)
            except TeamError as error:
                if not is_temporary(error):
                    log.error("the end of a job cannot be recorded", exc_info=error)
                    return False
                self._note_away(error)
            if self._stopping.is_set():
                until = until or self.clock() + _LAST_SECONDS
                if self.clock() > until:
                    return False
            await pause(_AGAIN_SECONDS)

    # -- contact with the database, and lost workers ------------------------------------------------

    def _note_away(self, error: Exception) -> None:
        if not self._out_of_contact:
            self._out_of_contact = True
            self.report(
                f"the team's database cannot be reached: {describe(error).problem}; nothing is claimed; trying again"
            )

    async def _beat(self) -> None:
        before: set[tuple[tuple[str, int], bool]] = set()
        while True:
            sent = self.clock()
            try:
                worker, sessions, freed = await self._beats.beat(
                    self._id, self.name, VERSION, self.parallel, len(self._running)
                )
            except Exception as error:
                self._note_away(error)
                await pause(min(1.0, self.beat))
                continue
            self._contact = sent
            if self._out_of_contact:
                self._out_of_contact = False
                self.report("the team's database can be reached again")
            if not self._stopping.is_set():
                try:
                    check_version(worker.version, self.address)
                except TeamError as error:
                    self.report(f"{error}; this worker ends when its jobs have ended")
                    self.drain(error)
                if worker.draining:
                    jobs = quantity(len(self._running), "job")
                    self.report(f"draining: no more jobs are claimed; this worker ends after its {jobs}")
                    self.drain()
            if freed["waiting"]:
                self.report(f"{quantity(freed['waiting'], 'job')} of lost workers queued again")
            if freed["failed"]:
                self.report(
                    f"{quantity(freed['failed'], 'job')} failed, because their workers were lost repeatedly"
                )
            known = {each.key: each for each in sessions}
            differing = {(key, key in known) for key in known.keys() ^ self._running.keys()}
            # Twice: one that was claimed just now may be known only here, or only there. First what another one has.
            for key, is_known in sorted(differing & before, key=lambda each: each[1]):
                if is_known and self._is_claiming:
                    # On a busy machine the answer may take longer than two heartbeats.
                    continue
                if is_known:
                    # It was claimed by a statement whose answer was lost.
                    with suppress(TeamError, OSError, TimeoutError):
                        await self._beats.record(known[key], "waiting")
                elif (running := self._running.get(key)) is not None and not running.stop.is_set():
                    self.report(
                        f"job {running.claim.job.id[:8]} is stopped: another worker has taken it over"
                    )
                    running.stop.set()
            before = differing
            await pause(self.beat)

    async def _submit_due(self) -> None:
        """Submit what schedules have due."""
        while True:
            with suppress(TeamError, OSError, TimeoutError):
                while not (self._stopping.is_set() or self._out_of_contact):
                    if (line := await run_due(self._jobs, self.address)) is None:
                        break
                    self.report(line)
            await pause(self.beat)

    async def _watch_contact(self) -> None:
        while True:
            at_work = [each for each in self._running.values() if not each.stop.is_set()]
            if at_work and self.clock() - self._contact > SILENCE_SECONDS:
                # To cancel each statement that waits would take another connection, also to where nothing arrives.
                self._connections.shut_down()
                for each in at_work:
                    self.report(
                        f"job {each.claim.job.id[:8]} is stopped: the team's database was unreachable for too long"
                    )
                    each.stop.set()
            await pause(self.beat / 10)
