"""Batches and workers for the tests of this folder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256

from core.postgres.address import Address
from core.postgres.schema import LATEST
from core.team.jobs.batch_file import batch_of
from core.team.jobs.postgres_jobs import PostgresJobs
from core.team.jobs.queue import QueueWorker, Timing
from core.team.jobs.running import RunJob
from core.team.records import Batch, Claim, Job, Outcome
from tests.postgres_server import Database

QUICK = Timing(lost_after=1.5, beat=0.2, silence=1.0, sweep=0.2, forgotten=0.2, wait=0.5)


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


def batch_with(jobs: list[Job], limit: float | None = None) -> Batch:
    return batch_of(jobs, title="test", max_cost_usd=limit)


def address_of(database: Database) -> Address:
    # Until the last migration is there, the version is only noted.
    database.execute("INSERT INTO migration SELECT %s ON CONFLICT DO NOTHING", LATEST)
    return Address.parse(database.url)


@asynccontextmanager
async def open_jobs(database: Database) -> AsyncIterator[PostgresJobs]:
    store = PostgresJobs(address_of(database), lost_after=QUICK.lost_after)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def working(
    address: Address, run: RunJob, *, parallel: int = 2, timing: Timing = QUICK, name: str = "w"
) -> AsyncIterator[tuple[QueueWorker, list[str]]]:
    lines: list[str] = []
    worker = QueueWorker(address, run, parallel=parallel, report=lines.append, timing=timing, name=name)
    task = asyncio.create_task(worker.work())
    try:
        yield worker, lines
    finally:
        worker.stop()
        await asyncio.wait_for(task, 20)


async def answer(claim: Claim, _lost: asyncio.Event) -> Outcome:
    return Outcome(state="done", answer=f"answer to {claim.job.query}", cost_usd=0.1)


async def until_over(store: PostgresJobs, batch: Batch, within: float = 20.0) -> None:
    async with asyncio.timeout(within):
        counts = await store.counts(batch.id)
        while counts.over < counts.total:
            await asyncio.sleep(0.05)
            counts = await store.counts(batch.id)
