"""The state of a team's database: the version of its tables, what a role may do, and how much work there is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ua_tui.core.postgres.connection import SCHEMA
from ua_tui.core.postgres.schema import VERSION_QUERY

if TYPE_CHECKING:
    import psycopg

ALIVE_SECONDS = 30.0
"""For so long a worker may be silent, by the server's clock, before its jobs are another's."""

LATE_SECONDS = 300.0
"""A batch of a schedule that could not be submitted for so long after it was due did not run."""
SCHEDULES = f"""\
SELECT s.*, CASE WHEN is_late THEN next_at ELSE missed_at END AS missed,
    CASE WHEN is_late THEN 'no worker is alive' WHEN missed_at IS NULL THEN '' ELSE missed_why END AS why
FROM (SELECT *, coalesce(next_at < now() - interval '{LATE_SECONDS} s', false) AS is_late FROM schedule) AS s
"""  # noqa: S608 -- made of constants
"""Schedules with the time at which each did not run, if there is one, and why."""

Rights = Literal["owner", "worker", "member", "none"]
"""What a role may do: all, as the owner of the tables or a member of it; take part; or nothing."""


@dataclass(frozen=True, kw_only=True)
class WorkerState:
    """A worker: its name, the version of its program, how many jobs it runs at once, and how long it is silent.

    Attributes:
        silent_seconds: since its last heartbeat, by the server's clock.
    """

    name: str
    version: str
    parallel: int
    silent_seconds: float


@dataclass(frozen=True, kw_only=True)
class WorkState:
    """How much work there is.

    Attributes:
        sessions: how many sessions are in which state, `lost` if nobody heard of it for `ALIVE_SECONDS`; those that
            have ended for more than a day are left out.
        jobs: how many jobs are in which state.
        workers: those that the team knows, the one that was seen last first.
        oldest_seconds: how long the oldest batch waits of which a job waits; None if none does.
        held_seconds: how long nobody claims a job, as the provider refuses requests; 0 if they do.
        schedules: the batches that are submitted again and again, the next one first, with the fields of
            `_SCHEDULE_STATES`; times are in seconds since the epoch, and that at which it did not run is there until
            somebody has looked.
    """

    sessions: Mapping[str, int]
    jobs: Mapping[str, int]
    workers: tuple[WorkerState, ...]
    oldest_seconds: float | None = None
    held_seconds: float = 0.0
    schedules: tuple[Mapping[str, Any], ...] = ()

    @property
    def alive(self) -> int:
        """How many workers are alive."""
        return sum(worker.silent_seconds <= ALIVE_SECONDS for worker in self.workers)


async def read_version(db: psycopg.AsyncConnection[Any]) -> int | None:
    """The version of the tables; None if there are none, or none that this role sees."""
    row = await _row(
        db,
        "SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = %s AND c.relname = 'migration'"
        " AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT'))",
        SCHEMA,
    )
    if not row[0]:
        return None
    found = await (await db.execute(VERSION_QUERY.encode())).fetchone()
    return found[0] if found else None


async def read_rights(db: psycopg.AsyncConnection[Any]) -> Rights:
    """What the role of the connection may do with the tables, if there are any."""
    row = await _row(
        db,
        "SELECT pg_get_userbyid(nspowner) = current_user, pg_has_role(current_user, nspowner, 'USAGE'),"
        " has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = %s"
        " UNION ALL SELECT false, false, false LIMIT 1",
        SCHEMA,
    )
    owner, worker, usage = row
    if owner or worker:
        return "owner" if owner else "worker"
    if not usage:
        return "none"
    table = f"{SCHEMA}.job"
    row = await _row(
        db,
        "SELECT coalesce(has_table_privilege(to_regclass(%s), 'SELECT'), false)"
        " AND coalesce(has_any_column_privilege(to_regclass(%s), 'INSERT'), false)",
        table,
        table,
    )
    return "member" if row[0] else "none"


async def read_work(db: psycopg.AsyncConnection[Any]) -> WorkState:
    """How much work there is, as far as this role sees it."""
    from psycopg.rows import dict_row

    # A session that could not start has written nothing of its own: its job says how it ended. One whose worker is
    # gone cannot write that it is.
    sessions = await db.execute(
        "SELECT state, count(*) FROM (SELECT coalesce(s.finished_at, j.finished_at) AS finished_at, s.job,"
        " greatest(s.seen_at, w.seen_at) AS seen_at,"
        " CASE WHEN j.state IN ('done', 'failed', 'waiting') THEN j.state WHEN j.state = 'cancelled' THEN 'failed'"
        " WHEN s.state NOT IN ('done', 'failed')"
        " AND greatest(s.seen_at, w.seen_at) < now() - make_interval(secs => %s) THEN 'lost'"
        " WHEN s.state = 'idle' AND j.id IS NOT NULL THEN 'starting'"
        " ELSE s.state END AS state FROM session s LEFT JOIN job j ON j.id = s.job"
        " LEFT JOIN worker w ON w.id = j.worker_id) AS known"
        " WHERE (finished_at IS NULL OR finished_at > now() - interval '1 day')"
        " AND (state <> 'lost' OR job IS NOT NULL OR seen_at > now() - interval '1 day') GROUP BY state",
        (ALIVE_SECONDS,),
    )
    counted = await sessions.fetchall()
    jobs = await (
        await db.execute(
            "SELECT CASE WHEN c.state = 'waiting' AND b.paused THEN 'held' ELSE c.state END, sum(c.jobs)::bigint"
            " FROM batch_count c JOIN batch b ON b.id = c.batch WHERE c.jobs > 0 GROUP BY 1"
        )
    ).fetchall()
    seen = await db.execute(
        "SELECT name, version, parallel, extract(epoch FROM now() - seen_at)::float8 FROM worker"
        " ORDER BY seen_at DESC, name"
    )
    workers = await seen.fetchall()
    oldest, held = await _row(
        db,
        "SELECT (SELECT extract(epoch FROM now() - min(b.submitted_at))::float8 FROM batch_count c"
        " JOIN batch b ON b.id = c.batch WHERE c.state = 'waiting' AND c.jobs > 0 AND NOT b.paused),"
        " (SELECT greatest(extract(epoch FROM not_before - now()), 0)::float8 FROM claiming)",
    )
    async with db.cursor(row_factory=dict_row) as cursor:
        schedules = await (await cursor.execute(_SCHEDULE_STATES.encode())).fetchall()
    return WorkState(
        sessions=dict(counted),
        jobs=dict(jobs),
        workers=tuple(
            WorkerState(name=name, version=version, parallel=parallel, silent_seconds=max(seconds, 0.0))
            for name, version, parallel, seconds in workers
        ),
        oldest_seconds=oldest,
        held_seconds=held,
        schedules=tuple(schedules),
    )


_SCHEDULE_STATES = f"""\
SELECT s.name, s.owner::text, s.every, s.zone, extract(epoch FROM s.next_at)::float8 AS next_at,
    extract(epoch FROM s.last_at)::float8 AS last_at, b.run AS last_run, coalesce((
        SELECT jsonb_object_agg(c.state, c.jobs) FROM batch_count c WHERE c.batch = b.id AND c.jobs > 0), '{{}}')
    AS last_jobs, extract(epoch FROM s.missed)::float8 AS missed_at, s.why AS missed_why
FROM ({SCHEDULES}) AS s LEFT JOIN batch b ON b.id = s.last_batch ORDER BY s.next_at, s.name
"""  # noqa: S608 -- made of constants


async def read_capacity(db: psycopg.AsyncConnection[Any]) -> tuple[int, int]:
    """How many connections the server accepts from an ordinary role, and how many are open."""
    most, used = await _row(
        db,
        "SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,"
        " (SELECT coalesce(sum(numbackends), 0)::int FROM pg_stat_database)",
    )
    return most, used


async def _row(db: psycopg.AsyncConnection[Any], statement: str, *parameters: Any) -> tuple[Any, ...]:
    cursor = await db.execute(statement.encode(), parameters or None)
    row: tuple[Any, ...] | None = await cursor.fetchone()
    assert row is not None
    return row
