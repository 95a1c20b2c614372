"""What an operator does with the jobs of a team: stop, hold and repeat them, see what needs a person, remove old ones.

What a role may do is decided by the database: a member changes what is its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from ua_tui.core.errors import TeamError
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import CHANNEL, Connection, connected, fetch, rows_of
from ua_tui.core.postgres.state import ALIVE_SECONDS, SCHEDULES
from ua_tui.core.text import clean_line

Operation = Literal["cancel", "pause", "resume", "retry"]
"""`cancel` ends jobs, `pause` and `resume` hold those that wait, `retry` runs jobs again that did not succeed."""


class Operations:
    """The operations on one database; each raises `TeamError` if it cannot be used."""

    def __init__(self, address: Address) -> None:
        self._address = address

    async def change(self, operation: Operation, names: Sequence[str]) -> int:
        """Do something with the jobs and batches of these names; returns how many jobs it concerns.

        A name is the id of a job or a batch, its beginning of at least eight characters, or the name of a batch.

        Raises:
            TeamError: nothing has this name, or it is not this role's.
        """
        async with connected(self._address) as db, db.transaction():
            given: dict[str, list[str]] = {"batch": [], "job": []}
            for name in names:
                for kind, id_ in await self._find(db, name):
                    given[kind].append(id_)
            changed = await db.execute(_CHANGES[operation], given)
            count = changed.rowcount
            if operation == "cancel":
                count += (await db.execute(_STOP, {**given, "channel": CHANNEL})).rowcount
            elif given["batch"] and operation in ("pause", "resume"):
                # After the jobs: they are locked before their batches everywhere.
                await db.execute(_PAUSE, {**given, "paused": operation == "pause"})
                ((waiting,),) = await rows_of(db, _WAITING, given)
                count += waiting
        return count

    async def _find(self, db: Connection, name: str) -> list[tuple[str, str]]:
        """The batches and jobs of this name: which of them it is (`batch` or `job`), and the id."""
        seen = await rows_of(db, _FIND, {"name": name})
        rows = [row for *row, may_change in seen if may_change]
        if seen and not rows:
            raise TeamError(
                f"{clean_line(name, 80)!r} in the team's database {self._address} belongs to "
                f"{clean_line(seen[0][2], 60)}: only that user and the owner of the tables may change it"
            )
        if not rows:
            raise TeamError(
                f"the team's database {self._address} has no job and no batch {clean_line(name, 80)!r} of this user: "
                "`ua-tui fleet --json` lists them"
            )
        if len({owner for *_, owner in rows}) > 1:
            found_ones = ", ".join(
                f"{kind} {id_} of {clean_line(owner, 60)}" for kind, id_, owner in rows[:20]
            )
            raise TeamError(
                f"several people have a batch or job {clean_line(name, 80)!r} in the team's database {self._address}; "
                f"use an id instead ({found_ones})"
            )
        return [(kind, id_) for kind, id_, _ in rows]

    async def attention(self) -> list[Any]:
        """What a person has to look at, the oldest first.

        Its `kind` says whether a job waits for a person (`needs_you`), nobody knows whether an action succeeded
        (`unknown_outcome`), or a schedule did not run (`did_not_run`). `query` is the query, or the name of the
        schedule, `what` the tool of the action, or why the others wait or did not run, and `since` when it began, in
        seconds since the epoch.
        """
        return [
            row._replace(
                owner=clean_line(row.owner, 60),
                query=clean_line(row.query, 200),
                what=clean_line(row.what, 200),
            )
            for row in await fetch(self._address, _ATTENTION)
        ]

    async def check(self, names: Sequence[str]) -> int:
        """Record that this role has looked at actions of unknown outcome, and at schedules that did not run.

        A name is the id of a session or a job, its beginning of at least eight characters, or the name of a schedule.
        Returns how many there were.

        Raises:
            TeamError: nothing has this name, or it is a schedule that is late, as no worker is alive.
        """
        count = 0
        async with connected(self._address) as db, db.transaction():
            for name in names:
                ((found, checked, is_late),) = await rows_of(db, _CHECK, {"name": name})
                if is_late:
                    raise TeamError(
                        f"the schedule {clean_line(name, 80)!r} is late because no worker is alive: start one with "
                        "`ua-tui worker`; until then the schedule cannot be marked as checked"
                    )
                if not found:
                    raise TeamError(
                        f"the team's database {self._address} has no session, job or schedule "
                        f"{clean_line(name, 80)!r}: `ua-tui team attention` lists them"
                    )
                count += checked
        return int(count)

    async def remove_schedules(self, names: Sequence[str]) -> list[str]:
        """Remove the schedules of these names: its own, or else others that this role may remove; returns their names.

        Raises:
            TeamError: several other people have one of this name.
        """
        async with connected(self._address) as db, db.transaction():
            done: dict[str, str] = {}
            for name, owner in await rows_of(db, _REMOVE_SCHEDULES, (list(names),)):
                if name in done:
                    raise TeamError(
                        f"several people have a schedule {clean_line(name, 80)!r} in the team's database "
                        f"{self._address}, such as {clean_line(done[name], 60)} and {clean_line(owner, 60)}: each of "
                        "them can remove their own"
                    )
                done[name] = owner
            return list(done)

    async def prune(self, days: float) -> int:
        """Remove batches that were given and over before so many days, and sessions of people; returns how many jobs.

        A job that a newer batch names stays, with its answer and its actions.
        """
        async with connected(self._address) as db, db.transaction():
            ((before,),) = await rows_of(db, _JOBS)
            await db.execute(_PRUNE_BATCHES, {"days": days})
            ((after,),) = await rows_of(db, _JOBS)
            await db.execute(_PRUNE_SESSIONS, {"days": days})
        return int(before - after)

    async def drain(self, host: str) -> int:
        """Have the workers of a machine end when their jobs are over; returns how many of them are alive."""
        async with connected(self._address) as db, db.transaction():
            done = await rows_of(
                db,
                "UPDATE worker SET draining = true WHERE starts_with(name, %s)"
                " RETURNING seen_at > now() - make_interval(secs => %s)",
                (f"{host}:", ALIVE_SECONDS),
            )
            return sum(is_alive for (is_alive,) in done)


_FIND = """
SELECT 'batch' AS kind, id, owner::text, owner = current_user OR is_worker() AS may_change FROM batch
WHERE id = %(name)s OR length(%(name)s) >= 8 AND starts_with(id, %(name)s) OR name = %(name)s AND name <> ''
UNION ALL
SELECT 'job', id, owner::text, owner = current_user OR is_worker() FROM job
WHERE id = %(name)s OR length(%(name)s) >= 8 AND starts_with(id, %(name)s)
"""
_PAUSE = b"UPDATE batch SET paused = %(paused)s WHERE id = ANY(%(batch)s)"
_WAITING = """
SELECT coalesce(sum(jobs), 0)::int FROM batch_count WHERE batch = ANY(%(batch)s) AND state = 'waiting'
"""
_CHANGES: dict[Operation, bytes] = {
    "cancel": b"""
