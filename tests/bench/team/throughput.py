"""What a job costs in the queue when it does nothing."""

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
BOUND = 8.0
"""Milliseconds of wall time for a job, with sixteen at a time."""
WARM = 0.25
"""The share of the jobs that is done before the measurement begins."""
_LEFT = "SELECT count(*) FROM job WHERE state <> 'done'"


def throughput() -> Section:
    """The row of instant jobs with four worker processes."""
    server = Cluster.create(short_folder())
    try:
        rounds = [_seconds(server) * 1_000 for _ in range(ROUNDS)]
    finally:
        server.remove()
    compared = f"{min(rounds):.2f} to {max(rounds):.2f} ms in {ROUNDS} rounds"
    return Section([Row("team: time per instant job", median(rounds), "ms", BOUND, compared)])


def _seconds(server: Cluster) -> float:
    """Seconds per job."""
    database = server.make_team_database()
    try:
        asyncio.run(_fill(database))
        database.execute("ANALYZE")
        with _workers(database) as workers:
            for worker in workers:
                assert worker.stdin is not None
                worker.stdin.write(b"\n")
                worker.stdin.flush()
            # Workers come up at different times: what counts begins when a part of the jobs is done.
            first, started = JOBS, time.perf_counter()
            while first > JOBS * (1 - WARM):
                first, started = database.execute(_LEFT)[0][0], time.perf_counter()
            while database.execute(_LEFT)[0][0]:
                time.sleep(0.02)
            return (time.perf_counter() - started) / first
    finally:
        server.drop(database)


async def _fill(database: Database) -> None:
    jobs = jobs_of(JOBS, limit=1)
    await PostgresJobs(Address.parse(database.url)).submit(batch_with(jobs, limit=50), jobs)


@contextmanager
def _workers(database: Database) -> Iterator[list[subprocess.Popen[bytes]]]:
    command = [sys.executable, "-m", queue_child.__name__, database.url, str(PARALLEL)]
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
