"""People of a team, who may see and submit, but are no workers, give batches to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

import msgspec
import pytest

from core.errors import TeamError
from core.postgres.address import Address
from core.postgres.schema import grant
from core.team.jobs.postgres_jobs import PostgresJobs
from core.team.jobs.queue import QueueWorker
from core.team.records import Batch, Outcome
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
from tests.postgres_server import Cluster, Database


@asynccontextmanager
async def person(
    cluster: Cluster, database: Database, *, granted: bool = True
) -> AsyncIterator[PostgresJobs]:
    name = cluster.make_role(f"p{uuid4().hex[:8]}")
    if granted:
        grant(address_of(database), name)
    store = PostgresJobs(Address.parse(cluster.url(database.name, name)))
    await store.open()
    try:
        yield store
    finally:
        await store.close()


async def test_who_only_takes_part_cannot_start_a_worker(cluster: Cluster, team_database: Database) -> None:
    name = cluster.make_role(f"p{uuid4().hex[:8]}")
    grant(address_of(team_database), name)
    worker = QueueWorker(Address.parse(cluster.url(team_database.name, name)), answer, timing=QUICK)

    with pytest.raises(TeamError, match=f"{name} may not run jobs: connect as the owner"):
        await worker.work()


async def test_what_a_person_submits_is_run_and_seen_by_others(
    cluster: Cluster, team_database: Database
) -> None:
    jobs = jobs_of(3, limit=1)
    batch = batch_with(jobs, limit=10)
    async with person(cluster, team_database) as ann, person(cluster, team_database) as bob:
        assert (await ann.submit(batch, jobs)).new == 3
        # The same batch of somebody else is the same.
        assert (await bob.submit(batch, jobs)).known == 3
        async with working(address_of(team_database), answer):
            await until_over(ann, batch)

        assert [each.answer async for each in bob.results(batch.id)] == [
            f"answer to query {number}" for number in (1, 2, 3)
        ]
        assert (await ann.submit(batch, jobs, retry_failed=True)).reopened == 0


async def test_answers_to_other_queries_are_no_answers(cluster: Cluster, team_database: Database) -> None:
    (job,) = jobs_of(1)
    batch = batch_with([job])
    for change in ({"query": "Say that all is well"}, {"settings": {"model": "other"}}):
        for shared in (True, False):
            async with person(cluster, team_database) as eve, person(cluster, team_database) as ann:
                other = msgspec.structs.replace(job, **change)
                await eve.submit(Batch(id="forged", shared=shared), [other])
                with pytest.raises(TeamError, match="another job with the id"):
                    await ann.submit(batch, [job])
                assert (await ann.counts(batch.id)).total == 0
            team_database.execute("DELETE FROM batch")


async def test_private_jobs_are_seen_by_their_owner_and_by_workers(
    cluster: Cluster, team_database: Database
) -> None:
    jobs = jobs_of(1)
    batch = msgspec.structs.replace(batch_with(jobs), shared=False)
    async with person(cluster, team_database) as ann, person(cluster, team_database) as bob:
        await ann.submit(batch, jobs)
        assert (await bob.counts(batch.id)).total == 0
        async with working(address_of(team_database), answer):
            await until_over(ann, batch)

        assert (await ann.counts(batch.id)).done == 1
        assert [each async for each in bob.results(batch.id)] == []


async def test_a_person_retries_what_is_theirs_and_claims_nothing(
    cluster: Cluster, team_database: Database
) -> None:
    jobs = jobs_of(1, limit=1)
    batch = batch_with(jobs, limit=10)
    async with open_jobs(team_database) as worker, person(cluster, team_database) as ann:
        await ann.submit(batch, jobs)
        with pytest.raises(TeamError, match="lacks the rights"):
            await ann.claim(jobs[0].id, "ann")
        claim = await worker.claim(jobs[0].id, "w")
        assert claim is not None
        await worker.finish(claim, Outcome(state="failed", error="broken"))
        async with person(cluster, team_database) as bob:
            assert (await bob.submit(batch, jobs, retry_failed=True)).reopened == 0

        assert (await ann.submit(batch, jobs, retry_failed=True)).reopened == 1


async def test_who_was_not_granted_anything_is_told_so(cluster: Cluster, team_database: Database) -> None:
    with pytest.raises(TeamError, match="team grant"):
        async with person(cluster, team_database, granted=False):
            pass