UPDATE job SET state = 'cancelled'
WHERE (batch = ANY(%(batch)s) OR id = ANY(%(job)s))
    AND (state IN ('waiting', 'held') OR state = 'needs_you' AND worker_id IS NULL)
""",
    "pause": b"UPDATE job SET state = 'held' WHERE id = ANY(%(job)s) AND state = 'waiting'",
    "resume": b"UPDATE job SET state = 'waiting' WHERE id = ANY(%(job)s) AND state = 'held'",
    "retry": b"""
UPDATE job SET state = 'waiting'
WHERE (batch = ANY(%(batch)s) OR id = ANY(%(job)s))
    AND (state IN ('failed', 'cancelled') OR state = 'needs_you' AND worker_id IS NULL)
""",
}
_STOP = b"""
WITH sent AS (
    INSERT INTO command (session, kind)
    SELECT session, 'interrupt' FROM job
    WHERE (batch = ANY(%(batch)s) OR id = ANY(%(job)s)) AND state IN ('running', 'needs_you')
        AND worker_id IS NOT NULL AND (owner = current_user OR is_worker())
    RETURNING session
) SELECT pg_notify(%(channel)s, 'command ' || session) FROM sent
"""
_ATTENTION = f"""\
SELECT 'unknown_outcome' AS kind, coalesce(s.job, '') AS job, s.id AS session, s.owner::text,
    left(coalesce(j.query, s.title), 400) AS query, a.tool AS what, extract(epoch FROM a.started_at)::float8 AS since
