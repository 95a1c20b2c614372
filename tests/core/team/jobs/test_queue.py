from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import TeamError
from core.postgres.address import Address
from core.postgres.schema import LATEST
from core.team.jobs.queue import QueueWorker
from core.team.records import Claim, Outcome
from tests.core.team.jobs.batches import (
    QUICK,
    address_of,
    answer,
    batch_with,
    jobs_of,
    open_jobs,
    until_over,
    working,
)
from tests.paths import PROJECT
from tests.postgres_server import Cluster, Database, short_folder
from tests.tcp_proxy import TcpProxy

pytestmark = pytest.mark.slow


class Slow:
    """Runs jobs until they are released; counts how they began, ended and were stopped."""

    def __init__(self) -> None:
        self.release = asyncio.Event()
        self.began: list[Claim] = []
        self.ended: list[str] = []
        self.stopped: list[str] = []

    async def __call__(self, claim: Claim, lost: asyncio.Event) -> Outcome:
        self.began.append(claim)
        waits = [asyncio.ensure_future(each.wait()) for each in (self.release, lost)]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for each in waits:
            each.cancel()
        if lost.is_set():
            self.stopped.append(claim.job.id)
            raise RuntimeError("stopped")
        self.ended.append(claim.job.id)
        return Outcome(state="done", answer="slow", cost_usd=0.2)


async def eventually(found: Sequence[object], count: int) -> None:
    async with asyncio.timeout(20):
        while len(found) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


@contextmanager
def processes(
    count: int, address: Address, file: Path, seconds: float
) -> Iterator[list[subprocess.Popen[str]]]:
    file.touch()
    started = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.core.team.jobs.worker_child",
                address.url,
                str(file),
                str(seconds),
                f"w{n}",
            ],
            cwd=PROJECT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(count)
    ]
    try:
        yield started
    finally:
        for each in started:
            each.kill()
            each.wait()
            assert each.stdout is not None
            each.stdout.close()


@asynccontextmanager
async def own_cluster() -> AsyncIterator[Cluster]:
    cluster = await asyncio.to_thread(Cluster.create, short_folder())
    try:
        yield cluster
    finally:
        await asyncio.to_thread(cluster.remove)


async def test_every_job_of_a_batch_runs_once(team_database: Database) -> None:
    jobs = jobs_of(20)
    ran: list[str] = []

    async def run(claim: Claim, lost: asyncio.Event) -> Outcome:
        ran.append(claim.job.id)
        return await answer(claim, lost)

    async with open_jobs(team_database) as store:
        batch = batch_with(jobs)
        assert (await store.submit(batch, jobs)).new == 20
        async with working(address_of(team_database), run), working(address_of(team_database), run, name="x"):
            await until_over(store, batch)
        results = [result async for result in store.results(batch.id)]

    assert sorted(ran) == sorted(job.id for job in jobs)
    assert [(each.job.number, each.answer) for each in results] == [
        (job.number, f"answer to {job.query}") for job in jobs
    ]
    assert team_database.execute("SELECT count(*) FROM procrastinate_jobs") == [(0,)]
    assert team_database.execute("SELECT count(*) FROM worker") == [(0,)]


async def test_jobs_begin_in_the_order_of_the_file(team_database: Database) -> None:
    jobs, began = jobs_of(30), []

    async def run(claim: Claim, lost: asyncio.Event) -> Outcome:
        began.append(claim.job.query)
        return await answer(claim, lost)

    async with open_jobs(team_database) as store:
        batch = batch_with(jobs)
        await store.submit(batch, jobs)
        async with working(address_of(team_database), run, parallel=1):
            await until_over(store, batch)

    assert began == [job.query for job in jobs]


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
            await eventually(slow.began, 5)
            await asyncio.sleep(0.5)
            ((charged, running),) = team_database.execute(
                "SELECT max(batch.charged_usd), count(*) FROM batch JOIN job ON job.batch = batch.id"
                " WHERE state = 'running'"
            )
            assert (charged, running, len(slow.began)) == (5, 5, 5)
            slow.release.set()
            await until_over(store, batch)
        counts = await store.counts(batch.id)

    # Each costs 0.20 of 5.20 dollars.
    assert (counts.done, counts.failed) == (26, 14)
    assert round(counts.cost_usd, 6) == 5.2


