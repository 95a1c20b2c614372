"""Workers of a team on a real database: what they run, hand back and take over, whatever happens to them."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

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
from ua_tui.core.postgres.connection import Connections
from ua_tui.core.postgres.schema import LATEST
from ua_tui.core.postgres.state import ALIVE_SECONDS
from ua_tui.core.team.jobs.operations import Operations
from ua_tui.core.team.jobs.postgres_jobs import PostgresJobs
from ua_tui.core.team.jobs.queue import SILENCE_SECONDS, QueueWorker
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
    assert team_database.execute("SELECT count(*) FROM worker") == [(0,)]


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
    # Without an announcement nothing would begin within an hour.
    async with (
        open_jobs(team_database) as store,
        working(address_of(team_database), slow, beat=3600) as (_, lines),
    ):
        await until_listening(team_database)
        await store.submit(batch_with(first), first)
        await slow.until_begun(1)
        for payload in ("no JSON", "queue", "", f"command {slow.began[0].session.id}"):
            team_database.execute("SELECT pg_notify('ua_tui', %s)", payload)
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
        results = [result async for result in store.results(batch.id)]
    assert {each.state for each in results} == {"done"}
    assert Counter(job for what, job, *_ in started.lines if what == "ends") == Counter(
        job.id for job in jobs
    )
    assert Counter(each.attempt for each in results) == {1: 8, 2: 4}


async def test_stopped_workers_return_jobs(team_database: Database) -> None:
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
    assert SILENCE_SECONDS + QUICK < ALIVE_SECONDS
    monkeypatch.setenv("PGPASSWORD", "owner")
    with TcpProxy("127.0.0.1", cluster.port) as proxy:
        through = Address.parse(proxy.url(team_database.tcp))
        async with open_jobs(team_database) as store:
            batch = batch_with(jobs)
            await store.submit(batch, jobs)
            async with working(through, cut, name="cut", clock=clock):
                await cut.until_begun(1)
                await until_registered(team_database, "cut")
                proxy.pause()
                clock.now += SILENCE_SECONDS + 1
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


async def test_a_job_that_is_over_is_not_stopped_when_the_worker_is_cut_off(
    team_database: Database, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    (over, cut), slow, clock, released = jobs_of(2), Slow(), ManualClock(), asyncio.Event()
    monkeypatch.setenv("PGPASSWORD", "owner")

    async def run(claim: JobClaim, lost: asyncio.Event) -> Outcome:
        if claim.job.id == cut.id:
            return await slow(claim, lost)
        await released.wait()
        return Outcome(state="done")

    with TcpProxy("127.0.0.1", cluster.port) as proxy:
        through = Address.parse(proxy.url(team_database.tcp))
        async with open_jobs(team_database) as store:
            await store.submit(batch_with([over, cut]), [over, cut])
            async with working(through, run, name="cut", clock=clock) as (_, lines):
                await slow.until_begun(1)
                await until_registered(team_database, "cut")
                proxy.pause()
                released.set()
                await until(lambda: f"job {over.id[:8]} done" in lines)
                clock.now += SILENCE_SECONDS + 1
                await until(lambda: slow.stopped)
                stopped = [line.split()[1] for line in lines if "is stopped" in line]
                proxy.resume()
    assert stopped == [cut.id[:8]]


async def test_heartbeats_come_while_all_other_connections_are_in_use(team_database: Database) -> None:
    (job,), slow = jobs_of(1), Slow()
    shared = Connections(address_of(team_database), largest=1)
    await shared.open()
    beats = "SELECT running, seen_at FROM worker WHERE name = 'w'"
    try:
        async with open_jobs(team_database) as store:
            batch = batch_with([job])
            await store.submit(batch, [job])
            async with working(replace(address_of(team_database), connections=shared), slow):
                await slow.until_begun(1)
                async with shared.borrowed():
                    (before,) = await until_in_thread(lambda: team_database.execute(beats))
                    await until_in_thread(lambda: team_database.execute(beats) > [(1, before[1])])
                slow.release = True
                await until_over(team_database, batch)
    finally:
        await shared.close()
    assert slow.stopped == []


async def test_an_earlier_attempt_ends_before_the_same_worker_begins_the_next(
    team_database: Database,
) -> None:
    (job,), slow = jobs_of(1), Slow()
    async with open_jobs(team_database) as store:
        batch = batch_with([job])
        await store.submit(batch, [job])
        async with working(address_of(team_database), slow):
            await slow.until_begun(1)
            # Another worker took this one for lost.
            team_database.execute("UPDATE job SET state = 'waiting', worker_id = NULL")
            await slow.until_begun(2)
            assert slow.stopped == [job.id]
            slow.release = True
            await until_over(team_database, batch)
        (result,) = [each async for each in store.results(batch.id)]
    assert (result.state, result.attempt, slow.ended) == ("done", 2, [job.id])


async def test_a_job_that_is_made_private_while_it_runs_goes_on(team_database: Database) -> None:
    (job,), slow = jobs_of(1), Slow()
    async with open_jobs(team_database) as store:
        batch = batch_with([job])
        await store.submit(batch, [job])
        async with working(address_of(team_database), slow):
            await slow.until_begun(1)
            team_database.execute("UPDATE job SET shared = NOT shared")
            for _beat in range(5):
                seen = team_database.execute("SELECT seen_at FROM worker")
                await until_in_thread(lambda: team_database.execute("SELECT seen_at FROM worker") != seen)  # noqa: B023
            slow.release = True
            await until_over(team_database, batch)
    assert (len(slow.began), slow.stopped, slow.ended) == (1, [], [job.id])


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


async def test_a_job_claimed_by_a_statement_with_a_lost_answer_is_run(team_database: Database) -> None:
    jobs, slow = jobs_of(2), Slow()
    async with open_jobs(team_database) as store:
        batch = batch_with(jobs)
        async with working(address_of(team_database), slow, parallel=1):
            await store.submit(batch, jobs)
            await slow.until_begun(1)
            (worker_id,) = await until_registered(team_database, "w")
            assert await store.claim(worker_id, "w") is not None
            slow.release = True
            await until_over(team_database, batch)
    assert len(slow.ended) == 2


async def test_a_claim_may_take_longer_than_two_heartbeats(
    team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    (job,), claim = jobs_of(1), PostgresJobs.claim

    async def slowly(jobs: PostgresJobs, worker: int, name: str, **more: Any) -> JobClaim | None:
        claimed = await claim(jobs, worker, name, **more)
        for _beat in range(4 if claimed is not None else 0):
            seen = team_database.execute("SELECT seen_at FROM worker")
            await until_in_thread(lambda: team_database.execute("SELECT seen_at FROM worker") != seen)  # noqa: B023
        return claimed

    monkeypatch.setattr(PostgresJobs, "claim", slowly)
    async with open_jobs(team_database) as store:
        batch = batch_with([job])
        await store.submit(batch, [job])
        async with working(address_of(team_database), answer) as (_, lines):
            await until_over(team_database, batch)
        (result,) = [each async for each in store.results(batch.id)]
    assert (result.state, result.attempt) == ("done", 1)
    assert not any("another worker" in line for line in lines)


async def test_a_job_whose_worker_is_lost_again_and_again_fails(team_database: Database) -> None:
    jobs = jobs_of(2)
    async with open_jobs(team_database) as store:
        batch = batch_with(jobs)
        await store.submit(batch, jobs)
        for lost in range(1, 4):
            number = await store.add_worker(f"w{lost}", "1", 1)
            claim = await store.claim(number, f"w{lost}")
            assert claim is not None
            assert claim.job.id == jobs[0].id
            lose_worker(team_database, f"w{lost}")
            _, _, freed = await store.beat(99, "other", "1", 1, 0)
            assert freed == ({"waiting": 1} if lost < 3 else {"failed": 1})
        first, second = [each async for each in store.results(batch.id)]
        assert (first.state, second.state) == ("failed", "waiting")
        assert "its worker was lost 3 times" in first.error
        # Asked for again, it is tried as often again.
        assert (await store.submit(batch, jobs, retry_failed=True)).reopened == 1
        assert team_database.execute("SELECT max(lost) FROM job") == [(0,)]


async def test_a_worker_that_was_only_away_was_not_lost(team_database: Database) -> None:
    jobs, lost = jobs_of(1), "SELECT lost FROM job"
    async with open_jobs(team_database) as store:
        await store.submit(batch_with(jobs), jobs)
        for is_claimed_again in (False, True):
            number = await store.add_worker("away", "1", 1)
            claim = await store.claim(number, "away")
            assert claim is not None
            lose_worker(team_database, "away")
            await store.beat(99, "other", "1", 1, 0)
            assert team_database.execute(lost) == [(1,)]
            next_claim = await store.claim(99, "other") if is_claimed_again else None
            # It is back, and hands the job back that it has stopped.
            assert not await store.record(claim.session, "waiting")
            assert team_database.execute(lost) == [(0,)]
            await store.remove_worker(number)
        assert next_claim is not None
        assert await store.finish(next_claim.session, Outcome(state="done"))


async def test_a_worker_without_a_model_runs_the_demo_and_leaves_the_rest(team_database: Database) -> None:
    jobs = jobs_of(3)
    jobs[2] = replace(jobs[2], settings={"demo": True})
    async with open_jobs(team_database) as store:
        await store.submit(batch_with(jobs), jobs)
        async with working(address_of(team_database), answer, only_demo=True):
            done = "SELECT query FROM job WHERE state = 'done'"
            await until_in_thread(lambda: team_database.execute(done) == [("query 3",)])
    assert team_database.execute("SELECT DISTINCT state, attempt FROM job WHERE query <> 'query 3'") == [
        ("waiting", 0)
    ]


async def test_later_jobs_are_left_alone(team_database: Database) -> None:
    later, *jobs = jobs_of(3)
    async with open_jobs(team_database) as store:
        await store.submit(batch_with([later]), [later])
        team_database.execute("UPDATE job SET format = 2")
        async with working(address_of(team_database), answer, parallel=1):
            batch = batch_with(jobs)
            await store.submit(batch, jobs)
            await until_over(team_database, batch)
    assert team_database.execute("SELECT id FROM job WHERE state = 'waiting'") == [(later.id,)]


async def test_a_worker_ends_after_its_jobs_when_the_tables_change(team_database: Database) -> None:
    jobs, slow = jobs_of(2), Slow()
    address = address_of(team_database)
    async with open_jobs(team_database) as store:
        batch = batch_with(jobs)
        await store.submit(batch, jobs)
        lines: list[str] = []
        worker = QueueWorker(address, slow, report=lines.append, beat=QUICK, name="w")
        work = asyncio.create_task(worker.work())
        await slow.until_begun(1)
        team_database.execute("INSERT INTO migration (version) VALUES (%s)", LATEST + 1)
        await until(lambda: any("ends when its jobs have ended" in line for line in lines))
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


async def test_a_storm_of_refusals_lets_the_whole_team_pause_and_fails_no_job(
    team_database: Database,
) -> None:
    jobs, began = jobs_of(3), []

    async def run(claim: JobClaim, stop: asyncio.Event) -> Outcome:
        began.append(claim.job.id)
        if len(began) == 1:
            return Outcome(state="put_off", error="no more requests for now")
        return await answer(claim, stop)

    async with open_jobs(team_database) as store:
        batch = batch_with(jobs)
        await store.submit(batch, jobs)
        ((before,),) = team_database.execute("SELECT now()")
        async with working(address_of(team_database), run, parallel=1) as (_, lines):
            await until(lambda: any("the workers of the team will claim no jobs" in line for line in lines))
            paused = "SELECT count(*) FROM claiming WHERE not_before > %s + interval '50 s'"
            await until_in_thread(lambda: team_database.execute(paused, before) == [(1,)])
            other = await store.add_worker("other", "1", 1)
            assert await store.claim(other, "other") is None
            # It is handed back after the pause has begun.
            waiting = "SELECT count(*) FROM job WHERE state = 'waiting'"
            await until_in_thread(lambda: team_database.execute(waiting) == [(3,)])
            team_database.execute("UPDATE claiming SET not_before = now()")
            await until_over(team_database, batch)
        assert (await store.counts(batch.id)).done == 3
    assert began[0] == began[1]


async def test_a_job_that_is_parked_gives_its_place_back_until_somebody_decides(
    team_database: Database,
) -> None:
    jobs, began = jobs_of(2), []

    async def run(claim: JobClaim, stop: asyncio.Event) -> Outcome:
        began.append(claim.job.query)
        if len(began) == 1:
            return Outcome(state="parked", error="it has been running for 2h", cost_usd=0.1)
        return await answer(claim, stop)

    async with open_jobs(team_database) as store:
        batch = batch_with(jobs, limit=5)
        await store.submit(batch, jobs)
        async with working(address_of(team_database), run, parallel=1):
            await until_in_thread(
                lambda: (
                    [s for (s,) in team_database.execute("SELECT state FROM job ORDER BY position")]
                    == ["needs_you", "done"]
                )
            )
            parked = team_database.execute(
                "SELECT worker_id, error, charged_usd FROM job WHERE state = 'needs_you'"
            )
            assert parked == [(None, "it has been running for 2h", 0.1)]
            assert await Operations(address_of(team_database)).change("retry", [jobs[0].id]) == 1
            await until_over(team_database, batch)
    assert began == ["query 1", "query 2", "query 1"]
