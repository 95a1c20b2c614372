"""Batches and workers for the tests of this folder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any

from tests.postgres_server import Database
from tests.waiting import PATIENCE, until_in_thread
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.schema import LATEST, sharing
from ua_tui.core.team.jobs.batch_file import batch_of
from ua_tui.core.team.jobs.postgres_jobs import PostgresJobs
from ua_tui.core.team.jobs.queue import QueueWorker
from ua_tui.core.team.jobs.running import RunJob
from ua_tui.core.team.records import Job, JobBatch, JobClaim, Outcome

QUICK = 0.2
"""Seconds between the heartbeats of a worker that looks often; a test says when one is lost (`lose_worker`), which no
busy machine decides."""

SLOW = """\
CREATE FUNCTION ua_tui.be_slow() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_sleep(0.5); RETURN NULL; END $$;
CREATE TRIGGER be_slow AFTER INSERT ON ua_tui.job FOR EACH STATEMENT EXECUTE FUNCTION ua_tui.be_slow()
"""
"""Makes a server slow that stores jobs."""


def jobs_of(count: int, limit: float | None = None, prefix: str = "query") -> list[Job]:
    settings = {} if limit is None else {"max_cost_usd": limit}
    return [
        Job(
            id=sha256(f"{prefix} {number}".encode()).hexdigest()[:32],
            query=f"{prefix} {number}",
            settings=settings,
            number=number,
        )
        for number in range(1, count + 1)
    ]


def batch_with(jobs: list[Job], limit: float | None = None) -> JobBatch:
    return batch_of(jobs, max_cost_usd=limit)


def address_of(database: Database) -> Address:
    # Until the last migration is there, the version is only noted.
    database.execute("INSERT INTO migration SELECT %s ON CONFLICT DO NOTHING", LATEST)
    return Address.parse(database.url)


@asynccontextmanager
async def open_jobs(database: Database) -> AsyncIterator[PostgresJobs]:
    async with sharing(address_of(database), 2) as address:
        yield PostgresJobs(address)


@asynccontextmanager
async def working(
    address: Address, run: RunJob, *, parallel: int = 2, beat: float = QUICK, name: str = "w", **more: Any
) -> AsyncIterator[tuple[QueueWorker, list[str]]]:
    lines: list[str] = []
    more = {"grace": 0.0, **more}
    worker = QueueWorker(address, run, parallel=parallel, report=lines.append, beat=beat, name=name, **more)
    task = asyncio.create_task(worker.work())
    try:
        yield worker, lines
    finally:
        worker.stop()
        await asyncio.wait_for(task, PATIENCE)


async def answer(claim: JobClaim, _lost: asyncio.Event) -> Outcome:
    return Outcome(state="done", answer=f"answer to {claim.job.query}", cost_usd=0.1)


async def until_over(database: Database, batch: JobBatch) -> None:
    """Wait until every job of a batch has ended."""
    ended = (
        "SELECT bool_and(finished_at IS NOT NULL) FROM job JOIN batch_job ON batch_job.job = job.id"
        " WHERE batch_job.batch = %s"
    )
    await until_in_thread(lambda: database.execute(ended, batch.id) == [(True,)])


async def until_registered(database: Database, *names: str) -> list[int]:
    """Wait until workers have registered, which they do beside their first jobs; returns their numbers."""
    known = "SELECT id FROM worker WHERE name = ANY(%s) ORDER BY name"
    await until_in_thread(lambda: len(database.execute(known, list(names))) == len(names))
    return [number for (number,) in database.execute(known, list(names))]


def lose_worker(database: Database, name: str) -> None:
    """Let it be an hour since the last heartbeat of a worker, which must have stopped beating."""
    (row,) = database.execute(
        "UPDATE worker SET seen_at = now() - interval '1 hour' WHERE name = %s RETURNING 1",
        name,
    )
    assert row == (1,)


async def role_of(store: PostgresJobs) -> str:
    """The role as which a store works."""
    return (await store.owner_and_run(""))[0]
