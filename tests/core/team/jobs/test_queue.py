"""Workers of a team on a real database: what they run, hand back and take over, whatever happens to them."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import procrastinate.utils
import pytest

from tests.core.team.copied_session import copied_session, stored_lines
from tests.core.team.jobs.batches import (
    QUICK,
    address_of,
    answer,
    batch_with,
    jobs_of,
    lose_worker,
    open_jobs,
    until_over,
    until_registered,
    working,
)
from tests.paths import PROJECT
from tests.postgres_server import Cluster, Database, short_folder
from tests.tcp_proxy import TcpProxy
from tests.waiting import PATIENCE, ManualClock, until, until_in_thread, wait_until
from ua_tui.core.errors import TeamError
from ua_tui.core.events.types import QueryReceived
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.schema import LATEST
from ua_tui.core.team.jobs.queue import QueueWorker
from ua_tui.core.team.records import JobClaim, Outcome

pytestmark = pytest.mark.slow


class Slow:
    """Runs jobs until they are released; counts how they began, ended and were stopped."""

    def __init__(self) -> None:
        self.release = False
        self.began: list[JobClaim] = []
        self.ended: list[str] = []
        self.stopped: list[str] = []

    async def __call__(self, claim: JobClaim, lost: asyncio.Event) -> Outcome:
        self.began.append(claim)
        await until(lambda: self.release or lost.is_set())
        if lost.is_set():
            self.stopped.append(claim.job.id)
            raise RuntimeError("stopped")
        self.ended.append(claim.job.id)
        return Outcome(state="done", answer="slow", cost_usd=0.2)

    async def until_begun(self, count: int) -> None:
        """Wait until so many jobs have begun."""
        await until(lambda: len(self.began) >= count)


class Processes:
    """Workers with the names w0, w1 and so on as processes, and what their jobs have written."""

    def __init__(self, count: int, address: Address, log: Path) -> None:
        self._log = log
        log.touch()
        command = [sys.executable, "-m", "tests.core.team.jobs.worker_child", address.url, str(log)]
        self.workers = [subprocess.Popen([*command, f"w{n}"], cwd=PROJECT) for n in range(count)]

    @property
    def lines(self) -> list[list[str]]:
        """What happened: what, job, attempt, worker and process."""
        return [line.split() for line in self._log.read_text().splitlines()]

    def until_written(self, count: int) -> list[list[str]]:
        """Wait until so many things have happened; beside other load a process takes long to start."""
        wait_until(lambda: len(self.lines) >= count, 4 * PATIENCE)
        return self.lines

    def end_jobs(self) -> None:
        """Let jobs end."""
        self._log.with_suffix(".end").touch()


@contextmanager
def processes(count: int, database: Database, folder: Path) -> Iterator[Processes]:
    started = Processes(count, address_of(database), folder / "log")
    try:
        yield started
    finally:
        for each in started.workers:
            each.kill()
            each.wait()


async def until_listening(database: Database) -> None:
    """Wait until a worker waits for announced jobs."""
    listens = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%%'"
    await until_in_thread(lambda: database.execute(listens))


async def test_jobs_begin_in_the_order_of_the_file(team_database: Database) -> None:
    jobs, began = jobs_of(12), []

    async def run(claim: JobClaim, lost: asyncio.Event) -> Outcome:
        began.append(claim.job.query)
        return await answer(claim, lost)

    async with open_jobs(team_database) as store:
        batch = batch_with(jobs)
        await store.submit(batch, jobs)
        async with working(address_of(team_database), run, parallel=1):
            await until_over(team_database, batch)
        answers = [result.answer async for result in store.results(batch.id)]
    assert began == [job.query for job in jobs]
    assert answers == [f"answer to {query}" for query in began]
    for table in ("procrastinate_jobs", "worker"):
        assert team_database.execute(f"SELECT count(*) FROM {table}") == [(0,)], table


async def test_many_workers_claim_at_once_and_never_exceed_the_limit(team_database: Database) -> None:
    jobs, slow = jobs_of(40, limit=1), Slow()
    async with open_jobs(team_database) as store:
        batch = batch_with(jobs, limit=5.2)
        await store.submit(batch, jobs)
        async with AsyncExitStack() as stack:
            for number in range(4):
                await stack.enter_async_context(
                    working(address_of(team_database), slow, parallel=4, name=f"w{number}")
                )
            # A job is claimed by the statement that fetches it: eleven of these were refused.
            fetched = "SELECT count(*) FROM procrastinate_jobs WHERE status = 'doing'"
            await until_in_thread(lambda: team_database.execute(fetched) == [(16,)])
            await slow.until_begun(5)
            ((charged, running),) = team_database.execute(
                "SELECT max(batch.charged_usd), count(*) FROM batch JOIN job ON job.batch = batch.id"
                " WHERE state = 'running'"
            )
            assert (charged, running, len(slow.began)) == (5, 5, 5)
            slow.release = True
            await until_over(team_database, batch)
        counts = await store.counts(batch.id)
    # No job ran twice, and each costs 0.20 of 5.20 dollars.
    assert len({claim.job.id for claim in slow.began}) == len(slow.began) == 26
    assert (counts.done, counts.failed) == (26, 14)
    assert round(counts.cost_usd, 6) == 5.2


async def test_a_job_begins_when_announced_and_hostile_notices_do_nothing(team_database: Database) -> None:
    first, second, slow = jobs_of(1), jobs_of(1, prefix="other"), Slow()
    async with open_jobs(team_database) as store:
        # Without an announcement nothing would begin within an hour.
        timing = replace(QUICK, sweep=3600)
        async with working(address_of(team_database), slow, timing=timing) as (_, lines):
            await until_listening(team_database)
            await store.submit(batch_with(first), first)
            await slow.until_begun(1)
            (number,) = team_database.execute("SELECT id FROM procrastinate_jobs")[0]
            abort = json.dumps({"type": "abort_job_requested", "job_id": number})
            for payload in (abort, "no JSON", "[]", '{"type": 1}'):
                for channel in ("procrastinate_any_queue_v1", "procrastinate_queue_v1#jobs-1", "ua_tui"):
                    team_database.execute("SELECT pg_notify(%s, %s)", channel, payload)
            # It still listens.
            batch = batch_with(second)
            await store.submit(batch, second)
            await slow.until_begun(2)
            slow.release = True
            await until_over(team_database, batch)
    assert [claim.session.attempt for claim in slow.began] == [1, 1]
    assert not any("failed" in line or "another worker" in line for line in lines)


async def test_jobs_of_killed_workers_are_taken_over_once(team_database: Database, tmp_path: Path) -> None:
    jobs = jobs_of(12)
    async with open_jobs(team_database) as store:
        batch = batch_with(jobs)
        await store.submit(batch, jobs)
        with processes(3, team_database, tmp_path) as started:
            await asyncio.to_thread(started.until_written, 6)
            await until_registered(team_database, "w0", "w1")
            for number in (0, 1):
                started.workers[number].kill()
                started.workers[number].wait()
                lose_worker(team_database, f"w{number}")
            started.end_jobs()
            await until_over(team_database, batch)
            # One that ends by a signal leaves nothing behind.
            started.workers[2].send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(started.workers[2].wait, PATIENCE) == 0
            assert sorted(team_database.execute("SELECT name FROM worker")) == [("w0",), ("w1",)]
            assert team_database.execute("SELECT count(*) FROM procrastinate_workers") == [(2,)]
        results = [result async for result in store.results(batch.id)]
    assert {each.state for each in results} == {"done"}
    assert Counter(job for what, job, *_ in started.lines if what == "ends") == Counter(
        job.id for job in jobs
    )
    assert Counter(each.attempt for each in results) == {1: 8, 2: 4}


async def test_stopped_workers_return_jobs(team_database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    real = procrastinate.utils.utcnow
    # The clock of this machine is an hour ahead of the server's, by which jobs wait.
    monkeypatch.setattr(procrastinate.utils, "utcnow", lambda: real() + timedelta(hours=1))
    jobs, first, second = jobs_of(2), Slow(), Slow()
    address = address_of(team_database)
    async with open_jobs(team_database) as store:
        batch = batch_with(jobs)
        await store.submit(batch, jobs)
        async with working(address, first):
            await first.until_begun(2)
        assert (await store.counts(batch.id)).waiting == 2
        async with working(address, second):
            await second.until_begun(2)
            second.release = True
            await until_over(team_database, batch)
    assert len(first.stopped) == 2
    assert {claim.session.attempt for claim in second.began} == {2}


async def test_sessions_and_their_copies_go_on_while_the_server_restarts(tmp_path: Path) -> None:
    slow, jobs = Slow(), jobs_of(2)
    cluster = await asyncio.to_thread(Cluster.create, short_folder())
    try:
        database = await asyncio.to_thread(cluster.make_team_database)
        async with open_jobs(database) as store, copied_session(tmp_path, database) as session:
            batch = batch_with(jobs)
            await store.submit(batch, jobs)
            assert await session.replica.flush(PATIENCE)
            async with working(address_of(database), slow, parallel=1) as (_, lines):
                await slow.until_begun(1)
                # A crash would lose what this server, unlike others, writes to the disk later.
                await asyncio.to_thread(cluster.stop, "fast")
                session.publish(QueryReceived(query_id="q1", text="go"))
                await until(lambda: session.failures and any("cannot be reached" in line for line in lines))
                # It ends while the database is away.
                slow.release = True
                await until(lambda: slow.ended)
                await asyncio.to_thread(cluster.start)
                await until_over(database, batch)
                await until(lambda: any("can be reached again" in line for line in lines))
            assert await session.replica.flush(PATIENCE)
            assert stored_lines(database) == session.journal_lines
            assert len(session.failures) == 1
    finally:
        await asyncio.to_thread(cluster.remove)
    assert len(slow.began) == len(slow.ended) == 2


async def test_a_worker_that_is_cut_off_stops_by_itself_and_changes_nothing_more(
    team_database: Database, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs, cut, other, clock = jobs_of(1), Slow(), Slow(), ManualClock()
    # It has stopped before others may take its jobs over.
    assert QUICK.silence + QUICK.beat < QUICK.lost_after
    monkeypatch.setenv("PGPASSWORD", "owner")
    with TcpProxy("127.0.0.1", cluster.port) as proxy:
        through = Address.parse(proxy.url(team_database.tcp))
        async with open_jobs(team_database) as store:
            batch = batch_with(jobs)
            await store.submit(batch, jobs)
            # It is not cut off while it looks for lost jobs, which one worker does at a time.
            timing = replace(QUICK, sweep=3600)
            async with working(through, cut, name="cut", clock=clock, timing=timing):
                await cut.until_begun(1)
                await until_registered(team_database, "cut")
                proxy.pause()
                clock.now += QUICK.silence + 1
                await until(lambda: cut.stopped)
                lose_worker(team_database, "cut")
                async with working(address_of(team_database), other, name="other"):
                    await other.until_begun(1)
                    other.release = True
                    # That the job is handed back arrives now, and too late.
                    proxy.resume()
                    await until_over(team_database, batch)
            (result,) = [each async for each in store.results(batch.id)]
    assert len(cut.began) == 1
    assert (result.state, result.attempt, result.worker) == ("done", 2, "other")


async def test_a_suspended_worker_stops_what_another_one_has(team_database: Database, tmp_path: Path) -> None:
    (job,) = jobs_of(1)
    async with open_jobs(team_database) as store:
        batch = batch_with([job])
        await store.submit(batch, [job])
        with processes(2, team_database, tmp_path) as started:
            ((*_, name, pid),) = await asyncio.to_thread(started.until_written, 1)
            (suspended,) = [each for each in started.workers if each.pid == int(pid)]
            await until_registered(team_database, name)
            suspended.send_signal(signal.SIGSTOP)
            lose_worker(team_database, name)
            await asyncio.to_thread(started.until_written, 2)
            suspended.send_signal(signal.SIGCONT)
            # Its heartbeats arrive again.
            await asyncio.to_thread(started.until_written, 3)
            started.end_jobs()
            await until_over(team_database, batch)
        (result,) = [each async for each in store.results(batch.id)]
    assert [(what, attempt) for what, _, attempt, *_ in started.lines] == [
        ("begins", "1"), ("begins", "2"), ("stops", "1"), ("ends", "2"),
    ]  # fmt: skip
    assert result.attempt == 2


async def test_a_job_fetched_by_a_statement_with_a_lost_answer_is_run(team_database: Database) -> None:
    jobs, slow = jobs_of(2), Slow()
    async with open_jobs(team_database) as store:
        batch = batch_with(jobs)
        async with working(address_of(team_database), slow, parallel=1):
            await store.submit(batch, jobs)
            await slow.until_begun(1)
            (worker_id,) = await until_registered(team_database, "w")
            waiting = next(job.id for job in jobs if job.id != slow.began[0].job.id)
            (row,) = team_database.execute(
                "UPDATE procrastinate_jobs SET status = 'doing', worker_id = %s WHERE status = 'todo' RETURNING id",
                worker_id,
            )
            assert await store.claim(waiting, "lost", by_worker=worker_id) is not None
            team_database.execute("UPDATE job SET delivery = %s WHERE id = %s", row[0], waiting)
            slow.release = True
            await until_over(team_database, batch)
    assert len(slow.ended) == 2


async def test_jobs_that_the_queue_lost_are_queued_again_but_not_later_ones(team_database: Database) -> None:
    later, *jobs = jobs_of(3)
    slow = Slow()
    async with open_jobs(team_database) as store:
        await store.submit(batch_with([later]), [later])
        team_database.execute("UPDATE job SET format = 2")
        team_database.execute("UPDATE procrastinate_jobs SET queue_name = 'jobs-2'")
        async with working(address_of(team_database), slow, parallel=1) as (_, lines):
            await until(lambda: any("later version" in line for line in lines))
            batch = batch_with(jobs)
            await store.submit(batch, jobs)
            await slow.until_begun(1)
            # The worker has no place for it, so that it is still in the queue.
            team_database.execute(
                "DELETE FROM procrastinate_jobs WHERE status = 'todo' AND queue_name = 'jobs-1'"
            )
            slow.release = True
            await until_over(team_database, batch)
    assert len(slow.ended) == 2
    # It was not reported again when it looked for the other one.
    assert sum("later version" in line for line in lines) == 1
    assert team_database.execute("SELECT id FROM job WHERE state = 'waiting'") == [(later.id,)]


async def test_a_worker_ends_after_its_jobs_when_the_tables_change(team_database: Database) -> None:
    jobs, slow = jobs_of(2), Slow()
    address = address_of(team_database)
    async with open_jobs(team_database) as store:
        batch = batch_with(jobs)
        await store.submit(batch, jobs)
        lines: list[str] = []
        worker = QueueWorker(address, slow, report=lines.append, timing=QUICK, name="w")
        work = asyncio.create_task(worker.work())
        await slow.until_begun(1)
        team_database.execute("INSERT INTO migration (version) VALUES (%s)", LATEST + 1)
        await until(lambda: any("ends when its jobs are over" in line for line in lines))
        slow.release = True
        with pytest.raises(TeamError, match="update ua-tui"):
            await asyncio.wait_for(work, PATIENCE)
        counts = await store.counts(batch.id)
    assert (counts.done, counts.waiting) == (1, 1)
    # Nor does another one begin.
    with pytest.raises(TeamError, match="update ua-tui"):
        await QueueWorker(address, answer).work()


async def test_a_batch_without_money_does_not_keep_others_waiting(team_database: Database) -> None:
    poor, rich = jobs_of(3, limit=1, prefix="poor"), jobs_of(1, limit=1, prefix="rich")
    slow = Slow()

    async def run(claim: JobClaim, lost: asyncio.Event) -> Outcome:
        return await (slow if "poor" in claim.job.query else answer)(claim, lost)

    async with open_jobs(team_database) as store:
        first, second = batch_with(poor, limit=1), batch_with(rich, limit=1)
        await store.submit(first, poor)
        await store.submit(second, rich)
        async with working(address_of(team_database), run):
            await until_over(team_database, second)
            slow.release = True
            await until_over(team_database, first)
        counts = await store.counts(first.id)
    # Each costs 0.20 of 1.00 dollar, so that the money suffices one after the other.
    assert counts.done == 3
    assert len(slow.began) == 3
