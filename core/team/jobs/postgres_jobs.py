"""Batches and jobs in a team's database; each step of a job is one statement there."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec

from ua_tui.core.errors import TeamError
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import ANSWER_S, Connection, connected, fetch, rows_of
from ua_tui.core.postgres.schema import VERSION_QUERY
from ua_tui.core.postgres.state import ALIVE_SECONDS
from ua_tui.core.team.jobs.batch_file import NOT_IN_ID
from ua_tui.core.team.jobs.running import PUT_OFF_SECONDS
from ua_tui.core.team.records import (
    FORMAT,
    Counts,
    Job,
    JobBatch,
    JobClaim,
    JobResult,
    Outcome,
    SessionId,
    Submitted,
)

_PAGE = 500
SLOWEST = 100
"""So many jobs a second are submitted at least to a server that answers."""

BEAT_SECONDS = 5.0
"""How long a heartbeat waits for a connection, and then for its answers."""
MOST_LOST = 3
"""So often the worker of a job may be lost; then the job fails."""
MOST_PUT_OFF = 20
"""So often the provider may refuse a job; then the job fails."""
_LOST = (
    f"its worker was lost {MOST_LOST} times while it ran: it may need more memory than a worker has; "
    "`ua-tui team retry` runs it again"
)


class PostgresJobs:
    """Batches and jobs of a team. Every method raises `TeamError` if the database cannot be used."""

    def __init__(self, address: Address) -> None:
        self._address = address

    async def owner_and_run(self, name: str) -> tuple[str, int]:
        """The role as which this program works, and which run of its batches of a name was the last; 0 if none."""
        ((owner, run),) = await self._fetch(
            "SELECT current_user::text, coalesce(max(run), 0) FROM batch WHERE name = %s AND owner = current_user",
            name,
        )
        return owner, run

    async def submit(self, batch: JobBatch, jobs: Sequence[Job], *, retry_failed: bool = False) -> Submitted:
        """Store a batch and its jobs, in one transaction; jobs that are known by their id stay as they are.

        But those that failed at the limit of a batch wait again if this batch has money left for them, and with
        `retry_failed` all that failed or were cancelled. They resume their sessions.
        """
        async with self.connection(len(jobs) / SLOWEST) as db, db.transaction():
            return await self.submit_within(db, batch, jobs, retry_failed=retry_failed)

    async def submit_within(
        self,
        db: Connection,
        batch: JobBatch,
        jobs: Sequence[Job],
        *,
        retry_failed: bool = False,
        owner: str | None = None,
    ) -> Submitted:
        """Do what `submit` does in a transaction, in the name of `owner`, by default that of the connection."""
        first = {job.id: job for job in reversed(jobs)}
        unique = [job for job in jobs if first[job.id] is job]
        new = reopened = 0
        await db.execute(
            "INSERT INTO batch (id, owner, max_cost_usd, shared, name, run)"
            " VALUES (%s, coalesce(%s, current_user), %s, %s, %s, %s) ON CONFLICT DO NOTHING",
            (batch.id, owner, batch.max_cost_usd, batch.shared, batch.name, batch.run),
        )
        # Jobs are locked before their batches everywhere.
        await db.execute(_LOCK_ENDED, ([job.id for job in unique],))
        # No row: it is the batch of somebody else, whose rows are the same.
        found = await rows_of(
            db,
            "UPDATE batch SET max_cost_usd = %s WHERE id = %s AND owner = coalesce(%s, owner)"
            " RETURNING coalesce(charged_usd + 0.01 <= max_cost_usd, true) AS has_funds",
            (batch.max_cost_usd, batch.id, owner),
        )
        funds = bool(found and found[0].has_funds)
        given: dict[str, Any] = {"batch": batch.id, "owner": owner, "shared": batch.shared}
        given |= {"retry": retry_failed, "funds": funds}
        # Two people may submit the same jobs at once: in one order neither waits for the other.
        given |= _columns(sorted(unique, key=lambda job: job.id))
        if found:
            new = (await db.execute(_INSERT, given)).rowcount
            # A schedule submits new jobs only: others may be somebody else's.
            if owner is None and (retry_failed or funds):
                reopened = (await db.execute(_REOPEN, given)).rowcount
        ((same, others),) = await rows_of(db, _SAME, given)
        if same < len(unique):
            # Somebody may have stored others, whose answers are not ours.
            raise TeamError(
                f"the team's database {self._address} already has a job with the same id as one of these, stored by "
                "another member, so nothing was submitted; the owner of the tables can remove it"
            )
        if found:
            await db.execute(
                "INSERT INTO batch_job (batch, number, job)"
                " SELECT %s, * FROM unnest(%s::int[], %s::text[]) ON CONFLICT DO NOTHING",
                (batch.id, [job.number for job in jobs], [job.id for job in jobs]),
            )
        return Submitted(
            new=new, known=len(unique) - new, reopened=reopened, others=others if retry_failed else 0
        )

    async def claim(self, worker_id: int, worker: str, *, only_demo: bool = False) -> JobClaim | None:
        """Begin the next job for a worker, or the next one of the demo; None if there is none for it now."""
        for row in await self._fetch(
            "SELECT *, (SELECT coalesce(cost_usd, 0) FROM job WHERE id = c_job) AS spent"
            " FROM claim_job(%s, %s, %s, %s)",
            *(worker_id, worker, FORMAT, only_demo),
        ):
            session = SessionId(
                id=row.c_session, attempt=row.c_attempt, job=row.c_job, owner=row.c_owner, shared=row.c_shared
            )
            job = Job(id=row.c_job, query=row.c_query, settings=row.c_settings)
            return JobClaim(job=job, session=session, limit_usd=row.c_limit, spent_usd=row.spent)
        return None

    async def record(
        self,
        session: SessionId,
        state: str,
        cost_usd: float | None = None,
        folder: str = "",
        end: Outcome | None = None,
    ) -> bool:
        """Record how far a job is; one that is `waiting` is handed back, so that the next worker resumes it.

        Returns False, and records nothing, if it is another worker's by now.
        """
        ended: list[Any] = [None] * 5
        if end is not None:
            files = [_storable(path) for path in end.files]
            ended = [_storable(end.answer), _storable(end.error), end.tokens, _storable(end.model), files]
        ((recorded,),) = await self._fetch(
            "SELECT record_job(%s, %s, %s::int, %s, %s::float8, %s, %s, %s, %s::bigint, %s, %s::text[])",
            *(session.job, session.id, session.attempt, state, cost_usd, folder, *ended),
        )
        return bool(recorded)

    async def finish(self, session: SessionId, end: Outcome) -> bool:
        """Record how an attempt at a job ended, as `record` does.

        When one is put off the provider refuses requests, and nobody of the team claims a job for a while; one that was
        refused `MOST_PUT_OFF` times fails.
        """
        if end.state == "put_off":
            found = await self._fetch(_PUT_OFF, session.job, session.id, session.attempt, PUT_OFF_SECONDS)
            if not found:
                return False
            why = f"the provider refused it {MOST_PUT_OFF} times: {end.error}; `ua-tui team retry` runs it again"
            refused = found[0].put_off >= MOST_PUT_OFF
            end = Outcome(state="failed", error=why) if refused else Outcome(state="waiting")
        if end.state == "waiting":
            return await self.record(session, "waiting")
        return await self.record(session, end.state, end.cost_usd, end.folder, end)

    # -- workers ------------------------------------------------------------------------------------

    async def add_worker(self, name: str, version: str, parallel: int) -> int:
        """Register a worker; returns its number."""
        await self._fetch("DELETE FROM worker WHERE seen_at < now() - interval '1 day'")
        ((number,),) = await self._fetch(
            "INSERT INTO worker (name, version, parallel) VALUES (%s, %s, %s) RETURNING id",
            name,
            version,
            parallel,
        )
        return int(number)

    async def beat(
        self, worker_id: int, name: str, version: str, parallel: int, running: int
    ) -> tuple[Any, set[SessionId], Counter[str]]:
        """Send the heartbeat of a worker, also of one that was taken for lost and is back, and free lost jobs.

        Returns the `version` of the tables and whether the worker is `draining`, the sessions of the jobs that it runs,
        as the database knows it, and how many jobs of lost workers are `waiting` again or `failed`.
        """
        async with connected(self._address, BEAT_SECONDS) as db:
            (beat,) = await rows_of(db, _BEAT, (worker_id, name, version, parallel, running))
            known = await rows_of(
                db,
                "SELECT session AS id, attempt, id AS job, owner::text, shared FROM job"
                " WHERE worker_id = %s AND state IN ('running', 'needs_you')",
                (worker_id,),
            )
            freed = await rows_of(db, "SELECT free_jobs(%s, %s, %s)", (ALIVE_SECONDS, MOST_LOST, _LOST))
        sessions = {SessionId(**row._asdict()) for row in known}
        return beat, sessions, Counter(state for (state,) in freed)

    async def remove_worker(self, worker_id: int) -> None:
        """Remove a worker that ends."""
        await self._fetch("DELETE FROM worker WHERE id = %s", worker_id)

    # -- what people see ----------------------------------------------------------------------------

    async def counts(self, batch_id: str) -> Counts:
        """How many jobs of a batch are in each state."""
        rows = await self._fetch(
            "SELECT state, count(*) AS jobs, coalesce(sum(cost_usd), 0) AS cost FROM job"
            " WHERE id IN (SELECT job FROM batch_job WHERE batch = %s) GROUP BY state",
            batch_id,
        )
        return Counts(**{row.state: row.jobs for row in rows}, cost_usd=sum(row.cost for row in rows))

    async def obstacle(self, batch_id: str) -> str:
        """Why nobody claims the next job of a batch, as far as this role knows; empty if nothing is in its way."""
        rows = await self._fetch(_OBSTACLE, ALIVE_SECONDS, batch_id)
        return rows[0].why if rows else ""

    async def results(self, batch_id: str, ended_after: float | None = None) -> AsyncIterator[JobResult]:
        """The jobs of a batch in the order of its file, or only those that ended after a time of the server."""
        last = -1
        while True:
            # Page by page: a reader may take its time, and a connection may be lost between two pages.
            rows = await self._fetch(_RESULTS, batch_id, last, ended_after, ended_after, _PAGE)
            for row in rows:
                job = Job(id=row.id, query=row.query, settings=row.settings, number=row.number)
                yield msgspec.convert(row._asdict() | {"job": job}, JobResult)
            if len(rows) < _PAGE:
                return
            last = rows[-1].number

    async def now(self) -> float:
        """The time of the server, in seconds since the epoch."""
        ((now,),) = await self._fetch("SELECT extract(epoch FROM now())::float8")
        return float(now)

    async def _fetch(self, statement: str, *values: Any) -> list[Any]:
        return await fetch(self._address, statement, values)

    def connection(self, more: float = 0.0) -> AbstractAsyncContextManager[Connection]:
        """A connection for statements that are answered soon, or within so many seconds more."""
        return connected(self._address, ANSWER_S + more)


_BEAT = f"""\
INSERT INTO worker (id, name, version, parallel, running) VALUES (%s, %s, %s, %s, %s)
ON CONFLICT (id) DO UPDATE SET seen_at = now(), running = EXCLUDED.running
RETURNING draining, ({VERSION_QUERY}) AS version
"""  # noqa: S608 -- made of constants
_PUT_OFF = """\
WITH counted AS (
    UPDATE job SET put_off = put_off + 1 WHERE id = %s AND session = %s AND attempt = %s AND worker_id IS NOT NULL
    RETURNING put_off
), held AS (
    UPDATE claiming SET not_before = greatest(not_before, now() + make_interval(secs => %s)) FROM counted
) SELECT put_off FROM counted
"""
_INSERT = b"""\
INSERT INTO job (id, batch, owner, shared, query, settings, limit_usd, format, position)
SELECT id, %(batch)s, coalesce(%(owner)s, current_user), %(shared)s, query, settings::jsonb, limit_usd,
    %(format)s, number