async def test_a_submitted_job_begins_at_once(team_database: Database) -> None:
    jobs, slow = jobs_of(1), Slow()
    async with open_jobs(team_database) as store:
        # Without the notification it would begin after a minute.
        timing = replace(QUICK, sweep=60)
        async with working(address_of(team_database), slow, timing=timing):
            await asyncio.sleep(0.2)
            await store.submit(batch_with(jobs), jobs)
            async with asyncio.timeout(10):
                await eventually(slow.began, 1)


async def test_the_jobs_of_killed_workers_are_taken_over_and_none_runs_twice(
    team_database: Database, tmp_path: Path
) -> None:
    jobs, log = jobs_of(12), tmp_path / "log"
    async with open_jobs(team_database) as store:
        batch = batch_with(jobs)
        await store.submit(batch, jobs)
        with processes(3, address_of(team_database), log, 0.3) as workers:
            async with asyncio.timeout(20):
                while len({line.split()[3] for line in log.read_text().splitlines()}) < 3:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            workers[0].kill()
            workers[1].kill()
            await until_over(store, batch)
        results = [result async for result in store.results(batch.id)]

    assert {each.state for each in results} == {"done"}
    lines = [line.split() for line in log.read_text().splitlines()]
    assert Counter(job for what, job, *_ in lines if what == "ends") == Counter(job.id for job in jobs)
    assert max(each.attempt for each in results) == 2


async def test_a_stopped_worker_hands_its_jobs_back_at_once(team_database: Database) -> None:
    jobs, first, second = jobs_of(2), Slow(), Slow()
    address = address_of(team_database)
    # Nobody counts as lost within this test.
    timing = replace(QUICK, lost_after=60)
    async with open_jobs(team_database) as store:
        batch = batch_with(jobs)
        await store.submit(batch, jobs)
        async with working(address, first, timing=timing):
            await eventually(first.began, 2)
        assert (await store.counts(batch.id)).waiting == 2
        async with working(address, second, timing=timing):
            await eventually(second.began, 2)
            second.release.set()
            await until_over(store, batch)

    assert len(first.stopped) == 2
    assert {claim.session.attempt for claim in second.began} == {2}


async def test_sessions_go_on_while_the_server_restarts() -> None:
    slow = Slow()
    async with own_cluster() as cluster:
        database = await asyncio.to_thread(cluster.make_team_database)
        jobs, timing = jobs_of(2), replace(QUICK, silence=20, lost_after=30)
        async with open_jobs(database) as store:
            batch = batch_with(jobs)
            await store.submit(batch, jobs)
            async with working(address_of(database), slow, parallel=1, timing=timing) as (_, lines):
                await eventually(slow.began, 1)
                # A crash would lose what this server, unlike others, writes to the disk later.
                await asyncio.to_thread(cluster.stop, "fast")
                # It ends while the database is away.
                slow.release.set()
                await asyncio.sleep(0.5)
                await asyncio.to_thread(cluster.start)
                await until_over(store, batch)

    assert len(slow.began) == len(slow.ended) == 2
    assert any("cannot be reached" in line for line in lines)
    assert any("can be reached again" in line for line in lines)


async def test_a_worker_that_is_cut_off_stops_before_another_one_takes_over(
    team_database: Database, cluster: Cluster
) -> None:
    jobs, cut, other = jobs_of(1), Slow(), Slow()
    address = address_of(team_database)
    proxied = cluster.make_role("proxied", "proxied")
    team_database.execute(f"GRANT owner TO {proxied}")
    events: list[str] = []

    async def watched(claim: Claim, lost: asyncio.Event) -> Outcome:
        try:
            return await cut(claim, lost)
        finally:
            events.append("stopped")

    async def taken(claim: Claim, lost: asyncio.Event) -> Outcome:
        events.append("taken over")
        return await other(claim, lost)

    with TcpProxy("127.0.0.1", cluster.port) as proxy, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PGPASSWORD", "proxied")
        through = Address.parse(proxy.url(cluster.tcp(team_database.name, proxied)))
        async with open_jobs(team_database) as store:
            batch = batch_with(jobs)
            await store.submit(batch, jobs)
            async with working(through, watched, name="cut"):
                await eventually(cut.began, 1)
                proxy.pause()
                async with working(address, taken, name="other"):
                    await eventually(other.began, 1)
                    proxy.resume()
                    other.release.set()
                    await until_over(store, batch)
                    # What the one that was cut off has to say changes nothing.
                    await asyncio.sleep(0.5)
                (result,) = [each async for each in store.results(batch.id)]

    assert events == ["stopped", "taken over"]
    assert (result.state, result.attempt, result.worker) == ("done", 2, "other")


