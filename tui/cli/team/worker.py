"""`ua-tui worker`: runs jobs of a team as headless sessions until a signal ends it, and hands back what is left."""

from __future__ import annotations

import argparse
import asyncio
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

from ua_tui.core.errors import CredentialsError, SettingsError
from ua_tui.core.events.units import quantity
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.schema import sharing
from ua_tui.core.postgres.state import ALIVE_SECONDS
from ua_tui.core.settings.model import Settings
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.team.jobs.operations import Operations
from ua_tui.core.team.jobs.postgres_jobs import PostgresJobs
from ua_tui.core.team.jobs.queue import QueueWorker
from ua_tui.core.team.jobs.running import JobStop, Report, RunJob
from ua_tui.core.team.records import JobClaim, Outcome
from ua_tui.core.text import clean_line
from ua_tui.tui.cli.arguments import WrongUsage, optional_address, settings_of
from ua_tui.tui.cli.output import print_line, quiet_libraries
from ua_tui.tui.terminal.apart import run_apart
from ua_tui.tui.terminal.exit_codes import EXIT_INTERRUPTED
from ua_tui.tui.terminal.signals import stopping_on_signals

PARALLEL = 2
_TOUCH_SECONDS = 5.0


def run(args: argparse.Namespace) -> int:
    """Run the command; returns the exit code.

    Raises:
        SettingsError: an address or a setting is wrong, or the health file cannot be written.
        TeamError: the jobs cannot be reached, or their tables are of another version.
        WrongUsage: no database is named.
    """
    settings = settings_of(args)
    address = optional_address(args.address, settings)
    if address is None:
        raise WrongUsage(
            "name the team's database with --from or the `team` setting; `ua-tui batch FILE` needs no worker here"
        )
    if args.drain:
        count = asyncio.run(Operations(address).drain(socket.gethostname()))
        workers = f"{quantity(count, 'worker')} on this machine will end after their running jobs"
        print_line(workers if count else "no worker is running on this machine")
        return 0

    def work() -> int:
        parallel = args.parallel or PARALLEL
        return asyncio.run(
            run_worker(settings, address, parallel=parallel, grace=args.grace, health_file=args.health_file)
        )

    with quiet_libraries(settings.log_level):
        return run_apart(work)


def report_line(text: str) -> None:
    """Write a line about what happens to standard error, with the time."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {clean_line(text, 500)}\n")
    sys.stderr.flush()


async def run_worker(
    settings: Settings,
    address: Address,
    *,
    parallel: int,
    run: RunJob | None = None,
    report: Report = report_line,
    health_file: Path | None = None,
    grace: float = 60.0,
) -> int:
    """Run the jobs of a team, so many at a time, until a signal; returns the exit code.

    `settings` are those of every session; a job has some of its own. `run` runs one job, by default as a session, and
    `health_file` is touched as long as the event loop runs. The rest is what `QueueWorker` takes.

    Raises:
        SettingsError: the health file cannot be written.
        TeamError: the jobs cannot be reached, or their tables are of another version.
    """
    from ua_tui.tui.team.job_session import JobRun

    async with AsyncExitStack() as stack:
        await stack.enter_async_context(touching(health_file))
        # Queue, actions, mailbox, copies and knowledge base share these.
        address = await stack.enter_async_context(sharing(address, 2 + parallel // 4))
        # Each session is copied to the database, and finds what the team found.
        knowledge = address if settings.knowledge == "on" else settings.knowledge
        given = replace(settings, knowledge=knowledge)
        note = PostgresJobs(address).record

        async def run_session(claim: JobClaim, stop: JobStop) -> Outcome:
            return await JobRun(claim, stop, settings=given, note=note, address=address).work()

        # One machine without a key would take all jobs of a team, and each would fail.
        only_demo = run is None and not settings.has_credentials()
        worker = QueueWorker(
            address,
            run or run_session,
            parallel=parallel,
            only_demo=only_demo,
            folder=settings.workspace_base / WORKSPACES,
            grace=grace,
            report=report,
        )
        at_a_time = "one at a time" if parallel == 1 else f"{parallel} at a time"
        report(f"running jobs of {address}, {at_a_time}; Ctrl+C hands them back")
        if only_demo:
            report(f"{CredentialsError()}; until then, only demo jobs run here")

        def end_at_once() -> str:
            if health_file is not None:
                with suppress(OSError):
                    health_file.unlink()
            return f"; other workers can claim its jobs in {ALIVE_SECONDS:.0f} s"

        with stopping_on_signals(worker.stop, end_at_once) as stopped:
            await worker.work()
    # A service is ended with SIGTERM, which is no failure.
    return EXIT_INTERRUPTED if stopped and stopped[0] == signal.SIGINT else 0


@asynccontextmanager
async def touching(path: Path | None, every: float = _TOUCH_SECONDS) -> AsyncIterator[None]:
    """Touch a file as long as the event loop of the block runs, and remove it at the end.

    Raises:
        SettingsError: it cannot be written at first.
    """
    if path is None:
        yield
        return
    try:
        await asyncio.to_thread(path.touch)
    except OSError as error:
        raise SettingsError(
            f"--health-file {clean_line(str(path), 200)} cannot be written ({error.strerror}): "
            "name a file in a folder that the worker may write to"
        ) from error

    async def keep_touching() -> None:
        while True:
            await asyncio.sleep(every)
            # A disk that is full for a while is no reason to end.
            with suppress(OSError):
                await asyncio.to_thread(path.touch)

    task = asyncio.create_task(keep_touching())
    try:
        yield
    finally:
        task.cancel()
        with suppress(OSError):
            await asyncio.to_thread(path.unlink)
