"""The stores of jobs in SQLite and in PostgreSQL behave the same."""

from __future__ import annotations

import asyncio
import stat
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol

import pytest

from core.errors import TeamError
from core.team.jobs.postgres_jobs import PostgresJobs
from core.team.jobs.sqlite_jobs import SqliteJobs, jobs_path
from core.team.records import Claim, Job, Outcome
from tests.core.team.jobs.batches import address_of, batch_with, jobs_of
from tests.postgres_server import Database


class Desk(Protocol):
    """A store with two workers, of which one can be lost."""

    @property
    def store(self) -> SqliteJobs | PostgresJobs: ...

    async def claim(self, job: Job) -> Claim | None: ...
    async def lose(self) -> None: ...
    async def claim_elsewhere(self, job: Job) -> Claim | None: ...


class LocalDesk:
    def __init__(self, path: Path) -> None:
        self.store = SqliteJobs(path)
        self.lost = SqliteJobs(path)

    async def claim(self, job: Job) -> Claim | None:
        return await self.lost.claim(job.id)

    async def lose(self) -> None:
        await self.lost.close()

    async def claim_elsewhere(self, job: Job) -> Claim | None:
        return await self.store.claim(job.id)


class TeamDesk:
    def __init__(self, database: Database) -> None:
        self.store = PostgresJobs(address_of(database))
        self._database = database
        for number in (1, 2):
            self._execute("INSERT INTO procrastinate_workers OVERRIDING SYSTEM VALUE VALUES (%s)", number)

    def _execute(self, statement: str, *parameters: object) -> None:
        self._database.execute(statement, *parameters)

    async def claim(self, job: Job) -> Claim | None:
        return await self.store.claim(job.id, "one", by_worker=1)

    async def lose(self) -> None:
        self._execute(
            "UPDATE procrastinate_workers SET last_heartbeat = now() - interval '31 s' WHERE id = 1"
        )

    async def claim_elsewhere(self, job: Job) -> Claim | None:
        return await self.store.claim(job.id, "two", by_worker=2)


@pytest.fixture(params=["sqlite", "postgres"])
async def desk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Desk]:
    if request.param == "sqlite":
        local = LocalDesk(jobs_path(tmp_path))
        await local.store.open()
        await local.lost.open()
        yield local
        await local.store.close()
        await local.lost.close()
    else:
        team = TeamDesk(request.getfixturevalue("team_database"))
        await team.store.open()
        yield team
        await team.store.close()


def done(cost: float | None = 0.1) -> Outcome:
    return Outcome(state="done", answer="a", cost_usd=cost, folder="f")


FAILED = Outcome(state="failed", error="broken", cost_usd=0.2)


async def test_the_same_batch_again_changes_nothing(desk: Desk) -> None:
    jobs = jobs_of(3, limit=1)
    batch = batch_with(jobs, limit=10)
    first = await desk.store.submit(batch, jobs)
    claim = await desk.claim(jobs[0])
    assert claim is not None
    assert await desk.store.finish(claim, done())

    again = await desk.store.submit(batch, jobs)

    assert (first.new, first.known, again.new, again.known, again.reopened) == (3, 0, 0, 3, 0)
    assert await desk.claim(jobs[0]) is None
    counts = await desk.store.counts(batch.id)
    assert (counts.done, counts.waiting, round(counts.cost_usd, 6)) == (1, 2, 0.1)


async def test_a_job_of_two_batches_runs_once_and_both_have_its_result(desk: Desk) -> None:
    jobs = jobs_of(2)
    one, two = batch_with(jobs), batch_with(jobs[:1])
    await desk.store.submit(one, jobs)
    assert (await desk.store.submit(two, jobs[:1])).known == 1
    claim = await desk.claim(jobs[0])
    assert claim is not None
    await desk.store.finish(claim, done())

    assert [each.state async for each in desk.store.results(two.id)] == ["done"]
    assert [each.state async for each in desk.store.results(one.id)] == ["done", "waiting"]


async def test_equal_rows_of_a_file_are_one_job_with_a_result_each(desk: Desk) -> None:
    (job,) = jobs_of(1)
    same = [job, Job(id=job.id, query=job.query, number=7)]
    batch = batch_with(same)

    assert (await desk.store.submit(batch, same)).new == 1
    assert [each.job.number async for each in desk.store.results(batch.id)] == [1, 7]
    assert (await desk.store.counts(batch.id)).total == 1


