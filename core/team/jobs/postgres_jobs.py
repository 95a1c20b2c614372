"""Batches and jobs in a team's database; each step of a job is one statement there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal

from ua_tui.core.errors import TeamError
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import answering_within, connect_async, make_pool
from ua_tui.core.postgres.problems import missing_extra, reporting
from ua_tui.core.postgres.schema import VERSION_QUERY, check_version
from ua_tui.core.postgres.state import ALIVE_SECONDS
from ua_tui.core.team.jobs.batch_file import NOT_IN_ID
from ua_tui.core.team.records import (
    CHANNEL,
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

if TYPE_CHECKING:
    import psycopg

LOST_AFTER = ALIVE_SECONDS
"""After so many seconds without a heartbeat, by the clock of the server, a worker counts as lost."""
RECORD = (
    "record_job(%(wanted)s, %(session)s, %(attempt)s::int, %(state)s, %(cost)s::float8, %(folder)s,"
    " %(answer)s, %(error)s)"
)
"""The call that records how far a job is, or its end, with `record_parameters`."""
_ANSWER_S = 20.0
"""After so many seconds without an answer to a short statement its connection counts as lost."""
_CHUNK = 5000
_PAGE = 500


def queue_of(job_format: int) -> str:
    """The queue of the jobs of a format: a worker fetches only those that it can run."""
    return f"jobs-{job_format}"


def claim_call(wanted: str, delivered: str) -> str:
    """The call that begins a job, with SQL for its id and for the row of the queue; `claim_of` reads its columns."""
    return (
        f"claim_job({wanted}, ({delivered})::bigint, %(by_worker)s::bigint, %(worker)s,"
        " %(lost_after)s::float8)"
    )


def claim_parameters(worker: str, by_worker: int | None, lost_after: float) -> dict[str, Any]:
    """The parameters of `claim_call`."""
    return {"worker": worker, "by_worker": by_worker, "lost_after": lost_after}


def claim_of(job_id: str, row: dict[str, Any]) -> JobClaim:
    """Make a claim of the columns of `claim_job`."""
    return JobClaim(
        job=Job(id=job_id, query=row["c_query"], settings=row["c_settings"]),
        session=SessionId(
            id=row["c_session"],
            attempt=row["c_attempt"],
            job=job_id,
            owner=row["c_owner"],
            shared=row["c_shared"],
        ),
        limit_usd=row["c_limit"],
    )


def record_parameters(
    claim: JobClaim,
    state: str,
    cost: float | None,
    folder: str,
    answer: str | None = None,
    error: str | None = None,
) -> dict[str, Any]:
    """The parameters of `RECORD`; text is made such that the database can have it."""
    return {
        "wanted": claim.job.id,
        "session": claim.session.id,
        "attempt": claim.session.attempt,
        "state": state,
        "cost": cost,
        "folder": folder,
        "answer": _storable(answer),
        "error": _storable(error),
    }


class PostgresJobs:
    """Implements `JobStore`; open it before use, and close it."""

    def __init__(self, address: Address, *, lost_after: float = LOST_AFTER) -> None:
        self._address = address
        self._lost_after = lost_after
        self._pool = make_pool(address, largest=2)

    async def open(self) -> None:
        """Connect, and check the version of the tables.

        Raises:
            TeamError: the database cannot be reached, or its tables are of another version.
        """
        # A pool tries again for a while, and does not say why it fails.
        async with await connect_async(self._address) as db:
            with reporting(self._address):
                row = await (await db.execute(VERSION_QUERY)).fetchone()
        check_version(row[0] if row else None, self._address)
        await self._pool.open()

    async def close(self) -> None:
        """Close the connections."""
        await self._pool.close()

    async def owner(self) -> str:
        """The role as which this program works."""
        async with self._cursor() as cursor:
            await cursor.execute("SELECT current_user::text AS name")
            row = await cursor.fetchone()
        return str(row["name"]) if row else ""

    async def submit(self, batch: JobBatch, jobs: Sequence[Job], *, retry_failed: bool = False) -> Submitted:
        """Implement `JobStore`; the rows of the queue are inserted in the same transaction."""
        first = {job.id: job for job in reversed(jobs)}
        unique = [job for job in jobs if first[job.id] is job]
        new: set[str] = set()
        reopened: set[str] = set()
        async with self._connection() as db, db.transaction(), db.cursor() as cursor:
            await cursor.execute(
                "INSERT INTO batch (id, title, max_cost_usd, shared) VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING",
                (batch.id, batch.title, batch.max_cost_usd, batch.shared),
            )
            await cursor.execute(
                "UPDATE batch SET max_cost_usd = %s WHERE id = %s"
                " RETURNING coalesce(charged_usd + 0.01 <= max_cost_usd, true)",
                (batch.max_cost_usd, batch.id),
            )
            # No row: it is the batch of somebody else, whose rows are the same.
            found = await cursor.fetchone()
            funds = bool(found and found[0])
            # Two people may submit the same jobs at once: in one order neither waits for the other.
            for chunk in _chunks(sorted(unique, key=lambda job: job.id)) if found is not None else ():
                new |= await self._insert(cursor, batch, chunk)
                if retry_failed or funds:
                    reopened |= await self._reopen(cursor, batch, chunk, retry=retry_failed, funds=funds)
            for chunk in _chunks(unique):
                await self._check_known(cursor, chunk)
            waiting = [job for job in unique if job.id in new or job.id in reopened]
            for chunk in _chunks(waiting):
                await cursor.execute("SELECT queue_jobs(%s::text[])", ([job.id for job in chunk],))
            for chunk in _chunks(jobs) if found is not None else ():
                await cursor.execute(
                    "INSERT INTO batch_job (batch, number, job)"
                    " SELECT %s, * FROM unnest(%s::int[], %s::text[]) ON CONFLICT DO NOTHING",
                    (batch.id, [job.number for job in chunk], [job.id for job in chunk]),
                )
        return Submitted(new=len(new), known=len(unique) - len(new), reopened=len(reopened))

    async def _insert(
        self, cursor: psycopg.AsyncCursor[Any], batch: JobBatch, jobs: Sequence[Job]
    ) -> set[str]:
        await cursor.execute(
            _INSERT,
            {"batch": batch.id, "shared": batch.shared, **_columns(jobs)},
        )
        return {job_id for (job_id,) in await cursor.fetchall()}

    async def _reopen(
        self,
        cursor: psycopg.AsyncCursor[Any],
        batch: JobBatch,
        jobs: Sequence[Job],
        *,
        retry: bool,
        funds: bool,
    ) -> set[str]:
        await cursor.execute(
            _REOPEN,
            {"batch": batch.id, "retry": retry, "funds": funds, **_columns(jobs)},
        )
        return {job_id for (job_id,) in await cursor.fetchall()}

    async def _check_known(self, cursor: psycopg.AsyncCursor[Any], jobs: Sequence[Job]) -> None:
        """Check that the jobs with these ids are these: somebody may have stored others, whose answers are not ours."""
        await cursor.execute(_SAME, {"loose": list(NOT_IN_ID), **_columns(jobs)})
        row = await cursor.fetchone()
        if row is None or row[0] < len(jobs):
            raise TeamError(
                f"the team's database {self._address} has another job with the id of one of these: nothing was "
                "submitted; somebody of the team has stored it, and the owner of the tables can remove it"
            )

    async def claim(self, job_id: str, worker: str, *, by_worker: int | None = None) -> JobClaim | None:
        """Implement `JobStore`; `by_worker` is the number of the worker at procrastinate, which has its heartbeats."""
        parameters = claim_parameters(worker, by_worker, self._lost_after) | {"wanted": job_id}
        while True:
            async with self._cursor() as cursor:
                await cursor.execute(
                    f"SELECT * FROM {claim_call('%(wanted)s', 'NULL')}",  # noqa: S608
                    parameters,
                )
                row = await cursor.fetchone()
            if row and row["verdict"] == "claimed":
                return claim_of(job_id, row)
            if not row or row["verdict"] != "wait":
                return None
            await asyncio.sleep(1.0)

    async def note(
        self,
        claim: JobClaim,
        state: Literal["running", "needs_you"],
        cost_usd: float | None,
        folder: str = "",
    ) -> bool:
        """Implement `JobStore`."""
        return await self._record(record_parameters(claim, state, cost_usd, folder))

    async def finish(self, claim: JobClaim, outcome: Outcome) -> bool:
        """Implement `JobStore`."""
        end = outcome
        return await self._record(
            record_parameters(claim, end.state, end.cost_usd, end.folder, end.answer, end.error)
        )

    async def release(self, claim: JobClaim) -> bool:
        """Implement `JobStore`; a worker also puts the row of the queue back."""
        return await self._record(record_parameters(claim, "waiting", None, ""))

    async def counts(self, batch_id: str) -> Counts:
        """Implement `JobStore`."""
        async with self._cursor() as cursor:
            await cursor.execute(
                "SELECT state, count(*) AS count, coalesce(sum(cost_usd), 0) AS cost FROM job"
                " WHERE id IN (SELECT job FROM batch_job WHERE batch = %s) GROUP BY state",
                (batch_id,),
            )
            rows = await cursor.fetchall()
        cost = sum(row["cost"] for row in rows)
        return Counts(**{row["state"]: row["count"] for row in rows}, cost_usd=cost)

    async def has_workers(self) -> bool:
        """Whether a worker is alive, as far as this role knows."""
        async with self._cursor() as cursor:
            await cursor.execute(
                "SELECT EXISTS (SELECT FROM procrastinate_workers q JOIN worker w USING (id)"
                " WHERE q.last_heartbeat > now() - make_interval(secs => %s)) AS found",
                (self._lost_after,),
            )
            row = await cursor.fetchone()
        return bool(row and row["found"])

    async def results(self, batch_id: str, *, after: int = -1) -> AsyncIterator[JobResult]:
        """Implement `JobStore`."""
        last = after
        while True:
            # Page by page: a reader may take its time, and a connection may be lost between two pages.
            async with self._cursor() as cursor:
                await cursor.execute(
                    f"{_RESULTS} AND number > %s ORDER BY number LIMIT {_PAGE}", (batch_id, last)
                )
                rows = await cursor.fetchall()
            for row in rows:
                yield _result(row)
            if len(rows) < _PAGE:
                return
            last = rows[-1]["number"]

    async def now(self) -> float:
        """The time of the server, in seconds since the epoch."""
        async with self._cursor() as cursor:
            await cursor.execute("SELECT extract(epoch FROM now())::float8 AS now")
            row = await cursor.fetchone()
        return float(row["now"]) if row else 0.0

    async def finished(self, batch_id: str, since: float) -> list[JobResult]:
        """The jobs of a batch that ended after `since`, in seconds of the server's clock since the epoch."""
        async with self._cursor() as cursor:
            await cursor.execute(
                f"{_RESULTS} AND finished_at > to_timestamp(%s) ORDER BY finished_at, number LIMIT {_PAGE}",
                (batch_id, since),
            )
            return [_result(row) for row in await cursor.fetchall()]

    @asynccontextmanager
    async def changes(self) -> AsyncIterator[AsyncIterator[str]]:
        """What is announced on the channel of the team while the block runs; it ends when the connection is lost."""
        import psycopg

        async with await connect_async(self._address) as db:
            with reporting(self._address):
                await db.execute(f"LISTEN {CHANNEL}")

            async def announced() -> AsyncIterator[str]:
                try:
                    async for notification in db.notifies():
                        yield notification.payload
                except psycopg.OperationalError:
                    return

            yield announced()

    async def _record(self, parameters: dict[str, Any]) -> bool:
        async with self._cursor() as cursor:
            await cursor.execute(f"SELECT {RECORD} AS recorded", parameters)
            row = await cursor.fetchone()
        return bool(row and row["recorded"])

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        with reporting(self._address):
            async with self._pool.connection() as connection:
                yield connection

    @asynccontextmanager
    async def _cursor(self) -> AsyncIterator[psycopg.AsyncCursor[dict[str, Any]]]:
        try:
            from psycopg.rows import dict_row
        except ImportError as error:
            raise missing_extra(error) from error
        async with self._connection() as db, db.cursor(row_factory=dict_row) as cursor:
            with answering_within(db, _ANSWER_S):
                yield cursor


