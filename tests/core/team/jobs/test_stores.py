"""The store of the jobs of a team."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest

from tests.core.team.jobs.batches import SLOW, batch_with, jobs_of, open_jobs
from tests.postgres_server import Database
from ua_tui.core.team.jobs.postgres_jobs import PostgresJobs
from ua_tui.core.team.records import Job, JobBatch, JobClaim, JobResult, Outcome


class Desk:
    """A store with two workers, of which one can be lost."""

    def __init__(self, database: Database, store: PostgresJobs) -> None:
        self.store = store
        self._database = database
        for name in ("one", "two"):
            database.execute("INSERT INTO worker (name, version, parallel) VALUES (%s, '1', 1)", name)

    async def claim(self, job: Job) -> JobClaim | None:
        return await self._claim(job, 1, "one")

    async def lose(self) -> None:
        self._database.execute("UPDATE worker SET seen_at = now() - interval '31 s' WHERE id = 1")
        await self.store.beat(2, "two", "1", 1, 0)

    async def claim_elsewhere(self, job: Job) -> JobClaim | None:
        return await self._claim(job, 2, "two")

    async def _claim(self, job: Job, number: int, name: str) -> JobClaim | None:
        # The next one is this one.
        self._database.execute("UPDATE job SET position = CASE id WHEN %s THEN 0 ELSE 1 END", job.id)
        self._database.execute(
            "UPDATE batch SET paused = id <> (SELECT batch FROM job WHERE id = %s)", job.id
        )
        claim = await self.store.claim(number, name)
        if claim is not None and claim.job.id != job.id:
            assert await self.store.record(claim.session, "waiting")
            return None
        return claim

    async def begin(self, job: Job) -> JobClaim:
        """Claim a job, which must be possible."""
        claim = await self.claim(job)
        assert claim is not None
        return claim

    async def run(self, job: Job, outcome: Outcome) -> JobClaim:
        """Claim a job, and let it end."""
        claim = await self.begin(job)
        assert await self.store.finish(claim.session, outcome)
        return claim

    async def submit(self, jobs: list[Job], limit: float | None = None) -> JobBatch:
        """Submit a new batch of jobs."""
        batch = batch_with(jobs, limit=limit)
        await self.store.submit(batch, jobs)
        return batch

    async def results(self, batch: JobBatch) -> list[JobResult]:
        """The results of a batch so far."""
        return [each async for each in self.store.results(batch.id)]


@pytest.fixture
async def desk(team_database: Database) -> AsyncIterator[Desk]:
    async with open_jobs(team_database) as store:
        yield Desk(team_database, store)


def done(cost: float | None = 0.1) -> Outcome:
    return Outcome(state="done", answer="a", cost_usd=cost, folder="f")


FAILED = Outcome(state="failed", error="broken", cost_usd=0.2)


async def test_the_same_batch_again_changes_nothing(desk: Desk) -> None:
    jobs = jobs_of(3, limit=1)
    batch = batch_with(jobs, limit=10)
    first = await desk.store.submit(batch, jobs)
    await desk.run(jobs[0], done())
    again = await desk.store.submit(batch, jobs)
    assert (first.new, first.known, again.new, again.known, again.reopened) == (3, 0, 0, 3, 0)
    assert await desk.claim(jobs[0]) is None
    counts = await desk.store.counts(batch.id)
    assert (counts.done, counts.waiting, round(counts.cost_usd, 6)) == (1, 2, 0.1)


async def test_a_job_of_two_batches_runs_once_and_both_have_its_result(desk: Desk) -> None:
    jobs = jobs_of(2)
    one, two = await desk.submit(jobs), batch_with(jobs[:1])
    assert (await desk.store.submit(two, jobs[:1])).known == 1
    await desk.run(jobs[0], done())
    assert [each.state for each in await desk.results(two)] == ["done"]
    assert [each.state for each in await desk.results(one)] == ["done", "waiting"]


async def test_a_result_has_all_that_came_of_the_job(desk: Desk) -> None:
    (job,) = jobs_of(1)
    batch = await desk.submit([job])
    end = Outcome(state="done", answer="a", tokens=2**33, model="m", files=("work_products/ä b.md", "{x}"))
    await desk.run(job, end)
    (result,) = await desk.results(batch)
    assert (result.tokens, result.model, result.files) == (end.tokens, end.model, end.files)


async def test_equal_rows_of_a_file_are_one_job_with_a_result_each(desk: Desk) -> None:
    (job,) = jobs_of(1)
    same = [job, Job(id=job.id, query=job.query, number=7)]
    batch = batch_with(same)
    assert (await desk.store.submit(batch, same)).new == 1
    assert [each.job.number for each in await desk.results(batch)] == [1, 7]
    assert (await desk.store.counts(batch.id)).total == 1


async def test_a_claim_has_what_the_job_needs_and_nobody_else_gets_it(desk: Desk) -> None:
    (job,) = jobs_of(1, limit=2)
    await desk.submit([job], limit=10)
    claim = await desk.begin(job)
    assert (claim.job.query, dict(claim.job.settings)) == (job.query, {"max_cost_usd": 2})
    assert (claim.session.attempt, claim.session.job, claim.limit_usd) == (1, job.id, 2)
    assert claim.folder is None
    assert await desk.claim_elsewhere(job) is None


async def test_a_lost_worker_is_replaced_and_what_it_still_writes_is_refused(desk: Desk) -> None:
    (job,) = jobs_of(1, limit=1)
    batch = await desk.submit([job], limit=10)
    stale = await desk.begin(job)
    assert await desk.store.record(stale.session, "needs_you", 0.3, "folder")
    await desk.lose()
    claim = await desk.claim_elsewhere(job)
    assert claim is not None
    assert (claim.session.id, claim.session.attempt, claim.limit_usd) == (stale.session.id, 2, 1)
    assert not await desk.store.record(stale.session, "running", 0.9)
    assert not await desk.store.finish(stale.session, done())
    assert not await desk.store.record(stale.session, "waiting")
    assert await desk.store.finish(claim.session, done(0.5))
    (result,) = await desk.results(batch)
    assert (result.state, result.cost_usd, result.attempt) == ("done", 0.5, 2)


async def test_a_job_that_is_handed_back_is_resumed_at_once(desk: Desk) -> None:
    (job,) = jobs_of(1, limit=1)
    batch = await desk.submit([job], limit=10)
    first = await desk.begin(job)
    await desk.store.record(first.session, "running", 0.25, "folder")
    assert await desk.store.record(first.session, "waiting")
    assert (await desk.store.counts(batch.id)).waiting == 1
    claim = await desk.claim_elsewhere(job)
    assert claim is not None
    assert (claim.session.attempt, claim.limit_usd) == (2, 1)


async def test_a_failed_job_runs_again_only_if_that_is_asked_for(desk: Desk) -> None:
    jobs = jobs_of(2, limit=1)
    batch = await desk.submit(jobs, limit=10)
    claim = await desk.run(jobs[0], FAILED)
    assert (await desk.store.submit(batch, jobs)).reopened == 0
    assert await desk.claim(jobs[0]) is None
    assert (await desk.store.submit(batch, jobs, retry_failed=True)).reopened == 1
    again = await desk.begin(jobs[0])
    # The same session: an action that ran in it is not repeated.
    assert (again.session.id, again.session.attempt) == (claim.session.id, 2)


async def test_running_jobs_reserve_a_batchs_limit(desk: Desk) -> None:
    jobs = jobs_of(4, limit=1)
    await desk.submit(jobs, limit=2.6)
    one, _two, three = [await desk.begin(job) for job in jobs[:3]]
    assert three.limit_usd == pytest.approx(0.6)
    assert await desk.claim(jobs[3]) is None
    assert await desk.store.finish(one.session, done(0.1))
    assert (await desk.begin(jobs[3])).limit_usd == pytest.approx(0.9)


async def test_a_job_fails_when_the_limit_is_used_up_and_runs_with_a_higher_one(desk: Desk) -> None:
    jobs = jobs_of(2, limit=1)
    batch = await desk.submit(jobs, limit=1)
    await desk.run(jobs[0], done(1.02))
    assert await desk.claim(jobs[1]) is None
    *_, result = await desk.results(batch)
    assert (result.state, result.error) == ("failed", "the spending limit of the batch ($1.00) is reached")
    # Nothing is left, so nothing waits again.
    assert (await desk.store.submit(batch, jobs, retry_failed=True)).reopened == 0
    assert (await desk.store.submit(batch_with(jobs, limit=1.5), jobs)).reopened == 1
    assert (await desk.begin(jobs[1])).limit_usd == pytest.approx(0.48)


async def test_another_batch_with_money_takes_a_job_that_failed_at_the_limit(desk: Desk) -> None:
    jobs = jobs_of(2, limit=1)
    await desk.submit(jobs, limit=1)
    await desk.run(jobs[0], done(1))
    assert await desk.claim(jobs[1]) is None
    other = batch_with(jobs[1:], limit=1)
    assert (await desk.store.submit(other, jobs[1:])).reopened == 1
    assert (await desk.begin(jobs[1])).limit_usd == 1


async def test_what_a_job_has_cost_counts_in_one_batch(desk: Desk) -> None:
    one, two, three = jobs_of(3, limit=1)
    await desk.submit([one, two], limit=0.7)
    await desk.run(one, Outcome(state="failed", error="too dear", cost_usd=0.7))
    other = batch_with([one, three], limit=1.5)
    assert (await desk.store.submit(other, [one, three])).reopened == 1
    assert (await desk.run(one, done(0.9))).limit_usd == 1
    assert (await desk.begin(three)).limit_usd == pytest.approx(0.6)
    assert (await desk.begin(two)).limit_usd == pytest.approx(0.7)


async def test_what_a_lost_worker_has_spent_counts(desk: Desk) -> None:
    jobs = jobs_of(2, limit=1)
    await desk.submit(jobs, limit=1.5)
    claim = await desk.begin(jobs[0])
    await desk.store.record(claim.session, "running", 0.75)
    await desk.store.record(claim.session, "waiting")
    assert (await desk.begin(jobs[1])).limit_usd == pytest.approx(0.75)


@pytest.mark.parametrize("limit", [1.0, None])
async def test_a_job_that_failed_by_its_batch_runs_again_with_more(desk: Desk, limit: float | None) -> None:
    (job,) = jobs_of(1, limit=limit)
    await desk.submit([job], limit=0.7)
    spent = Outcome(state="failed", error="the session has reached its spending limit", cost_usd=0.72)
    assert (await desk.run(job, spent)).limit_usd == pytest.approx(0.7)
    assert (await desk.store.submit(batch_with([job], limit=0.7), [job])).reopened == 0
    assert (await desk.store.submit(batch_with([job], limit=1.5), [job])).reopened == 1
    again = await desk.run(job, Outcome(state="failed", error="broken", cost_usd=0.9))
    assert again.limit_usd == pytest.approx(limit or 1.5)
    # Its own limit is no reason to run it again.
    assert (await desk.store.submit(batch_with([job], limit=5), [job])).reopened == 0


async def test_text_that_no_database_likes_is_stored(desk: Desk) -> None:
    (job,) = jobs_of(1)
    batch = await desk.submit([job])
    await desk.run(job, Outcome(state="done", answer="a\0b\ud800 \U0001f600"))
    (result,) = await desk.results(batch)
    assert result.answer.endswith("\U0001f600")


async def test_results_come_in_pages_and_in_order(desk: Desk) -> None:
    jobs = jobs_of(1201)
    batch = await desk.submit(list(reversed(jobs)))
    assert (await desk.store.counts(batch.id)).waiting == 1201
    assert [each.job.number for each in await desk.results(batch)] == list(range(1, 1202))


async def test_a_large_batch_may_take_longer_to_submit(
    team_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    team_database.execute(SLOW)
    async with open_jobs(team_database) as store:
        jobs = jobs_of(200)
        monkeypatch.setattr("ua_tui.core.team.jobs.postgres_jobs.ANSWER_S", 0.3)
        submitted = await store.submit(batch_with(jobs), jobs)
    assert submitted.new == 200


async def test_what_ended_lately_is_found(desk: Desk) -> None:
    jobs = jobs_of(2)
    batch = await desk.submit(jobs)
    for job in jobs:
        await desk.run(job, done())
    first, second = [each async for each in desk.store.results(batch.id, 0)]
    assert first.finished is not None
    assert second.finished is not None
    assert [each.job.number async for each in desk.store.results(batch.id, first.finished)] == [2]


@pytest.mark.parametrize("outcome", [done(), FAILED, Outcome(state="cancelled")], ids=lambda each: each.state)
async def test_the_end_of_a_job_is_that_of_its_session(
    desk: Desk, team_database: Database, outcome: Outcome
) -> None:
    (job,) = jobs_of(1)
    await desk.submit([job])
    lost = await desk.begin(job)
    await desk.lose()
    claim = await desk.claim_elsewhere(job)
    assert claim is not None
    assert not await desk.store.finish(lost.session, done())
    rows = "SELECT state, finished_at IS NULL FROM session"
    assert team_database.execute(rows) == [("starting", True)]
    # The earlier attempt had the answer, so that no session begins.
    assert await desk.store.finish(claim.session, outcome)
    state = "done" if outcome.state == "done" else "failed"
    assert team_database.execute(rows) == [(state, False)]


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("UPDATE worker SET seen_at = now() - interval '31 s'", "no worker is alive: the jobs wait"),
        ("UPDATE batch SET paused = true", "the batch is paused"),
        ("UPDATE claiming SET not_before = now() + interval '1 minute'", "the provider refuses requests"),
        ("UPDATE batch SET max_cost_usd = NULL", r"limit of owner \(\$1.50 a day"),
    ],
)
async def test_it_is_known_why_a_job_is_not_claimed(
    team_database: Database, statement: str, why: str
) -> None:
    jobs = jobs_of(2, limit=1)
    batch = batch_with(jobs)
    async with open_jobs(team_database) as store:
        await store.submit(batch, jobs)
        assert "no worker is alive" in await store.obstacle(batch.id)
        number = await store.add_worker("w", "1", 1)
        team_database.execute("UPDATE job SET state = 'done', cost_usd = 1 WHERE id = %s", jobs[0].id)
        # What is left of the batch is less than what is left of the day.
        team_database.execute("UPDATE batch SET max_cost_usd = 1.4")
        team_database.execute("INSERT INTO member (owner, max_cost_day) VALUES (current_user, 1.5)")
        assert await store.obstacle(batch.id) == ""
        team_database.execute(statement)
        assert re.search(why, await store.obstacle(batch.id))
        claimed = await store.claim(number, "w")
        assert (claimed is None) is ("worker" not in statement)
        await store.remove_worker(number)
