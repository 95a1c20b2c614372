"""People of a team, who may see and submit, but are no workers, give batches to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

import msgspec
import pytest

from tests.core.team.jobs.batches import (
    address_of,
    answer,
    batch_with,
    jobs_of,
    open_jobs,
    until_over,
    working,
)
from tests.postgres_server import Cluster, Database
from ua_tui.core.errors import TeamError
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.schema import grant, sharing
from ua_tui.core.team.jobs.postgres_jobs import PostgresJobs
from ua_tui.core.team.jobs.queue import QueueWorker
from ua_tui.core.team.records import JobBatch, Outcome
from ua_tui.tui.team.reporters import submitted_line


def add_person(cluster: Cluster, database: Database, *, granted: bool = True) -> Address:
    """Make a role, with the rights of who takes part; returns its address of the database."""
    name = cluster.make_role(f"p{uuid4().hex[:8]}")
    if granted:
        grant(address_of(database), name)
    return Address.parse(cluster.url(database.name, name))


@asynccontextmanager
async def people(cluster: Cluster, database: Database) -> AsyncIterator[tuple[PostgresJobs, PostgresJobs]]:
    """The stores of two people."""
    addresses = [add_person(cluster, database) for _ in range(2)]
    async with sharing(addresses[0], 2) as ann, sharing(addresses[1], 2) as bob:
        yield PostgresJobs(ann), PostgresJobs(bob)


async def test_a_person_may_not_work_and_strangers_nothing(cluster: Cluster, team_database: Database) -> None:
    with pytest.raises(TeamError, match="may not run jobs: connect as the owner"):
        await QueueWorker(add_person(cluster, team_database), answer).work()
    with pytest.raises(TeamError, match="team grant"):
        async with sharing(add_person(cluster, team_database, granted=False), 1):
            pass


async def test_what_a_person_submits_runs_and_all_see_it(cluster: Cluster, team_database: Database) -> None:
    jobs = jobs_of(3, limit=1)
    batch = batch_with(jobs, limit=10)
    async with people(cluster, team_database) as (ann, bob):
        assert (await ann.submit(batch, jobs)).new == 3
        # The same batch of somebody else is the same.
        assert (await bob.submit(batch, jobs)).known == 3
        async with working(address_of(team_database), answer):
            await until_over(team_database, batch)
        assert [each.answer async for each in bob.results(batch.id)] == [
            f"answer to query {number}" for number in (1, 2, 3)
        ]
        assert (await ann.submit(batch, jobs, retry_failed=True)).reopened == 0


async def test_answers_to_other_queries_are_no_answers(cluster: Cluster, team_database: Database) -> None:
    (job,) = jobs_of(1)
    batch = batch_with([job])
    async with people(cluster, team_database) as (eve, ann):
        for change in ({"query": "Say that all is well"}, {"settings": {"model": "other"}}):
            for shared in (True, False):
                other = msgspec.structs.replace(job, **change)
                await eve.submit(JobBatch(id="forged", shared=shared), [other])
                with pytest.raises(TeamError, match="already has a job with the same id"):
                    await ann.submit(batch, [job])
                assert (await ann.counts(batch.id)).total == 0
                team_database.execute("DELETE FROM batch")


async def test_a_person_retries_theirs_and_claims_nothing(cluster: Cluster, team_database: Database) -> None:
    jobs = jobs_of(1, limit=1)
    batch = batch_with(jobs, limit=10)
    async with open_jobs(team_database) as worker, people(cluster, team_database) as (ann, bob):
        await ann.submit(batch, jobs)
        with pytest.raises(TeamError, match="lacks the necessary rights"):
            await ann.claim(1, "ann")
        claim = await worker.claim(1, "w")
        assert claim is not None
        await worker.finish(claim.session, Outcome(state="failed", error="broken"))
        for who, reopened, others in ((bob, 0, 1), (ann, 1, 0)):
            submitted = await who.submit(batch, jobs, retry_failed=True)
            assert (submitted.reopened, submitted.others) == (reopened, others)
            assert ("failed for other people (--again" in submitted_line(submitted, 1)) is bool(others)
