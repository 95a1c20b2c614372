"""The sessions and waiting jobs of a team, from its database: what changes is announced, and read at once."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from ua_tui.core.errors import TeamError
from ua_tui.core.events.units import live_duration
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import answering_within, connect_async
from ua_tui.core.postgres.problems import is_temporary, reporting
from ua_tui.core.postgres.schema import VERSION_QUERY, check_version
from ua_tui.core.postgres.state import ALIVE_SECONDS
from ua_tui.core.team.fleet.local import MOST_WAITING, question_line
from ua_tui.core.team.fleet.rows import MOST_FINISHED, FleetRow, FleetState
from ua_tui.core.team.records import CHANNEL
from ua_tui.core.text import clean_line

if TYPE_CHECKING:
    import psycopg

log = logging.getLogger(__name__)

POLL_SECONDS = 2.0
"""How often is looked for changes that nobody announced."""
COUNT_SECONDS = 6.0
"""How often the jobs are counted, of which there may be many, if nobody announced that one has changed."""
ANSWER_SECONDS = 10.0
_AT_MOST_EVERY = 0.2
_OVERLAP = 15.0
"""Seconds by which two polls overlap: a change is dated when its transaction begins, and seen when that ends."""
_PAUSE, _LONGEST_PAUSE = 0.25, 5.0
_LONGEST = 300

_SESSIONS = """
SELECT s.id, coalesce(s.job, ''), s.name, s.host, s.worker, s.owner::text, s.shared, s.state,
    left(coalesce(nullif(s.title, ''), j.query, ''), 400), left(s.activity, 400), greatest(j.cost_usd, s.cost_usd),
    extract(epoch FROM s.started_at)::float8, extract(epoch FROM s.finished_at)::float8,
    extract(epoch FROM greatest(s.seen_at, w.seen_at))::float8, coalesce(j.state, ''), left(coalesce(j.error, ''), 400),
    (SELECT left(q.event, 20000) FROM question q WHERE q.session = s.id AND q.attempt = s.attempt
        AND q.answer IS NULL ORDER BY q.asked_at DESC LIMIT 1)
FROM session s LEFT JOIN job j ON j.id = s.job LEFT JOIN worker w ON w.id = j.queue_worker
"""
_NEWEST = f"{_SESSIONS} ORDER BY s.seen_at DESC LIMIT %(most)s"
_CHANGED = (
    f"{_SESSIONS} WHERE s.id = ANY(%(ids)s) OR s.job = ANY(%(jobs)s) OR s.seen_at > to_timestamp(%(since)s)"
)
_ANNOUNCED = f"{_SESSIONS} WHERE s.id = ANY(%(ids)s) OR s.job = ANY(%(jobs)s)"
# A job that was handed back waits with its session.
_WAITING = """
SELECT id, owner::text, shared, left(query, 400), extract(epoch FROM submitted_at)::float8
FROM job WHERE state = 'waiting' AND session IS NULL ORDER BY submitted_at, id LIMIT %(most)s
"""
_COUNTS = """
SELECT extract(epoch FROM now())::float8, count(*) FILTER (WHERE state = 'waiting' AND session IS NULL),
    count(*) FILTER (WHERE state = 'done'), count(*) FILTER (WHERE state = 'failed'),
    coalesce(sum(cost_usd) FILTER (WHERE state NOT IN ('running', 'needs_you')), 0)::float8 FROM job
"""


_ALIVE: tuple[FleetState, ...] = ("running", "needs_you", "idle")


class _Seen(msgspec.Struct, frozen=True):
    """A row, and when its worker was heard of last, by the server's clock."""

    row: FleetRow
    at: float