async def test_a_claim_has_what_the_job_needs(desk: Desk) -> None:
    jobs = jobs_of(1, limit=2)
    await desk.store.submit(batch_with(jobs, limit=10), jobs)

    claim = await desk.claim(jobs[0])

    assert claim is not None
    assert (claim.job.query, dict(claim.job.settings)) == (jobs[0].query, {"max_cost_usd": 2})
    assert (claim.session.attempt, claim.session.job, claim.limit_usd) == (1, jobs[0].id, 2)
    assert claim.folder is None


async def test_nobody_gets_a_job_of_a_worker_that_lives(desk: Desk) -> None:
    jobs = jobs_of(1)
    await desk.store.submit(batch_with(jobs), jobs)

    assert await desk.claim(jobs[0]) is not None
    assert await desk.claim_elsewhere(jobs[0]) is None


async def test_a_lost_worker_is_replaced_and_what_it_still_writes_is_refused(desk: Desk) -> None:
    jobs = jobs_of(1, limit=1)
    batch = batch_with(jobs, limit=10)
    await desk.store.submit(batch, jobs)
    stale = await desk.claim(jobs[0])
    assert stale is not None
    assert await desk.store.note(stale, "needs_you", 0.3, "folder")
    await desk.lose()

    claim = await desk.claim_elsewhere(jobs[0])

    assert claim is not None
    assert (claim.session.id, claim.session.attempt) == (stale.session.id, 2)
    assert claim.limit_usd == 1
    assert not await desk.store.note(stale, "running", 0.9)
    assert not await desk.store.finish(stale, done())
    assert not await desk.store.release(stale)
    assert await desk.store.finish(claim, done(0.5))
    (result,) = [each async for each in desk.store.results(batch.id)]
    assert (result.state, result.cost_usd, result.attempt) == ("done", 0.5, 2)


async def test_a_job_that_is_handed_back_is_resumed_at_once(desk: Desk) -> None:
    jobs = jobs_of(1, limit=1)
    batch = batch_with(jobs, limit=10)
    await desk.store.submit(batch, jobs)
    first = await desk.claim(jobs[0])
    assert first is not None
    await desk.store.note(first, "running", 0.25, "folder")

    assert await desk.store.release(first)

    assert (await desk.store.counts(batch.id)).waiting == 1
    claim = await desk.claim_elsewhere(jobs[0])
    assert claim is not None
    assert (claim.session.attempt, claim.limit_usd) == (2, 1)


async def test_a_failed_job_runs_again_only_if_that_is_asked_for(desk: Desk) -> None:
    jobs = jobs_of(2, limit=1)
    batch = batch_with(jobs, limit=10)
    await desk.store.submit(batch, jobs)
    claim = await desk.claim(jobs[0])
    assert claim is not None
    await desk.store.finish(claim, FAILED)

    assert (await desk.store.submit(batch, jobs)).reopened == 0
    assert await desk.claim(jobs[0]) is None
    assert (await desk.store.submit(batch, jobs, retry_failed=True)).reopened == 1
    again = await desk.claim(jobs[0])
    assert again is not None
    # The same session: an action that ran in it is not repeated.
    assert (again.session.id, again.session.attempt) == (claim.session.id, 2)


async def test_the_limit_of_a_batch_is_reserved_by_what_runs(desk: Desk) -> None:
    jobs = jobs_of(4, limit=1)
    batch = batch_with(jobs, limit=2.6)
    await desk.store.submit(batch, jobs)
    one, two, three = [await desk.claim(job) for job in jobs[:3]]
    assert one
    assert two
    assert three
    assert three.limit_usd == pytest.approx(0.6)

    waiting = asyncio.ensure_future(desk.claim(jobs[3]))
    await asyncio.sleep(0.1)
    assert not waiting.done()
    assert await desk.store.finish(one, done(0.1))

    four = await asyncio.wait_for(waiting, 10)
    assert four is not None
    assert four.limit_usd == pytest.approx(0.9)


