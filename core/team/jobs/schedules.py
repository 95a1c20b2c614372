"""Schedules of a team: batches that workers submit again when they are due, as the role that owns them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from ua_tui.core.errors import SettingsError, TeamError
from ua_tui.core.postgres.connection import Connection, rows_of
from ua_tui.core.postgres.problems import is_temporary, reporting
from ua_tui.core.postgres.state import LATE_SECONDS
from ua_tui.core.team.jobs.batch_file import batch_of, job_id
from ua_tui.core.team.jobs.due_times import DueTimes
from ua_tui.core.team.jobs.postgres_jobs import SLOWEST, PostgresJobs
from ua_tui.core.team.records import Job, JobBatch
from ua_tui.core.text import clean_line

if TYPE_CHECKING:
    from ua_tui.core.postgres.address import Address


class _StoredJob(msgspec.Struct, frozen=True):
    query: str
    settings: dict[str, Any]
    number: int


async def store_schedule(
    store: PostgresJobs, batch: JobBatch, jobs: Sequence[Job], *, every: str, zone: str
) -> datetime:
    """Have a batch submitted whenever it is due, instead of the one that this role has scheduled by that name.

    Returns when it is due first; `every` is an expression such as "mon 07:00", in the time zone of that name.

    Raises:
        SettingsError: the expression or the zone is wrong.
        TeamError: the database cannot be used.
    """
    times = DueTimes(every, zone)
    stored = [{"query": job.query, "settings": dict(job.settings), "number": job.number} for job in jobs]
    async with store.connection(len(jobs) / SLOWEST) as db, db.transaction():
        ((now,),) = await rows_of(db, "SELECT now()")
        due = times.after(now)
        await db.execute(
            _STORE, (batch.name, every, zone, json.dumps(stored), batch.max_cost_usd, batch.shared, due)
        )
    return due


async def run_due(store: PostgresJobs, address: Address) -> str | None:
    """Submit the next run of a schedule that is due; returns what came of it, or None if none is due.

    The row is locked until the run is stored and the next time is known: no other worker does the same. A time that
    has passed for `LATE_SECONDS`, or at which the owner could not have submitted the batch, is recorded as missed.

    Raises:
        TeamError: the database cannot be used now.
    """
    # However many jobs: later it would have passed.
    async with store.connection(LATE_SECONDS) as db, db.transaction():
        if not (rows := await rows_of(db, _DUE)):
            return None
        (row,) = rows
        owner, name, due = row.owner, row.name, row.next_at
        batch = why = following = None
        try:
            latest = row.now - timedelta(seconds=LATE_SECONDS)
            following = DueTimes(row.every, row.zone).after(max(due, latest))
            if due < latest:
                raise TeamError("no worker was alive")
            if not row.may_submit:
                raise TeamError(f"{owner} may no longer submit jobs")
            batch = await _submit(store, db, address, row)
        except (SettingsError, TeamError, msgspec.ValidationError) as error:
            if is_temporary(error):
                raise
            why = clean_line(str(error), 500)
        await db.execute(
            "UPDATE schedule SET next_at = %s, last_at = coalesce(%s, last_at), last_batch = coalesce(%s, last_batch),"
            " missed_at = coalesce(%s, missed_at), missed_why = coalesce(%s, missed_why)"
            " WHERE owner = %s AND name = %s",
            (following, due if batch else None, batch, due if why else None, why, owner, name),
        )
    shown = f"schedule {clean_line(name, 80)} of {clean_line(owner, 60)}"
    paused = " and paused, as the runs before it are" if row.are_paused else ""
    return f"{shown} did not run: {why}" if why else f"{shown}: the next run is submitted{paused}"


async def _submit(store: PostgresJobs, db: Connection, address: Address, schedule: Any) -> str:
    """Submit the next run of a row with the ceilings of its owner; returns the id of the batch.

    Raises:
        TeamError: it was refused, and nothing was stored.
        msgspec.ValidationError: the jobs are none.
    """
    # Jobs of a first run are the same in batches of all names, so that they may have been done.
    run = (schedule.name, max(2, schedule.last_run + 1))
    private = None if schedule.shared else schedule.owner
    jobs = [
        Job(id=job_id(each.query, each.settings, private, run), **msgspec.structs.asdict(each))
        for each in msgspec.convert(schedule.jobs, list[_StoredJob])
    ]
    batch = batch_of(jobs, max_cost_usd=schedule.max_cost_usd, owner=private, run=run)
    with reporting(address):
        async with db.transaction():
            await db.execute("SET LOCAL ua_tui.for_owner = 'on'")
            submitted = await store.submit_within(db, batch, jobs, owner=schedule.owner)
            if not submitted.new:
                raise TeamError(
                    "someone else has a batch of this name with the same queries: give another --name"
                )
            if schedule.are_paused:
                # The name was paused, with all runs that there were.
                await db.execute("UPDATE batch SET paused = true WHERE id = %s", (batch.id,))
    return batch.id


_STORE = b"""\
INSERT INTO schedule (name, every, zone, jobs, max_cost_usd, shared, next_at) VALUES (%s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (owner, name) DO UPDATE SET every = EXCLUDED.every, zone = EXCLUDED.zone, jobs = EXCLUDED.jobs,
    max_cost_usd = EXCLUDED.max_cost_usd, shared = EXCLUDED.shared, next_at = EXCLUDED.next_at
"""
_DUE = """\
SELECT s.owner::text, s.name, s.shared, s.every, s.zone, s.jobs, s.max_cost_usd, s.next_at, now(), coalesce(
    (SELECT has_any_column_privilege(r.oid, 'job', 'INSERT') FROM pg_roles r WHERE r.rolname = s.owner), false)
    AND NOT EXISTS (SELECT FROM member m WHERE m.owner = s.owner AND m.revoked) AS may_submit, runs.*
FROM schedule s CROSS JOIN LATERAL (
    SELECT coalesce(max(run), 0) AS last_run, coalesce(bool_and(paused), false) AS are_paused
    FROM batch b WHERE b.owner = s.owner AND b.name = s.name
) AS runs WHERE s.next_at <= now() ORDER BY s.next_at LIMIT 1 FOR UPDATE OF s SKIP LOCKED
"""