async def test_a_worker_that_was_suspended_stops_at_once_what_another_one_has(
    team_database: Database, tmp_path: Path
) -> None:
    (job,), log = jobs_of(1), tmp_path / "log"

    async def lines(count: int) -> list[list[str]]:
        async with asyncio.timeout(20):
            while len(found := log.read_text().splitlines()) < count:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        return [line.split() for line in found]

    async with open_jobs(team_database) as store:
        batch = batch_with([job])
        await store.submit(batch, [job])
        with processes(2, address_of(team_database), log, 4.0) as workers:
            ((*_, pid),) = await lines(1)
            (suspended,) = [each for each in workers if each.pid == int(pid)]
            suspended.send_signal(signal.SIGSTOP)
            await lines(2)
            suspended.send_signal(signal.SIGCONT)
            # Its heartbeats arrive again, and its job has not noticed the time.
            await until_over(store, batch)
            seen = await lines(4)
        (result,) = [each async for each in store.results(batch.id)]

    assert [(what, attempt) for what, _, attempt, *_ in seen] == [
        ("begins", "1"),
        ("begins", "2"),
        ("stops", "1"),
        ("ends", "2"),
    ]
    assert result.attempt == 2


async def test_a_job_whose_row_of_the_queue_is_lost_is_queued_again(team_database: Database) -> None:
    jobs = jobs_of(3)
    async with open_jobs(team_database) as store:
        batch = batch_with(jobs)
        await store.submit(batch, jobs)
        team_database.execute("DELETE FROM procrastinate_jobs")
        async with working(address_of(team_database), answer):
            await until_over(store, batch)

        assert (await store.counts(batch.id)).done == 3


async def test_a_job_that_was_fetched_by_a_statement_whose_answer_was_lost_is_run(
    team_database: Database,
) -> None:
    jobs, slow = jobs_of(2), Slow()
    async with open_jobs(team_database) as store:
        batch = batch_with(jobs)
        async with working(address_of(team_database), slow, parallel=1, timing=replace(QUICK, lost_after=60)):
            await asyncio.sleep(0.3)
            await store.submit(batch, jobs)
            await eventually(slow.began, 1)
            (worker_id,) = team_database.execute("SELECT id FROM worker")[0]
            waiting = next(job.id for job in jobs if job.id != slow.began[0].job.id)
            (row,) = team_database.execute(
                "UPDATE procrastinate_jobs SET status = 'doing', worker_id = %s WHERE status = 'todo' RETURNING id",
                worker_id,
            )
            assert await store.claim(waiting, "lost", by_worker=worker_id) is not None
            team_database.execute("UPDATE job SET delivery = %s WHERE id = %s", row[0], waiting)
            slow.release.set()
            await until_over(store, batch)

    assert len(slow.ended) == 2


async def test_what_anybody_announces_stops_no_job(team_database: Database) -> None:
    jobs, slow = jobs_of(1), Slow()
    async with open_jobs(team_database) as store:
        batch = batch_with(jobs)
        async with working(address_of(team_database), slow) as (_, lines):
            await store.submit(batch, jobs)
            await eventually(slow.began, 1)
            (number,) = team_database.execute("SELECT id FROM procrastinate_jobs")[0]
            for payload in (
                f'{{"type": "abort_job_requested", "job_id": {number}}}',
                "no JSON",
                "[]",
                '{"type": 1}',
            ):
                for channel in ("procrastinate_any_queue_v1", "procrastinate_queue_v1#jobs-1", "ua_tui"):
                    team_database.execute("SELECT pg_notify(%s, %s)", channel, payload)
            # It is still heard, and before it polls.
            await asyncio.sleep(0.2)
            slow.release.set()
            await until_over(store, batch)
    assert [each.attempt for each in [claim.session for claim in slow.began]] == [1]
    assert not any("failed" in line or "another worker" in line for line in lines)