FROM unnest(%(ids)s::text[], %(queries)s::text[], %(settings)s::text[], %(limits)s::float8[], %(numbers)s::int[])
    AS given (id, query, settings, limit_usd, number)
ON CONFLICT DO NOTHING
"""
_LOCK_ENDED = b"""\
SELECT FROM job WHERE id = ANY(%s) AND state IN ('failed', 'cancelled') ORDER BY id FOR NO KEY UPDATE
"""
_REOPEN = b"""\
UPDATE job SET state = 'waiting', settings = given.settings::jsonb, limit_usd = given.limit_usd,
    batch = CASE WHEN job.limited THEN %(batch)s ELSE job.batch END
FROM unnest(%(ids)s::text[], %(queries)s::text[], %(settings)s::text[], %(limits)s::float8[])
    AS given (id, query, settings, limit_usd)
WHERE job.id = given.id AND (job.state = 'failed' OR %(retry)s AND job.state = 'cancelled')
    AND job.format <= %(format)s
    AND (CASE WHEN job.limited THEN %(funds)s ELSE %(retry)s END)
"""
_SAME = """\
SELECT count(*), count(*) FILTER (WHERE state IN ('failed', 'cancelled') AND NOT limited) AS others
FROM unnest(%(ids)s::text[], %(queries)s::text[], %(settings)s::text[])
    AS given (id, query, settings) JOIN job USING (id)
