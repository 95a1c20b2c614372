"""The sessions, batches and workers of a team, from its database: what changes is announced, and read at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from ua_tui.core.errors import TeamError
from ua_tui.core.events.units import live_duration, quantity
from ua_tui.core.log import log
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import Connection, answering_within, connected, fetch, listen, rows_of
from ua_tui.core.postgres.problems import is_temporary
from ua_tui.core.postgres.schema import check_tables
from ua_tui.core.postgres.state import ALIVE_SECONDS
from ua_tui.core.team.fleet.rows import MOST_FINISHED, Fleet, FleetBatch, FleetRow, FleetState, FleetWorker
from ua_tui.core.team.letters import read_question
from ua_tui.core.text import clean_line
from ua_tui.core.view.activity import describe_question

POLL_SECONDS = 2.0
"""How often is looked for changes that nobody announced."""
ANSWER_SECONDS = 10.0
_AT_MOST_EVERY = 0.5
_LONGEST = 300

_NAME = "coalesce(nullif(b.name, '') || CASE WHEN b.run > 1 THEN ' ' || b.run ELSE '' END, left(b.id, 8))"
_JOB_STATE = "CASE WHEN b.paused AND j.state = 'waiting' THEN 'held' ELSE j.state END"
_SESSIONS = f"""
SELECT s.id, coalesce(s.job, '') AS job, s.name, s.host, coalesce(nullif(s.worker, ''), s.host) AS where,
    s.owner::text, NOT s.shared AS private, s.state,
    left(coalesce(nullif(s.title, ''), j.query, ''), 400) AS title, left(s.activity, 400) AS activity,
    greatest(j.cost_usd, s.cost_usd) AS cost_usd, extract(epoch FROM s.started_at)::float8 AS started,
    extract(epoch FROM s.finished_at)::float8 AS finished, extract(epoch FROM s.seen_at)::float8 AS seen,
    -- A job that gave its place back while it waits for a person has no worker that could be lost. What a session does
    -- may not show in its own row, as while a worker restores a large one.
    CASE WHEN j.state = 'needs_you' AND j.worker_id IS NULL THEN 'infinity' ELSE extract(epoch FROM
        greatest(s.seen_at, (SELECT max(seen_at) FROM worker WHERE name = s.worker))) END::float8 AS heard,
    coalesce({_JOB_STATE}, '') AS job_state, left(coalesce(j.error, ''), 400) AS error,
    coalesce(j.position, 0) AS position, coalesce(b.id, '') AS batch, coalesce({_NAME}, '') AS batch_name,
    (SELECT left(q.event, 20000) FROM question q WHERE q.session = s.id AND q.attempt = s.attempt
        AND q.answer IS NULL ORDER BY q.asked_at DESC LIMIT 1) AS question,
    (SELECT count(*) FROM action a WHERE a.session = s.id AND a.state = 'running' AND a.checked_by IS NULL
        AND (a.attempt < s.attempt OR s.state IN ('done', 'failed'))) AS unknown
FROM session s LEFT JOIN job j ON j.id = s.job LEFT JOIN batch b ON b.id = j.batch
"""  # noqa: S608  # only texts of this module
_NEWEST = f"{_SESSIONS} ORDER BY s.seen_at DESC LIMIT %(most)s"
_OF_ID, _OF_JOB = f"{_SESSIONS} WHERE s.id = %(id)s", f"{_SESSIONS} WHERE s.job = %(id)s"
_BATCHES = f"""
SELECT b.id, {_NAME} AS name, b.owner::text, NOT b.shared AS private, b.paused, b.max_cost_usd,
    extract(epoch FROM b.submitted_at)::float8 AS submitted,
    coalesce((SELECT jsonb_object_agg(c.state, c.jobs) FROM batch_count c WHERE c.batch = b.id), '{{}}') AS jobs,
    (SELECT coalesce(sum(c.cost_usd), 0) FROM batch_count c WHERE c.batch = b.id) AS cost_usd
FROM batch b ORDER BY b.submitted_at DESC, b.id LIMIT %(most)s
"""  # noqa: S608
# The first ones of each batch, in the order of its file. A job that was handed back waits with its session.
_WAITING = f"""
SELECT j.id, {_JOB_STATE} AS state, j.owner::text, NOT j.shared AS private, left(j.query, 400) AS title, j.position,
    b.id AS batch, {_NAME} AS batch_name, extract(epoch FROM b.submitted_at)::float8 AS started
FROM batch b CROSS JOIN LATERAL (
    SELECT * FROM job WHERE job.batch = b.id AND job.state = 'waiting' AND job.session IS NULL
    ORDER BY job.position, job.id LIMIT %(most)s) j
WHERE b.id IN (SELECT batch FROM batch_count WHERE state = 'waiting' AND jobs > 0)
"""  # noqa: S608
_WORKERS = f"""
SELECT name, version, parallel AS slots, running AS busy, draining, extract(epoch FROM seen_at)::float8 AS seen,
    CASE WHEN seen_at < now() - interval '{ALIVE_SECONDS} s' THEN 'lost' WHEN running > 0 THEN 'running'
        ELSE 'idle' END AS state