async def test_a_job_of_a_later_format_is_left_alone(team_database: Database) -> None:
    jobs = jobs_of(2)
    async with open_jobs(team_database) as store:
        await store.submit(batch_with(jobs), jobs)
        team_database.execute("UPDATE job SET format = 2 WHERE id = %s", jobs[0].id)
        team_database.execute(
            "UPDATE procrastinate_jobs SET queue_name = 'jobs-2' WHERE args->>'job_id' = %s", jobs[0].id
        )
        async with working(address_of(team_database), answer) as (_, lines):
            async with asyncio.timeout(20):
                while not any("later version" in line for line in lines):  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            await asyncio.sleep(0.5)

    assert sum("later version" in line for line in lines) == 1
    assert sorted(team_database.execute("SELECT state FROM job")) == [("done",), ("waiting",)]


async def test_a_worker_refuses_tables_of_another_version(team_database: Database) -> None:
    address = address_of(team_database)
    team_database.execute("INSERT INTO migration (version) VALUES (%s)", LATEST + 1)

    with pytest.raises(TeamError, match="update ua-tui"):
        await QueueWorker(address, answer).work()


async def test_a_worker_ends_after_its_jobs_when_the_tables_change(team_database: Database) -> None:
    jobs, slow = jobs_of(2), Slow()
    async with open_jobs(team_database) as store:
        batch = batch_with(jobs)
        await store.submit(batch, jobs)
        lines: list[str] = []
        worker = QueueWorker(address_of(team_database), slow, report=lines.append, timing=QUICK, name="w")
        working = asyncio.create_task(worker.work())
        await eventually(slow.began, 1)
        team_database.execute("INSERT INTO migration (version) VALUES (%s)", LATEST + 1)
        async with asyncio.timeout(20):
            while not any("ends when its jobs are over" in line for line in lines):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        slow.release.set()

        with pytest.raises(TeamError, match="update ua-tui"):
            await asyncio.wait_for(working, 20)
        counts = await store.counts(batch.id)
    assert (counts.done, counts.waiting) == (1, 1)


async def test_times_are_those_of_the_server(
    team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock of this machine is an hour ahead: a job that is handed back does not wait for an hour."""
    import procrastinate.utils

    real = procrastinate.utils.utcnow
    from datetime import timedelta

    monkeypatch.setattr(procrastinate.utils, "utcnow", lambda: real() + timedelta(hours=1))
    jobs, first, second = jobs_of(1), Slow(), Slow()
    address = address_of(team_database)
    async with open_jobs(team_database) as store:
        batch = batch_with(jobs)
        await store.submit(batch, jobs)
        async with working(address, first):
            await eventually(first.began, 1)
        second.release.set()
        async with working(address, second):
            await until_over(store, batch)

    assert second.ended == [jobs[0].id]


async def test_a_batch_without_money_does_not_keep_others_waiting(team_database: Database) -> None:
    poor, rich = jobs_of(3, limit=1, prefix="poor"), jobs_of(1, limit=1, prefix="rich")
    slow = Slow()

    async def run(claim: Claim, lost: asyncio.Event) -> Outcome:
        return await (slow if "poor" in claim.job.query else answer)(claim, lost)

    async with open_jobs(team_database) as store:
        first, second = batch_with(poor, limit=1), batch_with(rich, limit=1)
        await store.submit(first, poor)
        await store.submit(second, rich)
        async with working(address_of(team_database), run):
            await until_over(store, second)
            slow.release.set()
            await until_over(store, first)
        counts = await store.counts(first.id)

    # Each costs 0.20 of 1.00 dollar, so that the money suffices one after the other.
    assert counts.done == 3
    assert len(slow.began) == 3


async def test_a_killed_worker_leaves_nothing_that_a_signal_would(
    team_database: Database, tmp_path: Path
) -> None:
    with processes(1, address_of(team_database), tmp_path / "log", 60) as (worker,):
        async with asyncio.timeout(20):
            while not team_database.execute("SELECT 1 FROM worker"):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        worker.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(worker.wait, 20) == 0

    assert team_database.execute("SELECT count(*) FROM procrastinate_workers") == [(0,)]
