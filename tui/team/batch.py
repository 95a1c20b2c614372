"""A batch: submits its jobs, runs them here or follows them until all are over, and prints their results."""

from __future__ import annotations

import asyncio
import json
import math
import shutil
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from ua_tui.core.errors import TeamError
from ua_tui.core.events.units import quantity
from ua_tui.core.postgres.problems import describe, is_temporary
from ua_tui.core.text import clean, clean_line, escape_unsafe
from ua_tui.tui.team.worker import ModelGuard, session_runner, stopping_on_signals
from ua_tui.tui.terminal.exit_codes import EXIT_FAILED, EXIT_INTERRUPTED

if TYPE_CHECKING:
    from ua_tui.core.postgres.address import Address
    from ua_tui.core.settings.model import Settings
    from ua_tui.core.team.jobs.postgres_jobs import PostgresJobs
    from ua_tui.core.team.jobs.running import RunJob
    from ua_tui.core.team.jobs.sqlite_jobs import SqliteJobs
    from ua_tui.core.team.records import Counts, Job, JobBatch, JobResult, Submitted

_QUICK_SECONDS = 0.3
_RETRY_SECONDS = 1.0
"""How long is waited before the team's database is asked again that could not be reached."""

_Answer = TypeVar("_Answer")


class Reporter(Protocol):
    """Where the progress of a batch goes; close it at the end."""

    def counts(self, counts: Counts) -> None:
        """The jobs by their state have changed."""
        ...

    def finished(self, result: JobResult, counts: Counts) -> None:
        """A job is over."""
        ...

    def line(self, text: str) -> None:
        """Something else that a person should know."""
        ...

    def close(self) -> None:
        """Nothing more changes: what is printed next begins a line."""
        ...


async def open_store(settings: Settings, address: Address | None) -> SqliteJobs | PostgresJobs:
    """Open the jobs of a team, or without an address those of this machine.

    Raises:
        TeamError: they cannot be used.
    """
    if address is None:
        from ua_tui.core.team.jobs.sqlite_jobs import SqliteJobs, jobs_path

        local = SqliteJobs(jobs_path(settings.workspace_base))
        await local.open()
        return local
    from ua_tui.core.team.jobs.postgres_jobs import PostgresJobs

    store = PostgresJobs(address)
    await store.open()
    return store