class DatabaseSessions:
    """Keeps the sessions of a team up to date. Belongs to one event loop.

    Args:
        address: the team's database.
        changed: called after each change.
    """

    def __init__(self, address: Address, changed: Callable[[], None]) -> None:
        self._address = address
        self._changed = changed
        self._seen: dict[str, _Seen] = {}
        self._waiting_rows: tuple[FleetRow, ...] = ()
        self._ahead = 0.0
        """How much the server's clock is ahead of the monotonic one here."""
        self._counted_at = 0.0
        self.waiting = 0
        self.done = 0
        self.failed = 0
        self.cost_usd = 0.0
        """What all jobs have cost that do not run."""
        self.problem = ""
        """Why the rows are old; empty if they are not."""
        self.lost_at: float | None = None
        """When the database was reached last, if it is not reached now; in seconds since the epoch."""
        self.is_reachable = True
        """Whether the database answers, although it cannot be used."""
        self.is_read = asyncio.Event()
        """Set once all was read, or could not be read for the first time."""

    def rows(self) -> Iterator[FleetRow]:
        """The sessions, and the first of the jobs that wait."""
        now = time.monotonic() + self._ahead
        for seen in self._seen.values():
            # While the database is away nobody is heard of.
            yield seen.row if self.problem else _with_silence(seen, now - seen.at)
        yield from self._waiting_rows

    def _silent(self) -> set[str]:
        """The sessions that count as lost, or soon will: what they do may not show in their own rows."""
        before = time.monotonic() + self._ahead - ALIVE_SECONDS + 2 * POLL_SECONDS
        found = [id_ for id_, seen in self._seen.items() if seen.at < before and seen.row.state in _ALIVE]
        return set(found[:200])

    async def read(self) -> None:
        """Read everything once.

        Raises:
            TeamError: the database cannot be used.
        """
        connection = await self._connect()
        try:
            with reporting(self._address):
                await self._read_all(connection)
            self._reached()
        finally:
            await connection.close()

    async def run(self) -> None:
        """Keep everything up to date until it is cancelled, over one connection after the other."""
        pause = _PAUSE
        while True:
            try:
                connection = await self._connect()
                try:
                    with reporting(self._address):
                        await connection.execute(f"LISTEN {CHANNEL}".encode())
                        while True:
                            await self._read_all(connection)
                            self._reached()
                            pause = _PAUSE
                            await self._follow(connection, time.monotonic() + 60.0)
                finally:
                    await connection.close()
            except (TeamError, OSError, TimeoutError) as error:
                self._lost(error)
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _connect(self) -> psycopg.AsyncConnection[Any]:
        connection = await connect_async(self._address)
        try:
            with reporting(self._address):
                cursor = await connection.execute(VERSION_QUERY.encode())
                row = await cursor.fetchone()
            check_version(row[0] if row else None, self._address)
        except BaseException:
            await connection.close()
            raise
        return connection

    def _reached(self) -> None:
        self.problem, self.lost_at = "", None
        self.is_read.set()
        self._changed()

    def _lost(self, error: Exception) -> None:
        text = str(error) if isinstance(error, TeamError) else "the server does not answer"
        reason = text.removeprefix(f"the team's database {self._address}: ")
        cause = error.__cause__
        self.is_reachable = isinstance(error, TeamError) and not (
            isinstance(cause, Exception) and is_temporary(cause)
        )
        if not self.problem:
            log.warning("the sessions of the team are not up to date: %s", reason)
            self.lost_at = time.time()
        self.problem = reason
        self.is_read.set()
        self._changed()

    # -- reading ------------------------------------------------------------------------------------

    async def _follow(self, connection: psycopg.AsyncConnection[Any], until: float) -> None:
        """Read what changes until then."""
        poll_at = time.monotonic() + POLL_SECONDS
        ids: set[str] = set()
        jobs: set[str] = set()
        read_at, counts = 0.0, False
        while (now := time.monotonic()) < until:
            due = poll_at if not (ids or jobs) else min(poll_at, read_at + _AT_MOST_EVERY)
            async for notice in connection.notifies(timeout=max(0.0, due - now), stop_after=1):
                kind, _, id_ = notice.payload.partition(" ")
                (jobs if kind == "job" else ids).add(id_)
                if kind in ("question", "answer"):
                    # Somebody waits.
                    due = 0.0
            now = time.monotonic()
            if now >= poll_at:
                await self._read_changed(connection, ids, jobs, count=counts or bool(jobs))
                poll_at, counts = time.monotonic() + POLL_SECONDS, False
            elif (ids or jobs) and now >= min(due, read_at + _AT_MOST_EVERY):
                await self._read_announced(connection, ids, jobs)
                counts = counts or bool(jobs)
            else:
                continue
            ids, jobs, read_at = set(), set(), time.monotonic()

    async def _read_all(self, connection: psycopg.AsyncConnection[Any]) -> None:
        rows = await _fetch(connection, _NEWEST, most=MOST_FINISHED)
        self._seen = {seen.row.session: seen for seen in map(_row_of, rows)}
        await self._read_waiting(connection)

    async def _read_changed(
        self, connection: psycopg.AsyncConnection[Any], ids: set[str], jobs: set[str], *, count: bool
    ) -> None:
        since = time.monotonic() + self._ahead - POLL_SECONDS - _OVERLAP
        silent = self._silent()
        rows = await _fetch(connection, _CHANGED, ids=list(ids | silent), jobs=list(jobs), since=since)
        self._add(rows)
        if silent:
            # They are lost by the time alone.
            self._changed()
        if count or time.monotonic() - self._counted_at >= COUNT_SECONDS:
            counted = self.waiting, self.done, self.failed, self.cost_usd, self._waiting_rows
            await self._read_waiting(connection)
            if counted != (self.waiting, self.done, self.failed, self.cost_usd, self._waiting_rows):
                self._changed()

    async def _read_announced(
        self, connection: psycopg.AsyncConnection[Any], ids: set[str], jobs: set[str]
    ) -> None:
        self._add(await _fetch(connection, _ANNOUNCED, ids=list(ids), jobs=list(jobs)))

    def _add(self, rows: list[tuple[Any, ...]]) -> None:
        is_news = False
        for seen in map(_row_of, rows):
            before = self._seen.get(seen.row.session)
            is_news = is_news or before is None or before.row != seen.row
            self._seen[seen.row.session] = seen
        if is_news:
            self._changed()

    async def _read_waiting(self, connection: psycopg.AsyncConnection[Any]) -> None:
        (counts,) = await _fetch(connection, _COUNTS)
        now, waiting, self.done, self.failed, self.cost_usd = counts
        self._counted_at = time.monotonic()
        self._ahead = now - self._counted_at
        if waiting != self.waiting or len(self._waiting_rows) != min(waiting, MOST_WAITING):
            self.waiting = waiting
            rows = await _fetch(connection, _WAITING, most=MOST_WAITING)
            self._waiting_rows = tuple(_waiting_row(*row) for row in rows)


