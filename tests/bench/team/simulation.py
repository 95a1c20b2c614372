"""Many workers with synthetic sessions: how the database holds up to a hundred of them.

Everything but the agent and the model is real. `docs/scaling.md` has the figures, and what they mean.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.processes import descendants
from tests.bench.table import Row, Section
from tests.bench.team import simulated_workers
from tests.bench.team.desk import until
from tests.core.team.jobs.batches import batch_with, jobs_of
from tests.postgres_server import Cluster, Database, short_folder
from ua_tui.core.postgres.address import Address
from ua_tui.core.team.jobs.postgres_jobs import PostgresJobs

LEVELS, SLOTS = (10, 30, 100), 4
SESSION_SECONDS, EVENTS = 120.0, 60
MEASURED_SECONDS = 120.0
PROCESSES = 2
CLAIM_MS = 20.0
"""What a claim may take with a hundred workers."""
_SERVER = ("shared_preload_libraries=pg_stat_statements", "max_connections=800")
_FACTS = """
SELECT extract(epoch FROM clock_timestamp()), (SELECT count(*) FROM job WHERE state = 'done'),
    (SELECT count(*) FROM job WHERE state = 'running'),
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
    (SELECT sum(calls) FROM public.pg_stat_statements WHERE toplevel),
    (SELECT sum(wal_bytes) FROM public.pg_stat_statements WHERE toplevel),
    (SELECT sum(pg_total_relation_size(oid)) FROM pg_class
        WHERE relnamespace = 'ua_tui'::regnamespace AND relkind = 'r'),
    (SELECT count(*) FROM piece, regexp_matches(convert_from(data, 'UTF8'), E'\\n', 'g') WHERE path = 'journal.jsonl'),
    (SELECT deadlocks FROM pg_stat_database WHERE datname = current_database())
"""
_CLAIM = """
SELECT sum(calls), sum(total_exec_time), max(max_exec_time) FROM public.pg_stat_statements WHERE query LIKE %s
"""


@dataclass(frozen=True)
class _Facts:
    at: float
    done: int
    running: int
    connections: int
    statements: int
    wal: int
    size: int
    lines: int
    deadlocks: int
    processor: float


def simulation() -> Section:
    """Rows for each number of workers, one after the other, on a server of its own."""
    rows: list[Row] = []
    details: list[str] = []
    for workers in LEVELS:
        row, more = _level(workers)
        rows.append(row)
        details += more
        sys.stderr.write("\n".join([*more, ""]))
    return Section(rows, details)


def _level(workers: int) -> tuple[Row, list[str]]:
    cluster = Cluster.create(short_folder(), _SERVER)
    with tempfile.TemporaryDirectory(prefix="ua-many-", ignore_cleanup_errors=True) as folder:
        try:
            database = cluster.make_team_database()
            database.execute("CREATE EXTENSION pg_stat_statements SCHEMA public")
            asyncio.run(_fill(database, workers * SLOTS * 8))
            database.execute("ANALYZE")
            with _processes(database, workers, Path(folder)):
                return _measured(cluster, database, workers)
        finally:
            cluster.remove()


def _measured(cluster: Cluster, database: Database, workers: int) -> tuple[Row, list[str]]:
    def running() -> int:
        return int(database.execute("SELECT count(*) FROM job WHERE state = 'running'")[0][0])

    until(lambda: running() >= workers * SLOTS * 9 // 10, 300.0, "all slots in use", every=1.0)
    # Sessions that began together end together: the first ones are not measured.
    until(
        lambda: database.execute("SELECT count(*) FROM job WHERE state = 'done'")[0][0] > 0,
        300.0,
        "an end",
        1.0,
    )
    database.execute("SELECT public.pg_stat_statements_reset()")
    first = _facts(cluster, database)
    least, most = workers * SLOTS, first.connections
    while (now := _facts(cluster, database)).at < first.at + MEASURED_SECONDS:
        least, most = min(least, now.running), max(most, now.connections)
        time.sleep(2.0)
    ((calls, took, longest),) = database.execute(_CLAIM, "%claim_job(%")
    jobs, seconds = max(1, now.done - first.done), now.at - first.at
    claim = float(took or 0.0) / max(1, int(calls or 0))
    events = (now.lines - first.lines) / seconds * 3_600
    row = Row(
        f"team: a claim with {workers} workers",
        claim,
        "ms",
        CLAIM_MS,
        f"longest {float(longest or 0.0):.0f} ms; {jobs} jobs in {seconds:.0f} s, "
        f"{least} to {workers * SLOTS} sessions at a time",
    )
    detail = (
        f"team: {workers} workers x {SLOTS}: {events:,.0f} events an hour; {most} connections; "
        f"{(now.statements - first.statements) / seconds:,.0f} statements a second, "
        f"{(now.statements - first.statements) / jobs:.0f} a job; "
        f"server {(now.processor - first.processor) / seconds:.2f} cores, "
        f"{(now.processor - first.processor) / jobs * 1_000:.0f} ms a job; "
        f"WAL {(now.wal - first.wal) / jobs / 1_024:.0f} KB, tables {(now.size - first.size) / jobs / 1_024:.0f} KB "
        f"a job; deadlocks {now.deadlocks}; load {os.getloadavg()[0]:.1f}"
    )
    return row, [detail]


def _facts(cluster: Cluster, database: Database) -> _Facts:
    values: tuple[Any, ...] = database.execute(_FACTS)[0]
    main = int((cluster.folder / "data" / "postmaster.pid").read_text().splitlines()[0])
    used = 0.0
    for each in (main, *descendants(main)):
        with suppress(OSError):
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            # Connections that ended count with the server that waited for them.
            used += sum(map(int, fields[11:15] if each == main else fields[11:13])) / os.sysconf("SC_CLK_TCK")
    done, running, connections, statements, wal, size, lines, deadlocks = map(int, values[1:])
    return _Facts(float(values[0]), done, running, connections, statements, wal, size, lines, deadlocks, used)


async def _fill(database: Database, count: int) -> None:
    jobs = jobs_of(count, limit=1)
    await PostgresJobs(Address.parse(database.url)).submit(batch_with(jobs, limit=100_000), jobs)


@contextmanager
def _processes(database: Database, workers: int, folder: Path) -> Iterator[None]:
    command = [
        sys.executable,
        "-m",
        simulated_workers.__name__,
        database.url,
        str(workers // PROCESSES),
        str(SLOTS),
    ]
    command += [str(SESSION_SECONDS), str(EVENTS), str(folder)]
    running = [subprocess.Popen(command, stdin=subprocess.DEVNULL) for _ in range(PROCESSES)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()
