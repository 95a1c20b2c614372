"""What a job costs in the queue when it does nothing: ours against procrastinate alone, in turns."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.bench.table import Row, Section, median
from tests.bench.team import queue_child
from tests.core.team.jobs.batches import batch_with, jobs_of
from tests.postgres_server import Cluster, Database, short_folder
from ua_tui.core.postgres.address import Address
from ua_tui.core.team.jobs.postgres_jobs import PostgresJobs

JOBS, WORKERS, PARALLEL, ROUNDS = 4_000, 4, 4, 5
BOUND = 1.3
WARM = 0.25
"""The share of the jobs that is done before the measurement begins."""
_LEFT = {
    "alone": "SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')",
    "ours": "SELECT count(*) FROM job WHERE state <> 'done'",
}


def throughput() -> Section:
    """The row of instant jobs with four worker processes; each round measures both, one after the other."""
    server = Cluster.create(short_folder())
    try:
        rounds = [{kind: _seconds(server, kind) for kind in _LEFT} for _ in range(ROUNDS)]
    finally:
        server.remove()
    ratios = [each["ours"] / each["alone"] for each in rounds]
    ours, alone = (median([each[kind] for each in rounds]) * 1_000 for kind in ("ours", "alone"))
    compared = (
        f"{ours:.2f} ms to {alone:.2f} ms per job, {min(ratios):.2f} to {max(ratios):.2f} in {ROUNDS} pairs"
    )
    measure = "team: time per instant job, to procrastinate alone"
    return Section([Row(measure, median(ratios), "times", BOUND, compared)])


def _seconds(server: Cluster, kind: str) -> float:
    """Seconds per job."""
    database = server.make_team_database()
    try:
        asyncio.run(_fill(database, kind))
        database.execute("ANALYZE")
        with _workers(database, kind) as workers:
            for worker in workers:
                assert worker.stdin is not None
                worker.stdin.write(b"\n")
                worker.stdin.flush()
            # Workers come up at different times: what counts begins when a part of the jobs is done.
            first, started = JOBS, time.perf_counter()
            while first > JOBS * (1 - WARM):
                first, started = database.execute(_LEFT[kind])[0][0], time.perf_counter()
            while database.execute(_LEFT[kind])[0][0]:
                time.sleep(0.02)
            return (time.perf_counter() - started) / first
    finally:
        server.drop(database)


async def _fill(database: Database, kind: str) -> None:
    address = Address.parse(database.url)
    if kind == "alone":
        app, empty = queue_child.empty_task(address, PARALLEL)
        async with app.open_async():
            await empty.batch_defer_async(*({"job_id": str(number)} for number in range(JOBS)))
        return
    jobs = jobs_of(JOBS, limit=1)
    store = PostgresJobs(address)
    await store.open()
    try:
        await store.submit(batch_with(jobs, limit=50), jobs)
    finally:
        await store.close()


@contextmanager
def _workers(database: Database, kind: str) -> Iterator[list[subprocess.Popen[bytes]]]:
    command = [sys.executable, "-m", queue_child.__name__, kind, database.url, str(PARALLEL)]
    workers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(WORKERS)
    ]
    try:
        for worker in workers:
            assert worker.stdout is not None
            worker.stdout.readline()
        yield workers
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
            for pipe in (worker.stdin, worker.stdout):
                if pipe is not None:
                    pipe.close()