async def find_session(address: Address, id_: str) -> FleetRow:
    """Read one session of a team.

    Raises:
        TeamError: the database cannot be used, or has no such session.
    """
    connection = await connect_async(address)
    try:
        with reporting(address):
            rows = await _fetch(connection, _ANNOUNCED, ids=[id_], jobs=[])
    finally:
        await connection.close()
    if not rows:
        raise TeamError(f"the team's database {address} has no session {clean_line(id_, 60)!r}")
    return _row_of(rows[0]).row


async def _fetch(
    connection: psycopg.AsyncConnection[Any], statement: str, **values: Any
) -> list[tuple[Any, ...]]:
    with answering_within(connection, ANSWER_SECONDS):
        cursor = await connection.execute(statement.encode(), values)
        return await cursor.fetchall()


def _row_of(values: tuple[Any, ...]) -> _Seen:
    (
        id_,
        job,
        name,
        host,
        worker,
        owner,
        shared,
        state,
        title,
        activity,
        cost,
        started,
        finished,
        seen_at,
    ) = values[:14]
    job_state, error, question = values[14:]
    shown = _state_of(state, job_state, asks=question is not None)
    if shown == "needs_you" and question is not None:
        activity = question_line(question)
    elif shown in ("failed", "cancelled"):
        activity = error or activity
    row = FleetRow(
        id=f"team:{id_}",
        state=shown,
        title=clean_line(title, _LONGEST),
        activity=clean_line(activity, _LONGEST),
        cost_usd=cost,
        started=started,
        finished=finished
        if finished is not None or shown not in ("done", "failed", "cancelled")
        else seen_at,
        where=clean_line(worker or host, 60),
        host=clean_line(host, 60),
        owner=clean_line(owner, 60),
        name=clean_line(name, 100),
        session=id_,
        job=job,
        private=not shared,
    )
    return _Seen(row, seen_at)


def _with_silence(seen: _Seen, seconds: float) -> FleetRow:
    """The row of a session that was heard of so many seconds ago."""
    row = seen.row
    if seconds <= ALIVE_SECONDS or row.state not in _ALIVE:
        return row
    gone = not row.job and seconds > 86_400.0
    return msgspec.structs.replace(
        row,
        state="crashed" if gone else "lost",
        activity=f"not seen for {live_duration(seconds)}",
        finished=seen.at,
    )


def _state_of(state: str, job: str, *, asks: bool) -> FleetState:
    """The state to show: of a job's session the job knows how it ended, and a question that waits is the latest."""
    match job or state:
        case "done" | "failed" | "cancelled" | "waiting" as known:
            over: FleetState = known
            return over
        case "needs_you":
            return "needs_you"
        case _ if asks:
            return "needs_you"
        case _ if state == "idle":
            return "idle"
        case _:
            return "running"


def _waiting_row(id_: str, owner: str, shared: bool, query: str, submitted: float) -> FleetRow:
    return FleetRow(
        id=f"job:{id_}",
        state="waiting",
        title=clean_line(query, _LONGEST),
        started=submitted,
        owner=clean_line(owner, 60),
        job=id_,
        private=not shared,
    )