WHERE job.query = given.query AND job.settings - %(loose)s::text[] = given.settings::jsonb - %(loose)s::text[]
"""
# As `claim_job` decides it.
_OBSTACLE = """\
SELECT CASE
    WHEN NOT EXISTS (SELECT FROM worker WHERE seen_at > now() - make_interval(secs => %s))
        THEN 'no worker is alive: the jobs wait until one is started with `ua-tui worker`'
    WHEN b.paused THEN 'the batch is paused: the jobs wait until `ua-tui team resume`'
    WHEN EXISTS (SELECT FROM claiming WHERE not_before > now())
        THEN 'the provider refuses requests: the jobs wait for a minute'
    WHEN m.max_cost_day - (SELECT sum(charged_usd) FROM job
            WHERE owner = m.owner AND (finished_at IS NULL OR finished_at > now() - interval '1 day'))
            < least(coalesce(least(j.limit_usd - j.charged_usd, b.max_cost_usd - b.charged_usd), m.max_cost_day / 10),
                greatest(m.max_cost_day, 0.01))
        THEN format('the limit of %%s ($%%s a day) is reached: the jobs wait until less was spent in 24 hours',
            m.owner, to_char(m.max_cost_day, 'FM999999990.009999'))
    ELSE '' END AS why
FROM batch_job n JOIN job j ON j.id = n.job JOIN batch b ON b.id = j.batch LEFT JOIN member m ON m.owner = j.owner
WHERE n.batch = %s AND j.state = 'waiting' ORDER BY n.number LIMIT 1
"""
_RESULTS = """\
SELECT number, id, query, settings, state, attempt, coalesce(worker, '') AS worker, coalesce(session, '') AS session,
    coalesce(answer, '') AS answer, coalesce(error, '') AS error, cost_usd, folder, tokens, model, files,
    extract(epoch FROM started_at)::float8 AS started, extract(epoch FROM finished_at)::float8 AS finished,
    ARRAY(SELECT tool FROM action WHERE action.session = job.session AND action.state = 'running'
        AND checked_by IS NULL AND (action.attempt < job.attempt OR job.finished_at IS NOT NULL)) AS unknown
FROM batch_job JOIN job ON job.id = batch_job.job WHERE batch_job.batch = %s AND number > %s
    AND (%s::float8 IS NULL OR finished_at > to_timestamp(%s)) ORDER BY number LIMIT %s
"""


def _columns(jobs: Sequence[Job]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "loose": list(NOT_IN_ID),
        "ids": [job.id for job in jobs],
        "queries": [job.query for job in jobs],
        "settings": [json.dumps(dict(job.settings)) for job in jobs],
        "limits": [job.settings.get("max_cost_usd") for job in jobs],
        "numbers": [job.number for job in jobs],
    }


def _storable(text: str | None) -> str | None:
    """A text without what PostgreSQL cannot have: NUL and halves of characters."""
    return text and text.replace("\0", "").encode("utf-8", "replace").decode()
