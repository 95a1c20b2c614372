"""A worker: runs jobs as headless sessions until a signal ends it, and hands back what is not over by then."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from ua_tui.core.errors import CredentialsError
from ua_tui.core.postgres.problems import missing_extra
from ua_tui.core.text import clean_line
from ua_tui.tui.terminal.exit_codes import EXIT_INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ua_tui.core.postgres.address import Address
    from ua_tui.core.settings.model import Settings
    from ua_tui.core.team.jobs.running import Report, RunJob
    from ua_tui.core.team.records import JobClaim, JobStore, Mailbox, Outcome

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stoppable(Protocol):
    """What a signal ends."""

    def stop(self) -> None:
        """End soon."""
        ...


async def run_worker(
    settings: Settings,
    address: Address | None,
    *,
    parallel: int,
    run: RunJob | None = None,
    report: Report | None = None,
    **timing: Any,
) -> int:
    """Run the jobs of a team, or without an address those of this machine, until a signal; returns the exit code.

    Args:
        settings: those of every session; a job has some of its own.
        address: the database of the team.
        parallel: how many jobs at a time.
        run: runs one job; by default as a session.
        report: gets the lines about what happens; by default they go to standard error.
        timing: the times of the worker of a team.

    Raises:
        CredentialsError: no way to reach a model is configured, and a job needs one; it is handed back.
        TeamError: the jobs cannot be reached, or their tables are of another version.
    """
    report = report or report_line
    store: SqliteJobs | PostgresJobs
    make: Callable[..., LocalWorker | QueueWorker]
    if address is None:
        from ua_tui.core.team.jobs.local_worker import LocalWorker
        from ua_tui.core.team.jobs.sqlite_jobs import SqliteJobs, jobs_path

        local = SqliteJobs(jobs_path(settings.workspace_base))
        store, make, what = local, partial(LocalWorker, local), "the jobs of this folder"
    else:
        try:
            from ua_tui.core.team.jobs.postgres_jobs import PostgresJobs
            from ua_tui.core.team.jobs.queue import QueueWorker
        except ImportError as error:
            raise missing_extra(error) from error
        store, make = PostgresJobs(address), partial(QueueWorker, address)
        what = f"jobs of {address}"
    await store.open()
    try:
        guard = ModelGuard(settings, session_runner(settings, store, address))
        worker = make(run or guard.run, parallel=parallel, report=report, **timing)
        guard.worker = worker
        at_a_time = "one at a time" if parallel == 1 else f"{parallel} at a time"
        report(f"running {what}, {at_a_time}; Ctrl+C hands them back")
        if run is None:
            guard.warn(report)
        with stopping_on_signals(worker) as stopped:
            await worker.work()
        guard.check()
    finally:
        await store.close()
    # A service is ended with SIGTERM, which is no failure.
    return EXIT_INTERRUPTED if stopped and stopped[0] == signal.SIGINT else 0


class ModelGuard:
    """Runs jobs as long as a model can be reached from here; the first job that cannot run is handed back.

    Otherwise one machine without a key would take all jobs of a team, and each would fail.

    Attributes:
        worker: is stopped then.
    """

    def __init__(self, settings: Settings, run: RunJob) -> None:
        self._settings = settings
        self._run = run
        self._is_unable = False
        self.worker: Stoppable | None = None

    async def run(self, claim: JobClaim, lost: asyncio.Event) -> Outcome:
        """Run a job, or stop the worker.

        Raises:
            CredentialsError: no way to reach a model is configured.
        """
        if self._settings.has_credentials() or claim.job.settings.get("demo") is True:
            return await self._run(claim, lost)
        self._is_unable = True
        assert self.worker is not None
        self.worker.stop()
        raise CredentialsError

    def warn(self, report: Report) -> None:
        """Report beforehand that this machine can only run the demo."""
        if not self._settings.has_credentials():
            report(f"{CredentialsError()}; until then only jobs of the demo run here")

    def check(self) -> None:
        """Report why the worker was stopped.

        Raises:
            CredentialsError: no way to reach a model is configured.
        """
        if self._is_unable:
            raise CredentialsError


def session_runner(settings: Settings, store: JobStore, address: Address | None) -> RunJob:
    """Return what runs a job as a session: one of a team is copied to it, and finds what the team found."""
    if address is not None:
        knowledge = address if settings.knowledge == "on" else settings.knowledge
        settings = replace(settings, team=address.url, knowledge=knowledge)
    mailbox: list[Mailbox] = []

    async def run(claim: JobClaim, lost: asyncio.Event) -> Outcome:
        from ua_tui.tui.team.job_session import run_job

        if not mailbox:
            mailbox.append(_mailbox(settings, address))
        return await run_job(
            claim, settings=settings, store=store, mailbox=mailbox[0], address=address, lost=lost
        )

    return run


def _mailbox(settings: Settings, address: Address | None) -> Mailbox:
    if address is not None:
        from ua_tui.core.team.mailbox import PostgresMailbox

        return PostgresMailbox(address)
    from ua_tui.core.team.jobs.sqlite_jobs import jobs_path
    from ua_tui.core.team.local_mailbox import SqliteMailbox

    return SqliteMailbox(jobs_path(settings.workspace_base))


@contextmanager
def stopping_on_signals(work: Stoppable) -> Iterator[list[int]]:
    """Stop `work` at the first signal, and end the program at the second; gives the list of the signals that came."""
    loop = asyncio.get_running_loop()
    stopped: list[int] = []

    def stop(number: int) -> None:
        if stopped:
            # A second time means now: what is not written by then is lost.
            line = "\n" if sys.stderr.isatty() else ""
            sys.stderr.write(f"{line}ended before everything was saved\n")
            os._exit(128 + number)
        stopped.append(number)
        work.stop()

    with ExitStack() as stack:
        for number in _SIGNALS:
            loop.add_signal_handler(number, stop, number)
            stack.callback(loop.remove_signal_handler, number)
        yield stopped


def report_line(text: str) -> None:
    """Write a line about what happens to standard error, with the time."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {clean_line(text, 500)}\n")
    sys.stderr.flush()