_INSERT = """\
WITH new AS (
    INSERT INTO job (id, batch, shared, query, settings, limit_usd, format)
    SELECT id, %(batch)s, %(shared)s, query, settings::jsonb, limit_usd, %(format)s
    FROM unnest(%(ids)s::text[], %(queries)s::text[], %(settings)s::text[], %(limits)s::float8[])
        AS given (id, query, settings, limit_usd)
    ON CONFLICT DO NOTHING RETURNING id
)
SELECT id FROM new
"""
_REOPEN = """\
UPDATE job SET state = 'waiting', limited = false, error = NULL, finished_at = NULL,
    settings = given.settings::jsonb, limit_usd = given.limit_usd,
    batch = CASE WHEN job.limited THEN %(batch)s ELSE job.batch END
FROM unnest(%(ids)s::text[], %(queries)s::text[], %(settings)s::text[], %(limits)s::float8[])
    AS given (id, query, settings, limit_usd)
WHERE job.id = given.id AND job.state = 'failed' AND job.format <= %(format)s
    AND (CASE WHEN job.limited THEN %(funds)s ELSE %(retry)s END)
RETURNING job.id
"""
_SAME = """\
SELECT count(*) FROM unnest(%(ids)s::text[], %(queries)s::text[], %(settings)s::text[])
    AS given (id, query, settings) JOIN job USING (id)
WHERE job.query = given.query AND job.settings - %(loose)s::text[] = given.settings::jsonb - %(loose)s::text[]
"""
_RESULTS = (
    "SELECT number, job.*, extract(epoch FROM started_at)::float8 AS started,"
    " extract(epoch FROM finished_at)::float8 AS finished"
    " FROM batch_job JOIN job ON job.id = batch_job.job WHERE batch_job.batch = %s"
)


def _columns(jobs: Sequence[Job]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "ids": [job.id for job in jobs],
        "queries": [job.query for job in jobs],
        "settings": [json.dumps(dict(job.settings)) for job in jobs],
        "limits": [job.settings.get("max_cost_usd") for job in jobs],
    }


def _result(row: dict[str, Any]) -> JobResult:
    return JobResult(
        job=Job(id=row["id"], query=row["query"], settings=row["settings"], number=row["number"]),
        state=row["state"],
        attempt=row["attempt"],
        worker=row["worker"] or "",
        session=row["session"] or "",
        answer=row["answer"] or "",
        error=row["error"] or "",
        cost_usd=row["cost_usd"],
        folder=row["folder"],
        started=row["started"],
        finished=row["finished"],
    )


def _chunks(jobs: Sequence[Job]) -> Iterable[Sequence[Job]]:
    return (jobs[at : at + _CHUNK] for at in range(0, len(jobs), _CHUNK))


def _storable(text: str | None) -> str | None:
    """A text without what PostgreSQL cannot have: NUL and halves of characters."""
    return text and text.replace("\0", "").encode("utf-8", "replace").decode()