async def test_a_job_fails_when_the_limit_is_used_up_and_runs_with_a_higher_one(desk: Desk) -> None:
    jobs = jobs_of(2, limit=1)
    batch = batch_with(jobs, limit=1)
    await desk.store.submit(batch, jobs)
    claim = await desk.claim(jobs[0])
    assert claim is not None
    await desk.store.finish(claim, done(1.02))

    assert await desk.claim(jobs[1]) is None
    *_, result = [each async for each in desk.store.results(batch.id)]
    assert (result.state, result.error) == ("failed", "the spending limit of the batch ($1.00) is reached")
    # Nothing is left, so nothing waits again.
    assert (await desk.store.submit(batch, jobs, retry_failed=True)).reopened == 0

    assert (await desk.store.submit(batch_with(jobs, limit=1.5), jobs)).reopened == 1
    again = await desk.claim(jobs[1])
    assert again is not None
    assert again.limit_usd == pytest.approx(0.48)


async def test_another_batch_with_money_takes_a_job_that_failed_at_the_limit(desk: Desk) -> None:
    jobs = jobs_of(2, limit=1)
    await desk.store.submit(batch_with(jobs, limit=1), jobs)
    claim = await desk.claim(jobs[0])
    assert claim is not None
    await desk.store.finish(claim, done(1))
    assert await desk.claim(jobs[1]) is None

    other = batch_with(jobs[1:], limit=1)
    assert (await desk.store.submit(other, jobs[1:])).reopened == 1
    again = await desk.claim(jobs[1])
    assert again is not None
    assert again.limit_usd == 1


async def test_what_a_job_has_cost_counts_in_one_batch(desk: Desk) -> None:
    one, two, three = jobs_of(3, limit=1)
    await desk.store.submit(batch_with([one, two], limit=0.7), [one, two])
    claim = await desk.claim(one)
    assert claim is not None
    await desk.store.finish(claim, Outcome(state="failed", error="too dear", cost_usd=0.7))

    other = batch_with([one, three], limit=1.5)
    assert (await desk.store.submit(other, [one, three])).reopened == 1

    again = await desk.claim(one)
    assert again is not None
    assert again.limit_usd == 1
    await desk.store.finish(again, done(0.9))
    last, left = await desk.claim(three), await desk.claim(two)
    assert last is not None
    assert last.limit_usd == pytest.approx(0.6)
    assert left is not None
    assert left.limit_usd == pytest.approx(0.7)


async def test_what_a_lost_worker_has_spent_counts(desk: Desk) -> None:
    jobs = jobs_of(2, limit=1)
    await desk.store.submit(batch_with(jobs, limit=1.5), jobs)
    claim = await desk.claim(jobs[0])
    assert claim is not None
    await desk.store.note(claim, "running", 0.75)
    await desk.store.release(claim)

    other = await desk.claim(jobs[1])

    assert other is not None
    assert other.limit_usd == pytest.approx(0.75)


@pytest.mark.parametrize("limit", [1.0, None])
async def test_a_job_that_failed_by_the_rest_of_the_batch_runs_again_with_more(
    desk: Desk, limit: float | None
) -> None:
    (job,) = jobs_of(1, limit=limit)
    await desk.store.submit(batch_with([job], limit=0.7), [job])
    claim = await desk.claim(job)
    assert claim is not None
    assert claim.limit_usd == pytest.approx(0.7)
    spent = Outcome(state="failed", error="the session has reached its spending limit", cost_usd=0.72)
    await desk.store.finish(claim, spent)
    assert (await desk.store.submit(batch_with([job], limit=0.7), [job])).reopened == 0

    assert (await desk.store.submit(batch_with([job], limit=1.5), [job])).reopened == 1

    again = await desk.claim(job)
    assert again is not None
    assert again.limit_usd == pytest.approx(limit or 1.5)
    # Its own limit is no reason to run it again.
    await desk.store.finish(again, Outcome(state="failed", error="broken", cost_usd=0.9))
    assert (await desk.store.submit(batch_with([job], limit=5), [job])).reopened == 0


async def test_text_that_no_database_likes_is_stored(desk: Desk) -> None:
    jobs = jobs_of(1)
    batch = batch_with(jobs)
    await desk.store.submit(batch, jobs)
    claim = await desk.claim(jobs[0])
    assert claim is not None

    assert await desk.store.finish(claim, Outcome(state="done", answer="a\0b\ud800 \U0001f600"))
    (result,) = [each async for each in desk.store.results(batch.id)]
    assert result.answer.endswith("\U0001f600")


