"""The ledgers of a session's actions: in the database of a team, or in this machine's file of jobs.

`action` has a row for each call that acts outside. It is committed before the call runs, and only while the session's
`attempt` is still this worker's: whoever takes the session over finds every action that may have run.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ua_tui.core.agent.ledger import SUPERSEDED, EarlierAction, LedgerRefusal
from ua_tui.core.errors import TeamError
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import connect_async
from ua_tui.core.postgres.problems import is_temporary, reporting
from ua_tui.core.team.local_tables import is_current, local_tables
from ua_tui.core.team.records import SessionId

if TYPE_CHECKING:
    from ua_tui.core.agent.ledger import ActionLedger

log = logging.getLogger(__name__)

T = TypeVar("T")

WAIT_SECONDS = 60.0
"""How long an action waits for a database that cannot be reached."""
_PAUSES = (0.1, 0.2, 0.5, 1.0)
_MOST = 200

_BEGIN = """
WITH mine AS (
    SELECT id FROM session WHERE id = %(session)s AND attempt = %(attempt)s FOR SHARE
), earlier AS (
    SELECT DISTINCT ON (key) tool, state, coalesce(result, '') AS result FROM action
    WHERE session = %(session)s AND key = ANY(%(keys)s) AND attempt < %(attempt)s ORDER BY key, attempt DESC
), added AS (
    INSERT INTO action (session, key, attempt, tool)
    SELECT mine.id, given.key, %(attempt)s, given.tool
    FROM mine, unnest(%(keys)s::text[], %(tools)s::text[]) AS given (key, tool)
    WHERE NOT EXISTS (SELECT FROM earlier)
    ON CONFLICT (session, key, attempt)
        DO UPDATE SET state = 'running', result = NULL, started_at = now(), finished_at = NULL
)
SELECT EXISTS (SELECT FROM mine), tool, state, result
FROM (VALUES (1)) AS once LEFT JOIN earlier ON true
"""
_EARLIER = (
    "SELECT DISTINCT ON (key) tool, state, coalesce(result, '') FROM action"
    " WHERE session = %(session)s AND key = ANY(%(keys)s) AND attempt < %(attempt)s ORDER BY key, attempt DESC"
)
_ALL_EARLIER = (
    "SELECT tool, state, coalesce(result, '') FROM action"
    " WHERE session = %(session)s AND attempt < %(attempt)s ORDER BY started_at LIMIT %(most)s"
)
_LOCAL_EARLIER = (
    "SELECT tool, state, coalesce(result, '') FROM action WHERE session = ? AND attempt < ?"
    " AND (? IS NULL OR key IN (SELECT value FROM json_each(?))) ORDER BY started_at LIMIT ?"
)
# Without a look at the attempt: the row is of this one, and how the call ended is known here alone.
_FINISH = (
    "UPDATE action SET state = %(state)s, result = %(result)s, finished_at = now()"
    " WHERE session = %(session)s AND attempt = %(attempt)s AND key = ANY(%(keys)s)"
)


class SessionActions(ABC):
    """The part of a ledger that both stores share: which calls run, and how long a store is waited for.

    A subclass runs statements; see `ActionLedger` for the methods.

    Args:
        session: the session, and this attempt at it.
        wait: how many seconds an action waits for a store that cannot be reached.
        on_superseded: called when the session is another worker's.
    """

    def __init__(
        self,
        session: SessionId,
        *,
        wait: float = WAIT_SECONDS,
        on_superseded: Callable[[], object] = lambda: None,
    ) -> None:
        self._session = session
        self._on_superseded = on_superseded
        self._wait = wait
        self._calls: dict[str, tuple[str, ...]] = {}
        self._unsaved: set[asyncio.Task[None]] = set()

    async def earlier(self, keys: Sequence[str]) -> Sequence[EarlierAction]:
        """What became of these actions in earlier attempts."""
        try:
            return await self._earlier(list(keys))
        except TeamError as error:
            raise LedgerRefusal(_unreachable(error)) from error

    async def of_earlier_attempts(self) -> Sequence[EarlierAction]:
        """Every action of earlier attempts, in their order; of very many the first ones.

        Raises:
            TeamError: they cannot be read.
        """
        return await self._earlier(None)

    async def begin(
        self, actions: Mapping[str, str], tool_use_id: str, stopping: Callable[[], bool]
    ) -> Sequence[EarlierAction]:
        """Record actions that are about to run."""
        try:
            is_mine, earlier = await self._retrying(lambda: self._begin(dict(actions)), stopping)
        except TeamError as error:
            raise LedgerRefusal(_unreachable(error)) from error
        if not is_mine:
            self._on_superseded()
            raise LedgerRefusal(SUPERSEDED)
        if not earlier:
            self._calls[tool_use_id] = tuple(actions)
        return earlier

    async def finish(self, tool_use_id: str, *, ok: bool, result: str) -> None:
        """Record how a call ended, in the background if the store cannot be reached now."""
        keys = self._calls.pop(tool_use_id, ())
        # An equal call that still runs keeps its row as it is.
        ended = [key for key in keys if not any(key in others for others in self._calls.values())]
        if not ended:
            return
        state = "done" if ok else "failed"
        try:
            await self._finish(ended, state, result)
        except TeamError:
            task = asyncio.create_task(self._finish_later(ended, state, result))
            self._unsaved.add(task)
            task.add_done_callback(self._unsaved.discard)

    async def _finish_later(self, keys: list[str], state: str, result: str) -> None:
        try:
            await self._retrying(lambda: self._finish(keys, state, result), lambda: False)
        except TeamError as error:
            log.warning("the end of an action was not recorded: %s", error)

    async def _retrying(self, work: Callable[[], Awaitable[T]], stopping: Callable[[], bool]) -> T:
        until, pauses = time.monotonic() + self._wait, iter(_PAUSES)
        while True:
            try:
                async with asyncio.timeout(max(0.1, until - time.monotonic())):
                    return await work()
            except TimeoutError as error:
                raise TeamError("it did not answer in time") from error
            except TeamError as error:
                if stopping() or time.monotonic() > until or not self._may_succeed_later(error):
                    raise
            await asyncio.sleep(next(pauses, _PAUSES[-1]))

    @abstractmethod
    def _may_succeed_later(self, error: TeamError) -> bool:
        """Whether the same may be tried again."""

    @abstractmethod
    async def _earlier(self, keys: list[str] | None) -> Sequence[EarlierAction]:
        """What became of these actions, or of all."""

    @abstractmethod
    async def _begin(self, actions: dict[str, str]) -> tuple[bool, Sequence[EarlierAction]]:
        """Record actions (key -> tool); returns whether the session is ours, and those of earlier attempts."""

    @abstractmethod
    async def _finish(self, keys: list[str], state: str, result: str) -> None:
        """Record how these actions ended."""


class PostgresActions(SessionActions):
    """The ledger in the database of a team.

    A connection is made for each statement: actions are rare, and connections are what a server has few of.
    """

    def __init__(self, address: Address, session: SessionId, **more: Any) -> None:
        super().__init__(session, **more)
        self._address = address

    def _may_succeed_later(self, error: TeamError) -> bool:
        return isinstance(error.__cause__, Exception) and is_temporary(error.__cause__)

    async def _earlier(self, keys: list[str] | None) -> Sequence[EarlierAction]:
        if keys is None:
            return _actions(await self._run(_ALL_EARLIER, most=_MOST))
        return _actions(await self._run(_EARLIER, keys=keys))

    async def _begin(self, actions: dict[str, str]) -> tuple[bool, Sequence[EarlierAction]]:
        rows = await self._run(_BEGIN, keys=list(actions), tools=list(actions.values()))
        return bool(rows[0][0]), _actions(row[1:] for row in rows if row[1] is not None)

    async def _finish(self, keys: list[str], state: str, result: str) -> None:
        await self._run(_FINISH, keys=keys, state=state, result=result.replace("\0", ""))

    async def _run(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        given = {"session": self._session.id, "attempt": self._session.attempt, **values}
        connection = await connect_async(self._address)
        try:
            with reporting(self._address):
                cursor = await connection.execute(statement.encode(), given)
                return await cursor.fetchall() if cursor.description else []
        finally:
            await connection.close()


class SqliteActions(SessionActions):
    """The ledger in this machine's file of jobs."""

    def __init__(self, path: Path, session: SessionId, **more: Any) -> None:
        super().__init__(session, **more)
        self._path = path

    def _may_succeed_later(self, error: TeamError) -> bool:
        # The disk may have space again, and whoever holds the lock may let it go.
        return True

    async def _earlier(self, keys: list[str] | None) -> Sequence[EarlierAction]:
        def read() -> Sequence[EarlierAction]:
            with local_tables(self._path) as db:
                return self._read(db, keys)

        return await asyncio.to_thread(read)

    def _read(self, db: sqlite3.Connection, keys: list[str] | None) -> Sequence[EarlierAction]:
        session = self._session
        given = None if keys is None else json.dumps(keys)
        return _actions(db.execute(_LOCAL_EARLIER, (session.id, session.attempt, given, given, _MOST)))

    async def _begin(self, actions: dict[str, str]) -> tuple[bool, Sequence[EarlierAction]]:
        def begin() -> tuple[bool, Sequence[EarlierAction]]:
            session, now = self._session, time.time()
            with local_tables(self._path) as db:
                if not is_current(db, session):
                    return False, ()
                if not (found := self._read(db, list(actions))):
                    db.executemany(
                        "INSERT INTO action (session, key, attempt, tool, started_at) VALUES (?, ?, ?, ?, ?)"
                        " ON CONFLICT DO UPDATE SET state = 'running', result = NULL, finished_at = NULL,"
                        " started_at = excluded.started_at",
                        [(session.id, key, session.attempt, tool, now) for key, tool in actions.items()],
                    )
                return True, found

        return await asyncio.to_thread(begin)

    async def _finish(self, keys: list[str], state: str, result: str) -> None:
        def finish() -> None:
            session, now = self._session, time.time()
            with local_tables(self._path) as db:
                db.executemany(
                    "UPDATE action SET state = ?, result = ?, finished_at = ?"
                    " WHERE session = ? AND attempt = ? AND key = ?",
                    [(state, result, now, session.id, session.attempt, key) for key in keys],
                )

        await asyncio.to_thread(finish)


def _actions(rows: Iterable[Sequence[Any]]) -> list[EarlierAction]:
    return [EarlierAction(tool=tool, state=state, result=result) for tool, state, result in rows]


def _unreachable(error: TeamError) -> str:
    return (
        "This was not run: what acts outside is recorded first, and the record could not be written "
        f"({error}). Try again later, or say in the answer that it was not done."
    )


if TYPE_CHECKING:
    _checked: tuple[type[ActionLedger], ...] = (PostgresActions, SqliteActions)
