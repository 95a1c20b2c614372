"""Batches and jobs of this machine, in a SQLite file that several programs may use at once."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar
from uuid import uuid4

from ua_tui.core.errors import TeamError
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.core.storage.sqlite import configure, connect, make_private, opening, transaction
from ua_tui.core.team.jobs.batch_file import NOT_IN_ID
from ua_tui.core.team.jobs.sqlite_tables import SEALED, check_own, explain, keep_seals, update_tables
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
from ua_tui.core.text import clean_line, without_surrogates

FILE = "jobs.db"
WORKERS = ".workers"
"""The folder of the locks by which programs see whether another one still runs."""
_LEAST_USD = 0.01
_PAUSE_SECONDS = 0.25
_PAGE = 500

T = TypeVar("T")


def jobs_path(base: Path) -> Path:
    """The file of the jobs of a folder's sessions."""
    return base / WORKSPACES / FILE


class SqliteJobs:
    """Implements `JobStore` for one program, which is one worker; close it at the end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # SQLite is used in one thread, which waits for other programs.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="jobs")
        self._db: sqlite3.Connection | None = None
        self._lock: int | None = None
        self._closed = False
        self.worker = uuid4().hex

    async def open(self) -> None:
        """Open the file, or make it.

        Raises:
            TeamError: it cannot be used, or is of a later version.
        """
        await self._do(self._open)

    async def close(self) -> None:
        """Close the file; what this program still runs is free for others."""
        if not self._closed:
            self._closed = True
            await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
            self._thread.shutdown(wait=False)

    async def submit(self, batch: JobBatch, jobs: Sequence[Job], *, retry_failed: bool = False) -> Submitted:
        """Implement `JobStore`."""
        return await self._do(partial(self._submit, batch, jobs, retry_failed))

    async def claim(self, job_id: str, worker: str = "") -> JobClaim | None:
        """Implement `JobStore`."""
        while True:
            verdict, claim = await self._do(partial(self._claim, job_id))
            if verdict != "wait":
                return claim
            await asyncio.sleep(_PAUSE_SECONDS)

    async def next(self, batch_id: str | None = None) -> JobClaim | None:
        """Begin some job, or take one over from a program that was killed; None if there is none now.

        A batch whose limit is used up by jobs that run is skipped; `batch_id` is the only one to look at.
        """
        return await self._do(partial(self._next, batch_id))

    async def note(
        self,
        claim: JobClaim,
        state: Literal["running", "needs_you"],
        cost_usd: float | None,
        folder: str = "",
    ) -> bool:
        """Implement `JobStore`."""
        return await self._do(partial(self._record, claim, state, cost_usd, folder, None, None))

    async def finish(self, claim: JobClaim, outcome: Outcome) -> bool:
        """Implement `JobStore`."""
        end = outcome
        return await self._do(
            partial(self._record, claim, end.state, end.cost_usd, end.folder, end.answer, end.error)
        )

    async def release(self, claim: JobClaim) -> bool:
        """Implement `JobStore`."""
        return await self._do(partial(self._record, claim, "waiting", None, "", None, None))

    async def counts(self, batch_id: str) -> Counts:
        """Implement `JobStore`."""
        return await self._do(partial(self._counts, batch_id))

    async def results(self, batch_id: str, *, after: int = -1) -> AsyncIterator[JobResult]:
        """Implement `JobStore`."""
        last = after
        while True:
            rows = await self._do(
                partial(self._rows, "AND number > ? ORDER BY number LIMIT ?", (batch_id, last, _PAGE))
            )
            for row in rows:
                yield _result(row)
            if len(rows) < _PAGE:
                return
            last = rows[-1]["number"]

    async def now(self) -> float:
        """The time of this machine, in seconds since the epoch."""
        return time.time()

    async def finished(self, batch_id: str, since: float) -> list[JobResult]:
        """The jobs of a batch that ended after `since`, in seconds since the epoch."""
        order = "AND finished_at > ? ORDER BY finished_at, number LIMIT ?"
        return [_result(row) for row in await self._do(partial(self._rows, order, (batch_id, since, _PAGE)))]

    async def _do(self, work: Callable[[], T]) -> T:
        """Do something in the thread, with errors for a person."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except (OSError, sqlite3.Error) as error:
            raise explain(self._path, error) from error

    def _open(self) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with opening(self._path):
            make_private(self._path)
            check_own(self._path)
            db = connect(self._path, "rw")
            db.row_factory = sqlite3.Row
            try:
                configure(db, self._path, durable=True)
                db.create_function("now", 0, time.time)
                update_tables(db, self._path)
                keep_seals(db, self._path)
            except BaseException:
                db.close()
                raise
        self._db = db

    def _close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None
        if self._lock is not None:
            with suppress(OSError):
                os.unlink(self._lock_path(self.worker))
            os.close(self._lock)
            self._lock = None

    @property
    def _open_db(self) -> sqlite3.Connection:
        assert self._db is not None
        return self._db

    def _submit(self, batch: JobBatch, jobs: Sequence[Job], retry: bool) -> Submitted:
        first = {job.id: job for job in reversed(jobs)}
        unique = [job for job in jobs if first[job.id] is job]
        db = self._open_db
        with transaction(db):
            db.execute(
                "INSERT INTO batch (id, title, max_cost_usd, submitted_at) VALUES (?, ?, ?, now())"
                " ON CONFLICT DO UPDATE SET max_cost_usd = excluded.max_cost_usd",
                (batch.id, batch.title, batch.max_cost_usd),
            )
            self._check_known(db, unique)
            new = db.executemany(
                "INSERT INTO job (id, batch, query, settings, limit_usd, format) VALUES (?, ?, ?, ?, ?, ?)"
                " ON CONFLICT DO NOTHING",
                (
                    (
                        job.id,
                        batch.id,
                        without_surrogates(job.query),
                        json.dumps(dict(job.settings)),
                        job.settings.get("max_cost_usd"),
                        FORMAT,
                    )
                    for job in unique
                ),
            ).rowcount
            db.executemany(
                "INSERT INTO batch_job (batch, number, job) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                ((batch.id, job.number, job.id) for job in jobs),
            )
            reopened = self._reopen(db, batch, unique, retry) if new < len(unique) else 0
        return Submitted(new=new, known=len(unique) - new, reopened=reopened)

    def _check_known(self, db: sqlite3.Connection, jobs: Sequence[Job]) -> None:
        """Refuse jobs whose rows have another query or other settings than were submitted."""
        statement = f"SELECT query, settings, {SEALED} AS is_sealed FROM job WHERE id = ?"  # noqa: S608
        for job in jobs:
            if (row := db.execute(statement, (job.id,)).fetchone()) is None:
                continue
            self._check(row)
            same = row["query"] == without_surrogates(job.query)
            if not same or _identifying(json.loads(row["settings"])) != _identifying(job.settings):
                raise self._changed("another query or other settings for a job of this batch")

    def _check(self, row: sqlite3.Row) -> None:
        """Refuse a row that is not as this user's program stored it."""
        if not row["is_sealed"]:
            raise self._changed(f"a job that another program changed ({clean_line(str(row['query']), 60)})")

    def _changed(self, what: str) -> TeamError:
        return TeamError(
            f"{clean_line(str(self._path), 700)} has {what}: move it away; the sessions stay as they are"
        )

    def _reopen(self, db: sqlite3.Connection, batch: JobBatch, jobs: Sequence[Job], retry: bool) -> int:
        charged = self._charged(db, batch.id)
        funds = batch.max_cost_usd is None or charged + _LEAST_USD <= batch.max_cost_usd
        if not funds and not retry:
            return 0
        reopened = db.executemany(
            "UPDATE job SET state = 'waiting', error = NULL, finished_at = NULL, settings = :settings,"
            " limit_usd = :limit_usd,"
            # Another batch pays also for what it has cost, so that this counts once.
            " batch = iif(limited, :batch, batch), limited = 0"
            " WHERE id = :id AND state = 'failed' AND iif(limited, :funds, :retry)",
            (
                {
                    "id": job.id,
                    "batch": batch.id,
                    "settings": json.dumps(dict(job.settings)),
                    "limit_usd": job.settings.get("max_cost_usd"),
                    "funds": funds,
                    "retry": retry,
                }
                for job in jobs
            ),
        )
        return reopened.rowcount

    def _charged(self, db: sqlite3.Connection, batch_id: str) -> float:
        query = "SELECT total(charged_usd) FROM job WHERE batch = ? AND charged_usd > 0"
        (charged,) = db.execute(query, (batch_id,)).fetchone()
        return float(charged)

    def _next(self, batch_id: str | None) -> JobClaim | None:
        db = self._open_db
        mine = "" if batch_id is None else " AND id IN (SELECT job FROM batch_job WHERE batch = :batch)"
        lost = [
            worker
            for (worker,) in db.execute(
                "SELECT DISTINCT worker FROM job WHERE state IN ('running', 'needs_you')"
            )
            if not self._lives(worker)
        ]
        dead = json.dumps(lost)
        exhausted: set[str] = set()
        while True:
            row = db.execute(
                "SELECT id, batch FROM job WHERE (state = 'waiting' OR state IN ('running', 'needs_you')"  # noqa: S608
                " AND worker IN (SELECT value FROM json_each(:dead))) AND format <= :format"
                f" AND batch NOT IN (SELECT value FROM json_each(:exhausted)){mine}"
                " ORDER BY state = 'waiting', rowid LIMIT 1",
                {
                    "dead": dead,
                    "format": FORMAT,
                    "exhausted": json.dumps(sorted(exhausted)),
                    "batch": batch_id,
                },
            ).fetchone()
            if row is None:
                return None
            verdict, claim = self._claim(row["id"])
            if claim is not None:
                return claim
            if verdict == "wait":
                exhausted.add(row["batch"])

    def _claim(self, job_id: str) -> tuple[str, JobClaim | None]:
        """Begin a job; the verdicts are those of `claim_job` in PostgreSQL."""
        self._hold_lock()
        db = self._open_db
        with transaction(db):
            statement = f"SELECT *, {SEALED} AS is_sealed FROM job WHERE id = ?"  # noqa: S608
            job = db.execute(statement, (job_id,)).fetchone()
            if job is None or job["state"] not in ("waiting", "running", "needs_you"):
                return "over", None
            self._check(job)
            if job["state"] != "waiting" and self._lives(job["worker"]):
                return "taken", None
            query = "SELECT max_cost_usd FROM batch WHERE id = ?"
            (most,) = db.execute(query, (job["batch"],)).fetchone()
            limit = job["limit_usd"]
            if most is not None and job["state"] != "waiting":
                limit = job["charged_usd"]
            elif most is not None:
                free = most - self._charged(db, job["batch"])
                limit = min(each for each in (limit, free + job["charged_usd"]) if each is not None)
                wanted = _LEAST_USD if job["limit_usd"] is None else job["limit_usd"] - job["charged_usd"]
                # A session that gets a small rest fails by it; what others do not use up may be enough.
                if free < _LEAST_USD or free < wanted / 2:
                    running = (
                        "SELECT 1 FROM job WHERE batch = ? AND state IN ('running', 'needs_you') LIMIT 1"
                    )
                    if db.execute(running, (job["batch"],)).fetchone():
                        return "wait", None
                    if free < _LEAST_USD:
                        db.execute(
                            "UPDATE job SET state = 'failed', limited = 1, error = ?,"
                            " finished_at = now() WHERE id = ?",
                            (f"the spending limit of the batch (${most:.2f}) is reached", job_id),
                        )
                        return "over", None
            session = job["session"] or uuid4().hex
            db.execute(
                "UPDATE job SET state = 'running', attempt = attempt + 1, session = ?, worker = ?, pid = ?,"
                " charged_usd = ?, started_at = coalesce(started_at, now()), finished_at = NULL"
                " WHERE id = ?",
                (session, self.worker, os.getpid(), limit or 0.0, job_id),
            )
        return "claimed", JobClaim(
            job=Job(id=job_id, query=job["query"], settings=json.loads(job["settings"])),
            session=SessionId(id=session, attempt=job["attempt"] + 1, job=job_id),
            limit_usd=limit,
            folder=job["folder"] or None,
        )

    def _record(
        self,
        claim: JobClaim,
        state: str,
        cost: float | None,
        folder: str,
        answer: str | None,
        error: str | None,
    ) -> bool:
        running = state in ("running", "needs_you")
        over = not running and state != "waiting"
        db = self._open_db
        with transaction(db):
            changed = db.execute(
                "UPDATE job SET state = :state, cost_usd = max(coalesce(cost_usd, :cost), coalesce(:cost, cost_usd)),"
                " charged_usd = iif(:running, max(charged_usd, coalesce(:cost, 0), coalesce(cost_usd, 0)),"
                " max(coalesce(:cost, 0), coalesce(cost_usd, 0))),"
                # What the batch had left was less than the job's own limit, and was not enough.
                " limited = (:state = 'failed' AND coalesce(charged_usd < limit_usd, 1)"
                " AND max(coalesce(:cost, 0), coalesce(cost_usd, 0)) > charged_usd - :least"
                " AND (SELECT max_cost_usd FROM batch WHERE batch.id = job.batch) IS NOT NULL),"
                " folder = iif(:folder = '', folder, :folder), answer = :answer, error = :error,"
                " finished_at = iif(:over, now(), NULL)"
                " WHERE id = :id AND session = :session AND attempt = :attempt AND state IN ('running', 'needs_you')",
                {
                    "state": state,
                    "cost": cost,
                    "running": running,
                    "over": over,
                    "least": _LEAST_USD,
                    "folder": folder,
                    "answer": answer and without_surrogates(answer),
                    "error": error and without_surrogates(error),
                    "id": claim.job.id,
                    "session": claim.session.id,
                    "attempt": claim.session.attempt,
                },
            ).rowcount
        return bool(changed)

    def _counts(self, batch_id: str) -> Counts:
        rows = self._open_db.execute(
            "SELECT state, count(*), total(cost_usd) FROM job"
            " WHERE id IN (SELECT job FROM batch_job WHERE batch = ?) GROUP BY state",
            (batch_id,),
        ).fetchall()
        return Counts(**{state: count for state, count, _ in rows}, cost_usd=sum(cost for *_, cost in rows))

    def _rows(self, order: str, parameters: tuple[Any, ...]) -> list[sqlite3.Row]:
        rows = self._open_db.execute(
            f"SELECT number, job.*, {SEALED} AS is_sealed FROM batch_job JOIN job ON job.id = batch_job.job"  # noqa: S608
            f" WHERE batch_job.batch = ? {order}",
            parameters,
        ).fetchall()
        for row in rows:
            self._check(row)
        return rows

    def _lock_path(self, worker: str) -> Path:
        return self._path.parent / WORKERS / Path(worker).name

    def _hold_lock(self) -> None:
        """Hold the lock that shows that this program runs; the system releases it however the program ends."""
        if self._lock is not None:
            return
        path = self._lock_path(self.worker)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._lock = lock

    def _lives(self, worker: str) -> bool:
        """Whether a program still runs; the lock of one that was killed is removed."""
        path = self._lock_path(worker)
        try:
            lock = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        else:
            with suppress(OSError):
                os.unlink(path)
            return False
        finally:
            os.close(lock)


def _identifying(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings without those with which a job stays the same."""
    return {name: value for name, value in settings.items() if name not in NOT_IN_ID}


def _result(row: sqlite3.Row) -> JobResult:
    return JobResult(
        job=Job(id=row["id"], query=row["query"], settings=json.loads(row["settings"]), number=row["number"]),
        state=row["state"],
        attempt=row["attempt"],
        worker=row["worker"] or "",
        session=row["session"] or "",
        answer=row["answer"] or "",
        error=row["error"] or "",
        cost_usd=row["cost_usd"],
        folder=row["folder"],
        started=row["started_at"],
        finished=row["finished_at"],
    )