@dataclass(kw_only=True)
class BatchRun:
    """One run of the command: submits a batch, works on it or waits for it, and prints the results.

    Attributes:
        settings: those of the sessions that run here.
        store: where the jobs are.
        address: the database of the team; None if the jobs run here.
        parallel: how many run here at a time.
        reporter: gets the progress.
        write: gets the results.
        run: runs one job; by default as a session.
    """

    settings: Settings
    store: SqliteJobs | PostgresJobs
    address: Address | None
    parallel: int
    reporter: Reporter
    write: Callable[[str], None]
    run: RunJob | None = None
    _workers_checked: float = field(default=-math.inf, init=False)
    _lacks_workers: bool = field(default=False, init=False)
    _is_away: bool = field(default=False, init=False)
    _signals: list[int] = field(default_factory=list, init=False)

    async def submit(self, batch: JobBatch, jobs: Sequence[Job], *, retry_failed: bool) -> Submitted:
        """Submit the batch, and report what became of it.

        If the connection is lost before the answer, the batch is submitted again: jobs that are stored are then known.
        """
        submitted = await self._ask(lambda: self.store.submit(batch, jobs, retry_failed=retry_failed))
        parts = [f"{submitted.new:,} new"]
        if submitted.known:
            parts.append(f"{submitted.known:,} known")
        if submitted.reopened:
            parts.append(f"{submitted.reopened:,} of them failed and run again")
        self.reporter.line(f"{quantity(submitted.new + submitted.known, 'job')}: {', '.join(parts)}")
        return submitted

    async def complete(self, batch: JobBatch, *, as_json: bool) -> int:
        """Run or follow the jobs until all are over, and print the results; returns the exit code.

        Raises:
            CredentialsError: a job should run here, and no way to reach a model is configured; it waits.
        """
        signals = await (self._work(batch) if self.address is None else self._follow_until_stopped(batch))
        self.reporter.close()
        if signals:
            self._signals = signals
            await self._report_interruption(batch, as_json=as_json)
            return EXIT_INTERRUPTED if signals[0] == 2 else 128 + signals[0]
        failed = await self._print_results(batch, as_json=as_json, only_over=False)
        if failed:
            self.reporter.line("--retry-failed runs those again that failed")
        return EXIT_FAILED if failed else 0

    async def _report_interruption(self, batch: JobBatch, *, as_json: bool) -> None:
        here = "run the same command again to resume" if self.address is None else "workers go on with them"
        try:
            await self._print_results(batch, as_json=as_json, only_over=True)
            counts = await self.store.counts(batch.id)
        except TeamError as error:
            if not self._is_temporary(error):
                raise
            self.reporter.line(
                f"interrupted: the team's database cannot be reached: {_problem(error)}; {here}"
            )
        else:
            left = counts.total - counts.over
            self.reporter.line(f"interrupted: {quantity(left, 'job')} not over; {here}")

    async def _work(self, batch: JobBatch) -> list[int]:
        from ua_tui.core.team.jobs.local_worker import LocalWorker
        from ua_tui.core.team.jobs.sqlite_jobs import SqliteJobs

        assert isinstance(self.store, SqliteJobs)
        guard = ModelGuard(self.settings, session_runner(self.settings, self.store, None))
        worker = LocalWorker(
            self.store,
            self.run or guard.run,
            parallel=self.parallel,
            report=lambda _: None,
            batch_id=batch.id,
        )
        guard.worker = worker
        following = asyncio.create_task(self._follow(batch))
        with stopping_on_signals(worker) as signals:
            try:
                await worker.work()
                guard.check()
                if not signals:
                    await following
            finally:
                following.cancel()
                with suppress(asyncio.CancelledError):
                    await following
        return signals

    async def _follow_until_stopped(self, batch: JobBatch) -> list[int]:
        following = asyncio.create_task(self._follow(batch))

        class Following:
            def stop(self) -> None:
                following.cancel()

        with stopping_on_signals(Following()) as signals, suppress(asyncio.CancelledError):
            await following
        return signals

    async def _follow(self, batch: JobBatch) -> None:
        """Report the progress until all jobs are over."""
        # Those that ended earlier are no news.
        began = since = await self._ask(self.store.now)
        reported: set[str] = set()
        shown: Counts | None = None
        async with aclosing(self._wakes()) as wakes:
            async for _ in wakes:
                ended, counts, took = await self._ask(
                    # Another one may have begun to be recorded before the last end.
                    partial(self._progress, batch, since - 60.0)
                )
                for result in ended:
                    assert result.finished is not None
                    if result.job.id not in reported and result.finished > began:
                        self.reporter.finished(result, counts)
                    reported.add(result.job.id)
                    since = max(since, result.finished)
                if counts != shown:
                    shown = counts
                    self.reporter.counts(counts)
                if counts.over == counts.total:
                    return
                await self._rest(took)

    async def _rest(self, took: float) -> None:
        """Ask a large batch, whose answer took so many seconds, less often."""
        await asyncio.sleep(5.0 * took)

    async def _progress(self, batch: JobBatch, since: float) -> tuple[list[JobResult], Counts, float]:
        """The jobs that ended after `since`, the counts, which include them, and how long the answer took."""
        began = time.monotonic()
        ended = await self._ended(batch, since)
        counts = await self.store.counts(batch.id)
        if counts.over == counts.total:
            ended = await self._ended(batch, since)
        await self.check_workers(counts)
        return ended, counts, time.monotonic() - began

    async def _ask(self, question: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """Ask the store; a team's database that cannot be reached is asked again until it answers or a person stops it.

        Raises:
            TeamError: the store failed in another way.
        """
        while True:
            try:
                answer = await question()
            except TeamError as error:
                if self._signals or not self._is_temporary(error):
                    raise
                if not self._is_away:
                    self._is_away = True
                    self.reporter.line(
                        f"the team's database cannot be reached: {_problem(error)}; trying again"
                    )
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            if self._is_away:
                self._is_away = False
                self.reporter.line("the database can be reached again")
            return answer

    def _is_temporary(self, error: TeamError) -> bool:
        return self.address is not None and is_temporary(error)

    async def check_workers(self, counts: Counts) -> None:
        """Report once that jobs of a team wait and no worker is alive."""
        now = time.monotonic()
        if not counts.waiting or counts.running or counts.needs_you or self.address is None:
            return
        if now < self._workers_checked + 30.0:
            return
        from ua_tui.core.team.jobs.postgres_jobs import PostgresJobs

        assert isinstance(self.store, PostgresJobs)
        self._workers_checked = now
        lacked, self._lacks_workers = self._lacks_workers, not await self.store.has_workers()
        if self._lacks_workers and not lacked:
            self.reporter.line("no worker is alive: the jobs wait until one is started with `ua-tui worker`")

    async def _ended(self, batch: JobBatch, since: float) -> list[JobResult]:
        found: list[JobResult] = []
        while page := await self.store.finished(batch.id, since):
            found += page
            assert page[-1].finished is not None
            since = page[-1].finished
        return found

    async def _wakes(self) -> AsyncGenerator[None, None]:
        """When to look again: after a change, but not too often, and from time to time in any case."""
        if self.address is None:
            while True:
                yield
                await asyncio.sleep(_QUICK_SECONDS)
        changed = asyncio.Event()
        listening = asyncio.create_task(self._listen(changed))
        try:
            while True:
                yield
                await asyncio.sleep(_QUICK_SECONDS)
                with suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), 2.0)
                changed.clear()
        finally:
            listening.cancel()
            with suppress(asyncio.CancelledError):
                await listening

    async def _listen(self, changed: asyncio.Event) -> None:
        from ua_tui.core.team.jobs.postgres_jobs import PostgresJobs

        assert isinstance(self.store, PostgresJobs)
        while True:
            with suppress(TeamError):
                async with self.store.changes() as announced:
                    async for payload in announced:
                        if payload.startswith("job "):
                            changed.set()
            await asyncio.sleep(1.0)

    async def _print_results(self, batch: JobBatch, *, as_json: bool, only_over: bool) -> int:
        """Print the results in the order of the file; returns how many jobs did not succeed."""
        failed, printed = 0, -1

        async def print_rest() -> None:
            nonlocal failed, printed
            async for result in self.store.results(batch.id, after=printed):
                printed = result.job.number
                is_over = result.state in ("done", "failed", "cancelled")
                failed += result.state != "done"
                if is_over or not only_over:
                    self.write(result_json(result) if as_json else result_text(result))

        await self._ask(print_rest)
        return failed


