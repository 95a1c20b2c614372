"""The state of a team's database: the version of its tables, what a role may do, and how much work there is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ua_tui.core.postgres.connection import SCHEMA, Connection, rows_of
from ua_tui.core.postgres.schema import VERSION_QUERY

ALIVE_SECONDS = 30.0
"""For so long a worker may be silent, by the server's clock, before its jobs are another's."""

LATE_SECONDS = 300.0
"""A batch of a schedule that could not be submitted for so long after it was due did not run."""
SCHEDULES = f"""\
SELECT s.*, CASE WHEN is_late THEN next_at ELSE missed_at END AS missed,
    CASE WHEN is_late THEN 'no worker is alive: start one with `ua-tui worker`'
        WHEN missed_at IS NULL THEN '' ELSE missed_why END AS why
FROM (SELECT *, coalesce(next_at < now() - interval '{LATE_SECONDS} s', false) AS is_late FROM schedule) AS s
"""  # noqa: S608 -- made of constants
"""Schedules with the time at which each did not run, if there is one, and why."""

Rights = Literal["owner", "worker", "member", "none"]
"""What a role may do: all, as the owner of the tables or a member of it; take part; or nothing."""


@dataclass(frozen=True, kw_only=True)
class WorkState:
    """How much work there is.

    Attributes:
        jobs: how many jobs are in which state; those that run are `lost` if nobody heard of their worker for
            `ALIVE_SECONDS`.
        workers: those that the team knows, the one that was seen last first: name, version, how many jobs they run at
            once (`parallel`), and how long ago their last heartbeat was (`silent_seconds`).
        held_seconds: how long nobody claims a job, as the provider refuses requests; 0 if they do.
        schedules: the batches that are submitted again and again, the next one first, with the fields of
            `_SCHEDULE_STATES`; times are in seconds since the epoch, and that at which it did not run is there until
            somebody has looked.
    """

    jobs: Mapping[str, int]
    workers: tuple[Mapping[str, Any], ...]
    held_seconds: float = 0.0
    schedules: tuple[Mapping[str, Any], ...] = ()

    @property
    def alive(self) -> int:
        """How many workers are alive."""
        return sum(worker["silent_seconds"] <= ALIVE_SECONDS for worker in self.workers)


async def read_version(db: Connection) -> int | None:
    """The version of the tables; None if there are none, or none that this role sees."""
    from psycopg.errors import InsufficientPrivilege, UndefinedTable

    try:
        rows = await rows_of(db, VERSION_QUERY)
    except (InsufficientPrivilege, UndefinedTable):
        return None
    return rows[0][0] if rows else None


async def read_rights(db: Connection) -> Rights:
    """What the role of the connection may do with the tables, if there are any."""
    rows = await rows_of(
        db,
        "SELECT CASE WHEN pg_get_userbyid(nspowner) = current_user THEN 'owner'"
        " WHEN pg_has_role(current_user, nspowner, 'USAGE') THEN 'worker'"
        " WHEN has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')"
        " AND has_any_column_privilege(c.oid, 'INSERT') THEN 'member' ELSE 'none' END"
        " FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = 'job'"
        " WHERE n.nspname = %s",
        (SCHEMA,),
    )
    return rows[0][0] if rows else "none"


async def read_work(db: Connection) -> WorkState:
    """How much work there is, as far as this role sees it."""
    workers = await rows_of(
        db,
        "SELECT name, version, parallel, greatest(extract(epoch FROM now() - seen_at), 0)::float8 AS silent_seconds"
        " FROM worker ORDER BY seen_at DESC, name",
    )
    ((held,),) = await rows_of(
        db, "SELECT (SELECT greatest(extract(epoch FROM not_before - now()), 0)::float8 FROM claiming)"
    )
    return WorkState(
        jobs={state: jobs for state, jobs in await rows_of(db, _JOBS, (ALIVE_SECONDS,)) if jobs},
        workers=tuple(row._asdict() for row in workers),
        held_seconds=held,
        schedules=tuple(row._asdict() for row in await rows_of(db, _SCHEDULE_STATES)),
    )


_JOBS = """\
WITH lost AS (SELECT count(*) AS jobs FROM job WHERE state = 'running' AND NOT EXISTS (
    SELECT FROM worker w WHERE w.id = job.worker_id AND w.seen_at > now() - make_interval(secs => %s)))
SELECT state, sum(jobs)::bigint FROM (
    SELECT CASE WHEN c.state = 'waiting' AND b.paused THEN 'held' ELSE c.state END AS state, c.jobs
        FROM batch_count c JOIN batch b ON b.id = c.batch
    UNION ALL SELECT 'running', -jobs FROM lost UNION ALL SELECT 'lost', jobs FROM lost) AS counted GROUP BY state
"""
_SCHEDULE_STATES = f"""\
SELECT s.name, s.owner::text, s.every, s.zone, extract(epoch FROM s.next_at)::float8 AS next_at,
    extract(epoch FROM s.last_at)::float8 AS last_at, b.run AS last_run, coalesce((
        SELECT jsonb_object_agg(c.state, c.jobs) FROM batch_count c WHERE c.batch = b.id AND c.jobs > 0), '{{}}')
    AS last_jobs, extract(epoch FROM s.missed)::float8 AS missed_at, s.why AS missed_why
FROM ({SCHEDULES}) AS s LEFT JOIN batch b ON b.id = s.last_batch ORDER BY s.next_at, s.name
"""  # noqa: S608 -- made of constants