FROM worker WHERE seen_at > now() - interval '1 day' ORDER BY seen_at DESC LIMIT %(most)s
"""  # noqa: S608
_READ = {_NEWEST: MOST_FINISHED, _BATCHES: 200, _WORKERS: 200, _WAITING: 100}
"""What is listed, and how much of each: of the jobs that wait so many of each batch."""
_NOW = "SELECT extract(epoch FROM now())::float8 AS now"
_ALIVE: tuple[FleetState, ...] = ("running", "starting", "needs_you", "idle")
_Row = dict[str, Any]


class DatabaseSessions:
    """Keeps the sessions, batches and workers of a team up to date, and calls `changed` when it has read them."""

    def __init__(self, address: Address, changed: Callable[[], None]) -> None:
        self._address = address
        self._changed = changed
        self._lost_at = 0.0
        self.fleet = Fleet(is_reading=True)
        """The sessions with the first of the jobs that wait, batches and workers; its notice says why they are old."""

    async def read(self) -> None:
        """Read everything once.

        Raises:
            TeamError: the database cannot be used.
        """
        async with connected(self._address) as connection:
            await self._read_all(connection)

    async def run(self) -> None:
        """Keep everything up to date until it is cancelled, over one connection after the other."""

        async def work(connection: Connection) -> None:
            while True:
                await self._read_all(connection)
                await asyncio.sleep(min(_AT_MOST_EVERY, POLL_SECONDS))
                # What came meanwhile is among them.
                async for _ in connection.notifies(timeout=POLL_SECONDS, stop_after=1):
                    pass

        await listen(self._address, work, self._lost)

    def _lost(self, error: Exception) -> None:
        text = str(error) if isinstance(error, TeamError) else "the server does not answer"
        reason = text.removeprefix(f"the team's database {self._address} cannot be used, because ")
        if not self.fleet.notice:
            log.warning("the sessions of the team are not up to date: %s", reason)
            self._lost_at = time.time()
        notice = reason[:1].upper() + reason[1:]
        if not isinstance(error, TeamError) or is_temporary(error):
            since = datetime.fromtimestamp(self._lost_at).astimezone()
            notice = f"The team's database has been unreachable since {since:%H:%M}: {reason}"
        self.fleet = msgspec.structs.replace(self.fleet, notice=notice, is_reading=False)
        self._changed()

    async def _read_all(self, connection: Connection) -> None:
        with answering_within(connection, ANSWER_SECONDS):
            await check_tables(connection, self._address)
            sessions, batches, workers, waiting = [
                [row._asdict() for row in await rows_of(connection, statement, {"most": most})]
                for statement, most in _READ.items()
            ]
            ((now,),) = await rows_of(connection, _NOW)
        rows = [_row_of(row, now) for row in sessions]
        rows += [
            msgspec.convert(_cleaned(row) | {"id": f"job:{row['id']}", "job": row["id"]}, FleetRow)
            for row in waiting
        ]
        known = tuple(msgspec.convert(_cleaned(row), FleetWorker) for row in workers)
        listed = tuple(msgspec.convert(_cleaned(row) | row["jobs"], FleetBatch) for row in batches)
        self.fleet = Fleet(rows=tuple(rows), batches=listed, workers=known)
        self._changed()


async def find_session(address: Address, id_: str = "", *, job: str = "") -> FleetRow:
    """Read one session of a team, by its id or else by that of its job.

    Only one of the two is compared: a member of the team may give a session of theirs the id of somebody's job.

    Raises:
        TeamError: the database cannot be used, or has no such session.
    """
    rows = await fetch(address, _OF_ID if id_ else _OF_JOB, {"id": id_ or job}, within=ANSWER_SECONDS)
    if not rows:
        what = f"session {clean_line(id_, 60)!r}" if id_ else f"session of the job {clean_line(job, 60)!r}"
        raise TeamError(f"the team's database {address} has no {what}")
    return _row_of(rows[0]._asdict())


def _cleaned(row: _Row) -> _Row:
    """A row with texts that can be shown: others of the team may have written them."""
    return {
        name: clean_line(value, _LONGEST) if isinstance(value, str) else value for name, value in row.items()
    }


def _row_of(row: _Row, now: float = 0.0) -> FleetRow:
    """The row of a session, which may be lost `now`, in seconds since the epoch by the clock of the server."""
    shown = _state_of(row)
    known = _cleaned(row) | {"id": f"team:{row['id']}", "session": row["id"], "state": shown}
    if shown == "needs_you" and row["question"] is not None:
        asked = read_question(row["question"])
        known["activity"] = describe_question(asked) if asked is not None else "asks something"
    elif shown in ("failed", "cancelled", "needs_you") and row["error"]:
        known["activity"] = clean_line(row["error"], _LONGEST)
    if row["unknown"]:
        what = f"{quantity(row['unknown'], 'call')} of unknown outcome"
        known["activity"] = " · ".join(filter(None, (what, known["activity"])))
    if row["finished"] is None and shown in ("done", "failed", "cancelled"):
        known["finished"] = row["seen"]
    silence = now - row["heard"]
    if silence > ALIVE_SECONDS and shown in _ALIVE:
        gone = not row["job"] and silence > 86_400.0
        known["state"] = "crashed" if gone else "lost"
        known["activity"] = f"not seen for {live_duration(silence)}"
        known["finished"] = row["heard"]
    return msgspec.convert(known, FleetRow)


def _state_of(row: _Row) -> FleetState:
    """The state to show: of a job's session the job knows how it ended, and a question that waits is the latest."""
    match row["job_state"] or row["state"]:
        case "done" | "failed" | "cancelled" | "waiting" | "held" | "needs_you" as known:
            over: FleetState = known
            return over
        case _ if row["question"] is not None:
            return "needs_you"
        case _ if row["state"] == "starting" or (row["job_state"] and row["state"] == "idle"):
            # A job has a query from the start.
            return "starting"
        case _ if row["state"] == "idle":
            return "idle"
        case _:
            return "running"
