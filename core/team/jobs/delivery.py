"""procrastinate as the queue of a team: how jobs are fetched, finished, handed back and taken from lost workers.

Only what runs a worker imports this module, which needs the extra `ua-tui[team]`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast

import psycopg
from procrastinate import App, JobContext, PsycopgConnector, jobs, manager, sql
from procrastinate.exceptions import ConnectorException
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import parameters_of
from ua_tui.core.postgres.problems import describe, is_temporary
from ua_tui.core.team.jobs.postgres_jobs import (
    RECORD,
    claim_call,
    claim_of,
    claim_parameters,
    queue_of,
    record_parameters,
)
from ua_tui.core.team.records import FORMAT, JobClaim, Outcome

log = logging.getLogger(__name__)

_LOCK = 0x75617377
"""The number of the lock of the worker that looks for lost jobs."""
_LAST = -1
"""The priority of jobs that wait for money; that of others is 0."""
_RETRY_SECONDS = 0.5
_GRACE_SECONDS = 5.0
"""How long the end of a job is tried to be recorded after the worker was stopped."""


def _query(name: str) -> str:
    return sql.queries[name].strip().rstrip(";")


# Times of the server: the clock of this machine may be wrong.
_RETRY = _query("retry_job").replace(
    "%(retry_at)s", "CASE WHEN %(again_in)s::float8 > 0 THEN now() + make_interval(secs => %(again_in)s) END"
)
_RETRIED: dict[str, Any] = {"new_priority": None, "new_queue_name": None, "new_lock": None}
_CLAIM_DELIVERED = claim_call("delivered.args->>'job_id'", "delivered.id")
_FETCH = (
    f"WITH delivered AS MATERIALIZED ({_query('fetch_job')})"  # noqa: S608
    f" SELECT * FROM delivered LEFT JOIN LATERAL {_CLAIM_DELIVERED}"
    " AS claimed ON true"
)
# The row is locked before the job and its batch, as when it is fetched: in another order two workers could wait for
# each other. If the job is another worker's by now, so is the row.
_RECORDED = (
    f"FROM (SELECT {RECORD} AS recorded FROM (SELECT count(*) FROM"  # noqa: S608
    " (SELECT FROM procrastinate_jobs WHERE id = %(job_id)s FOR UPDATE) AS own) AS locked OFFSET 0) AS r"
)
_FINISH = f"SELECT recorded, CASE WHEN recorded THEN ({_query('finish_job')}) END AS finished {_RECORDED}"
_RELEASE = f"SELECT recorded, CASE WHEN recorded THEN ({_RETRY}) END AS retried {_RECORDED}"
_ONLY_RECORD = f"SELECT {RECORD} AS recorded"
_WAKE = (
    'SELECT pg_notify(\'procrastinate_queue_v1#\' || %(queue)s, \'{"type": "job_inserted", "job_id": 0}\')'
)


@dataclass(frozen=True, slots=True)
class Delivered:
    """A job that was fetched from the queue: its claim, or why there is none (`verdict`)."""

    job_id: str
    verdict: str
    claim: JobClaim | None
    claim_again: Callable[[], Awaitable[JobClaim | None]]


@dataclass(frozen=True, slots=True)
class Ended:
    """What to record of a job, and with its row of the queue: with a claim and an outcome its end.

    With a claim alone the job is handed back; without one its row waits `again_in` seconds. `give_up` is set when the
    worker is stopped.
    """

    claim: JobClaim | None
    outcome: Outcome | None
    again_in: float = 0.0
    give_up: asyncio.Event | None = None


Handler = Callable[[Delivered], Awaitable[Ended | None]]


def make_queue_pool(address: Address, largest: int) -> AsyncConnectionPool[Any]:
    """Make the pool of a worker; a statement that meets a dead connection is tried again."""

    async def configure(connection: psycopg.AsyncConnection[Any]) -> None:
        # Not as a parameter: procrastinate connects with those of the pool, and gives it itself.
        await connection.set_autocommit(True)

    return AsyncConnectionPool(
        kwargs=parameters_of(address),
        configure=configure,
        min_size=1,
        max_size=largest,
        timeout=5.0,
        reconnect_timeout=0,
        open=False,
    )


def make_app(delivery: Delivery, handle: Handler) -> App:
    """Make the app of procrastinate whose one task has `handle` run the job that was delivered."""
    app = App(connector=delivery.connector)
    app.job_manager = delivery

    @app.task(name="run", pass_context=True)
    async def run(context: JobContext, job_id: str) -> None:
        number = cast(int, context.job.id)
        delivered = delivery.delivered.pop(number)
        ended = await handle(delivered)
        if ended is not None:
            delivery.ended[number] = ended

    return app


class Delivery(manager.JobManager):
    """The statements of a worker; they are tried again after a lost connection, so that procrastinate goes on.

    Attributes:
        worker_id: the number of the worker; None before it has one.
        delivered: what was fetched and does not run yet, by the number of its row.
        ended: what is over and not yet recorded, by the number of its row.
        busy: how often each job was fetched whose end is not recorded yet, by its id.
    """

    def __init__(self, pool: AsyncConnectionPool[Any], name: str, lost_after: float) -> None:
        self._listening = PsycopgConnector()
        super().__init__(self._listening)
        self._pool = pool
        self._name = name
        self._lost_after = lost_after
        self._problem = ""
        self.worker_id: int | None = None
        self.delivered: dict[int, Delivered] = {}
        self.ended: dict[int, Ended] = {}
        self.busy: Counter[str] = Counter()

    # What procrastinate calls.

    async def register_worker(self) -> int:
        """Give the worker a number."""
        self.worker_id = await super().register_worker()
        return self.worker_id

    async def unregister_worker(self, worker_id: int) -> None:
        """Do nothing: `sign_off` does it."""

    async def update_heartbeat(self, worker_id: int) -> None:
        """Do nothing: `beat` does it, which survives a lost connection."""

    async def listen_for_jobs(
        self, *, on_notification: manager.NotificationCallback, queues: Iterable[str] | None = None
    ) -> None:
        """Wake the worker when a job is queued, again after a lost connection."""

        async def wake(*, channel: str, payload: str) -> None:
            # Whoever may connect to the database can announce anything, such as that a job is to be aborted.
            await on_notification(channel=channel, notification={"type": "job_inserted", "job_id": 0})

        channels = manager.get_channel_for_queues(queues)
        while True:
            with suppress(ConnectorException, OSError):
                await self._listening.listen_notify(on_notification=wake, channels=channels)
            await asyncio.sleep(1.0)

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> jobs.Job | None:
        """Fetch a job, and claim it in the same statement; None if there is none or the database is away."""
        parameters = claim_parameters(self._name, worker_id, self._lost_after)
        row = None
        for _ in range(3):
            try:
                row = await self._execute(_FETCH, {"queues": queues, "worker_id": worker_id} | parameters)
                break
            except Exception as error:
                self._note_problem(error)
                if not await self._recovered(error):
                    return None
        if row is None or row["id"] is None:
            return None
        job = jobs.Job.from_row(row)
        job_id = str(row["args"].get("job_id"))
        claim = claim_of(job_id, row) if row["verdict"] == "claimed" else None

        async def claim_again() -> JobClaim | None:
            return await self._claim(job_id, row["id"], parameters)

        self.busy[job_id] += 1
        self.delivered[row["id"]] = Delivered(job_id, row["verdict"], claim, claim_again)
        return job

    async def finish_job(self, job: jobs.Job, status: jobs.Status, delete_job: bool) -> None:
        """Record the end of a job, and remove its row, in one statement; or put the row back."""
        number = cast(int, job.id)
        try:
            await self._record_end(number, self.ended.pop(number, None), status, delete_job=delete_job)
        finally:
            self.busy -= Counter([str(job.task_kwargs.get("job_id"))])

    async def _record_end(
        self, number: int, ended: Ended | None, status: jobs.Status, *, delete_job: bool
    ) -> None:
        row: dict[str, Any] = {"job_id": number, "again_in": 0.0, **_RETRIED}
        row |= {"status": status.value, "delete_job": delete_job}
        if ended is None:
            await self._persist(_query("finish_job"), row, "", None)
        elif ended.claim is None:
            # Jobs of other batches go first: many may wait for the money of one batch.
            again = {"again_in": ended.again_in, "new_priority": _LAST}
            await self._persist(_RETRY, row | again, "", ended.give_up)
        elif ended.outcome is None:
            released = record_parameters(ended.claim, "waiting", None, "")
            await self._persist(_RELEASE, row | released, _ONLY_RECORD, ended.give_up)
            with suppress(psycopg.Error, OSError):
                await self._wake()
        else:
            end = ended.outcome
            recorded = record_parameters(
                ended.claim, end.state, end.cost_usd, end.folder, end.answer, end.error
            )
            if not await self._persist(_FINISH, row | recorded, _ONLY_RECORD, ended.give_up):
                log.warning("job %s is another worker's by now: its end was not recorded", ended.claim.job.id)

    # What the worker calls.

    async def beat(self, version: str, parallel: int) -> int | None:
        """Send the heartbeat; returns the version of the tables."""
        row = await self._execute(
            "SELECT beat_worker(%s, %s, %s, %s) AS version", (self.worker_id, self._name, version, parallel)
        )
        return row["version"] if row else None

    async def sign_off(self) -> None:
        """Remove the worker."""
        worker_id, self.worker_id = self.worker_id, None
        await self._execute(
            "DELETE FROM worker WHERE id = %s OR seen_at < now() - interval '1 day'", (worker_id,)
        )
        await self._execute("DELETE FROM procrastinate_workers WHERE id = %s", (worker_id,))

    async def known_jobs(self) -> dict[str, tuple[str, int]]:
        """The jobs that this worker runs as the database knows it: their session and attempt by their id."""
        async with self._cursor() as cursor:
            await cursor.execute(
                "SELECT id, session, attempt FROM job"
                " WHERE queue_worker = %s AND state IN ('running', 'needs_you')",
                (self.worker_id,),
            )
            return {row["id"]: (row["session"], row["attempt"]) for row in await cursor.fetchall()}

    async def give_back(self, job_id: str, known: tuple[str, int]) -> None:
        """Hand a job back that was fetched by a statement whose answer was lost."""
        async with self._cursor() as cursor, cursor.connection.transaction():
            await cursor.execute("SELECT delivery FROM job WHERE id = %s", (job_id,))
            row = await cursor.fetchone()
            await cursor.execute(
                "SELECT record_job(%s, %s, %s, 'waiting', NULL, '')", (job_id, known[0], known[1])
            )
        with suppress(psycopg.Error):
            # Otherwise `take_over` queues it again.
            await self._execute(_RETRY, {"job_id": row and row["delivery"], "again_in": 0.0, **_RETRIED})
            await self._wake()

    async def take_over(self, *, forgotten: bool) -> int:
        """Queue the jobs of lost workers again, and with `forgotten` those that are not in the queue; returns how many.

        One worker at a time does so.
        """
        count = 0
        async with self._cursor() as cursor, cursor.connection.transaction():
            # One that is suspended or cut off meanwhile does not keep the lock.
            await cursor.execute(
                "SELECT set_config('idle_in_transaction_session_timeout', '10s', true),"
                " pg_try_advisory_xact_lock(%s) AS locked",
                (_LOCK,),
            )
            row = await cursor.fetchone()
            if not row or not row["locked"]:
                return 0
            for job in await self.get_stalled_jobs(seconds_since_heartbeat=self._lost_after):
                # It may have ended meanwhile, or is queued already.
                with suppress(psycopg.Error):
                    await self._execute(_RETRY, {"job_id": job.id, "again_in": 0.0, **_RETRIED})
                    count += 1
            if forgotten:
                await cursor.execute("SELECT deliver_forgotten(%s) AS count", (self._lost_after,))
                row = await cursor.fetchone()
                count += row["count"] if row else 0
        if count:
            await self._wake()
        return count

    async def later_formats(self) -> int:
        """How many waiting jobs have a later format than this program knows."""
        row = await self._execute(
            "SELECT count(*) AS count FROM job WHERE state = 'waiting' AND format > %s", (FORMAT,)
        )
        return int(row["count"]) if row else 0

    async def _claim(self, job_id: str, number: int, parameters: dict[str, Any]) -> JobClaim | None:
        with suppress(psycopg.Error, OSError):
            row = await self._execute(
                f"SELECT * FROM {claim_call('%(wanted)s', '%(number)s')}",  # noqa: S608
                parameters | {"wanted": job_id, "number": number},
            )
            if row and row["verdict"] == "claimed":
                return claim_of(job_id, row)
        return None

    async def _persist(
        self, statement: str, parameters: dict[str, Any], alone: str, give_up: asyncio.Event | None
    ) -> bool:
        """Execute a statement until it succeeds; `alone` instead of it if the row of the queue is gone.

        Returns whether the job was still ours.
        """
        until = None
        while True:
            try:
                row = await self._execute(statement, parameters)
            except psycopg.Error as error:
                if not is_temporary(error):
                    if not alone:
                        return True
                    statement, alone = alone, ""
                    continue
                self._note_problem(error)
            except (OSError, TimeoutError) as error:
                self._note_problem(error)
            else:
                return bool(not row or row.get("recorded", True))
            now = asyncio.get_running_loop().time()
            if give_up is not None and give_up.is_set():
                until = until or now + _GRACE_SECONDS
                if now > until:
                    log.warning("the end of a job could not be recorded before the worker ended")
                    return True
            with suppress(Exception):
                await self._pool.check()
            await asyncio.sleep(_RETRY_SECONDS)

    async def _recovered(self, error: Exception) -> bool:
        """Whether a statement may succeed now that the connections were checked."""
        if not isinstance(error, (psycopg.Error, OSError)) or not is_temporary(error):
            return False
        with suppress(Exception):
            await self._pool.check()
        return True

    def _note_problem(self, error: Exception) -> None:
        problem = describe_failure(error)
        if problem != self._problem:
            self._problem = problem
            log.info("a statement failed: %s", problem)

    async def _wake(self) -> None:
        for each in range(1, FORMAT + 1):
            await self._execute(_WAKE, {"queue": queue_of(each)})

    async def _execute(self, statement: str, parameters: Any) -> dict[str, Any] | None:
        async with self._cursor() as cursor:
            await cursor.execute(statement.encode(), parameters)
            return await cursor.fetchone() if cursor.description else None

    @asynccontextmanager
    async def _cursor(self) -> AsyncIterator[psycopg.AsyncCursor[dict[str, Any]]]:
        async with self._pool.connection() as connection, connection.cursor(row_factory=dict_row) as cursor:
            yield cursor


def describe_failure(error: BaseException | None) -> str:
    """What a failure of the queue means for a person; what passes needs no advice, as it is tried again."""
    if isinstance(error, ConnectorException) and error.__cause__ is not None:
        error = error.__cause__
    if not isinstance(error, Exception):
        return "it ended"
    advice = describe(error)
    return advice.problem if is_temporary(error) else str(advice)