async def test_results_come_in_pages_and_in_order(desk: Desk) -> None:
    jobs = jobs_of(1201)
    batch = batch_with(jobs)
    await desk.store.submit(batch, list(reversed(jobs)))

    assert [each.job.number async for each in desk.store.results(batch.id)] == list(range(1, 1202))


async def test_what_ended_lately_is_found(desk: Desk) -> None:
    jobs = jobs_of(2)
    batch = batch_with(jobs)
    await desk.store.submit(batch, jobs)
    for job in jobs:
        claim = await desk.claim(job)
        assert claim is not None
        await desk.store.finish(claim, done())
    first, second = await desk.store.finished(batch.id, 0)
    assert first.finished is not None

    assert [each.job.number for each in await desk.store.finished(batch.id, first.finished)] == [2]
    assert second.finished is not None


@pytest.mark.parametrize("count", [5_000, pytest.param(100_000, marks=pytest.mark.slow)])
async def test_many_jobs_are_submitted_in_seconds(desk: Desk, count: int) -> None:
    jobs = jobs_of(count, limit=1)
    batch = batch_with(jobs, limit=50)
    started = time.monotonic()

    assert (await desk.store.submit(batch, jobs)).new == count

    # Some seconds on an idle machine.
    assert time.monotonic() - started < 60
    assert (await desk.store.counts(batch.id)).waiting == count


async def test_the_file_of_the_jobs_is_private_and_a_later_version_is_refused(tmp_path: Path) -> None:
    path = jobs_path(tmp_path)
    store = SqliteJobs(path)
    await store.open()
    assert store._db is not None
    store._db.execute("PRAGMA user_version = 99")
    await store.close()

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(TeamError, match="of a later version of ua-tui"):
        await SqliteJobs(path).open()


async def test_a_file_that_is_no_database_is_explained(tmp_path: Path) -> None:
    path = jobs_path(tmp_path)
    path.parent.mkdir()
    path.write_text("no database at all, but a longer text")

    with pytest.raises(TeamError, match="it is not a database: move it away"):
        await SqliteJobs(path).open()


async def test_the_next_job_is_one_of_a_killed_program_and_a_batch_without_money_is_skipped(
    tmp_path: Path,
) -> None:
    store, killed = SqliteJobs(jobs_path(tmp_path)), SqliteJobs(jobs_path(tmp_path))
    await store.open()
    await killed.open()
    poor, rich = jobs_of(2, limit=1, prefix="poor"), jobs_of(1, limit=1, prefix="rich")
    await store.submit(batch_with(poor, limit=1), poor)
    await store.submit(batch_with(rich, limit=1), rich)
    first = await killed.next()
    second = await store.next()
    assert first
    assert second
    assert (first.job.id, second.job.id) == (poor[0].id, rich[0].id)
    assert await store.next() is None
    await killed.note(first, "running", 0.1, "the folder")
    await killed.close()

    again = await store.next()

    assert again is not None
    assert (again.job.id, again.session.attempt, again.folder) == (poor[0].id, 2, "the folder")
    await store.close()


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (done(), "done"),
        (FAILED, "failed"),
        (Outcome(state="failed"), "failed"),
        (Outcome(state="cancelled"), "failed"),
    ],
)
async def test_the_end_of_a_job_is_that_of_its_session(
    team_database: Database, outcome: Outcome, state: str
) -> None:
    desk = TeamDesk(team_database)
    await desk.store.open()
    try:
        (job,) = jobs_of(1)
        await desk.store.submit(batch_with([job]), [job])
        lost = await desk.claim(job)
        assert lost is not None
        await desk.lose()
        claim = await desk.claim_elsewhere(job)
        assert claim is not None
        assert not await desk.store.finish(lost, done())
        rows = "SELECT state, finished_at IS NULL FROM session"
        assert team_database.execute(rows) == [("starting", True)]

        # The earlier attempt had the answer, so that no session begins.
        assert await desk.store.finish(claim, outcome)

        assert team_database.execute(rows) == [(state, False)]
    finally:
        await desk.store.close()