def _problem(error: TeamError) -> str:
    """What is wrong with the database, without advice."""
    cause = error.__cause__
    return describe(cause).problem if isinstance(cause, Exception) else str(error)


def counts_line(counts: Counts) -> str:
    """The state of a batch in a line."""
    parts = [f"{counts.over:,} of {counts.total:,} finished"]
    parts += [
        f"{count:,} {words}"
        for count, words in (
            (counts.running, "running"),
            (counts.needs_you, "needs you" if counts.needs_you == 1 else "need you"),
            (counts.failed, "failed"),
            (counts.cancelled, "cancelled"),
        )
        if count
    ]
    return " · ".join([*parts, f"${counts.cost_usd:.2f}"])


def result_json(result: JobResult) -> str:
    """A result as a line of JSON."""
    fields = {
        "number": result.job.number,
        "id": result.job.id,
        "state": result.state,
        "query": result.job.query,
        "answer": result.answer,
        "error": result.error,
        "cost_usd": result.cost_usd,
        "folder": result.folder,
        "session": result.session,
        "attempt": result.attempt,
    }
    return escape_unsafe(json.dumps(fields, ensure_ascii=False))


def result_text(result: JobResult) -> str:
    """A result for a person: the query, and its answer or why there is none."""
    head = f"{result.job.number}. {clean_line(result.job.query, 200)}"
    if result.state == "done":
        body = clean(result.answer).strip() or "(no answer)"
    else:
        body = f"({result.state}{': ' + clean_line(result.error, 500) if result.error else ''})"
    return f"{head}\n\n{body}\n"


class TerminalReporter:
    """One line that changes, for a terminal."""

    def __init__(self) -> None:
        self._shown = ""

    def counts(self, counts: Counts) -> None:
        """Show the counts."""
        self._show(counts_line(counts))

    def finished(self, result: JobResult, counts: Counts) -> None:
        """Show nothing: the counts have it."""

    def line(self, text: str) -> None:
        """Write a line above."""
        shown = self._shown
        self._show("")
        sys.stderr.write(f"{clean_line(text, 500)}\n")
        self._show(shown)

    def close(self) -> None:
        """Leave the last state as an ordinary line."""
        if self._shown:
            sys.stderr.write("\n")
            sys.stderr.flush()
            self._shown = ""

    def _show(self, text: str) -> None:
        # To the beginning of the line, and remove it; one that is wrapped could not be removed.
        text = text[: shutil.get_terminal_size().columns - 1]
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
        self._shown = text


class LineReporter:
    """A line for each job that is over, for a file or a pipe."""

    def counts(self, counts: Counts) -> None:
        """Write nothing: a log would be full of it."""

    def finished(self, result: JobResult, counts: Counts) -> None:
        """Write how a job ended."""
        reason = f": {result.error}" if result.error else ""
        query = clean_line(result.job.query, 80)
        self.line(f"{counts_line(counts)} | {result.job.number}. {query} {result.state}{reason}")

    def line(self, text: str) -> None:
        """Write a line."""
        sys.stderr.write(f"{clean_line(text, 500)}\n")
        sys.stderr.flush()

    def close(self) -> None:
        """Nothing is left to do."""