FROM action a JOIN session s ON s.id = a.session LEFT JOIN job j ON j.id = s.job
WHERE a.state = 'running' AND a.checked_by IS NULL
    AND (a.attempt < s.attempt OR s.finished_at IS NOT NULL OR j.finished_at IS NOT NULL)
UNION ALL
SELECT 'needs_you', j.id, coalesce(j.session, ''), j.owner::text, left(j.query, 400),
    coalesce(j.error, 'a question waits'),
    extract(epoch FROM coalesce(
        (SELECT min(q.asked_at) FROM question q WHERE q.session = j.session AND q.attempt = j.attempt
            AND q.answer IS NULL), j.started_at,
        j.submitted_at))::float8
FROM job j WHERE j.state = 'needs_you'
UNION ALL
SELECT 'did_not_run', '', '', owner::text, name, why, extract(epoch FROM missed)::float8
FROM ({SCHEDULES}) AS s WHERE missed IS NOT NULL
ORDER BY since
"""  # noqa: S608 -- made of constants
_CHECK = f"""
WITH found AS (
    SELECT id FROM session WHERE %(name)s IN (id, job)
        OR length(%(name)s) >= 8 AND (starts_with(id, %(name)s) OR starts_with(job, %(name)s))
    UNION ALL SELECT id FROM job WHERE id = %(name)s OR length(%(name)s) >= 8 AND starts_with(id, %(name)s)
    UNION ALL SELECT name FROM schedule WHERE name = %(name)s
), checked AS (
    UPDATE action a SET checked_by = current_user FROM session s
    WHERE s.id = a.session AND s.id IN (SELECT id FROM found) AND a.state = 'running'
        AND a.checked_by IS NULL AND (a.attempt < s.attempt OR s.finished_at IS NOT NULL)
    RETURNING a.session
), missed AS (
    UPDATE schedule SET missed_at = NULL WHERE name = %(name)s AND missed_at IS NOT NULL RETURNING name
) SELECT EXISTS (SELECT FROM found) AS found, (SELECT count(*) FROM checked) + (SELECT count(*) FROM missed) AS checked,
    EXISTS (SELECT FROM ({SCHEDULES}) AS s WHERE name = %(name)s AND is_late) AS is_late
"""  # noqa: S608 -- made of constants
_REMOVE_SCHEDULES = """
DELETE FROM schedule s WHERE name = ANY(%s) AND (owner = current_user
    OR NOT EXISTS (SELECT FROM schedule o WHERE o.name = s.name AND o.owner = current_user))
RETURNING name, owner::text
"""
_PRUNE_BATCHES = b"""
DELETE FROM batch b WHERE submitted_at < now() - make_interval(secs => %(days)s * 86400)
    AND NOT EXISTS (SELECT FROM batch_job n JOIN job j ON j.id = n.job WHERE n.batch = b.id
        AND (j.finished_at IS NULL OR j.finished_at > now() - make_interval(secs => %(days)s * 86400)
            -- Somebody else asked for it later.
            OR j.batch = b.id AND EXISTS (SELECT FROM batch_job o JOIN batch ON batch.id = o.batch
                WHERE o.job = j.id AND batch.owner <> b.owner
                    AND batch.submitted_at >= now() - make_interval(secs => %(days)s * 86400))))
"""
_JOBS = "SELECT coalesce(sum(jobs), 0)::int FROM batch_count"
_PRUNE_SESSIONS = b"""
DELETE FROM session WHERE job IS NULL AND seen_at < now() - make_interval(secs => %(days)s * 86400)
"""
