from __future__ import annotations

import asyncio

from core.team.records import Claim, Outcome
from tests.core.team.jobs.batches import (
    address_of,
    answer,
    batch_with,
    jobs_of,
    open_jobs,
    until_over,
    working,
)
from tests.postgres_server import Database


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
