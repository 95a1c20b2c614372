"""The ledgers of a session's actions: in the database of a team, or in the folder of a session of this machine.

There is a row for each call that acts outside. It is committed before the call runs, and only while the session's
`attempt` is still this worker's: whoever takes the session over finds every action that may have run.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

from ua_tui.core.agent.ledger import SUPERSEDED, EarlierAction, LedgerRefusal, RecordedAction, read_actions
from ua_tui.core.errors import TeamError, WorkspaceError
from ua_tui.core.log import log
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import fetch
from ua_tui.core.postgres.problems import is_temporary
from ua_tui.core.storage.files import Root
from ua_tui.core.storage.workspace import ACTIONS
from ua_tui.core.team.records import SessionId

if TYPE_CHECKING:
    from ua_tui.core.agent.ledger import ActionLedger


T = TypeVar("T")

WAIT_SECONDS = 60.0
"""How long an action waits for a store that cannot be reached."""
_PAUSES = (0.1, 0.2, 0.5, 1.0)
_MOST = 200
_LEAVING = "This was not run: the program is ending. It will be requested again when the session is resumed."

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
_EARLIER = """
SELECT tool, state, result FROM (
    SELECT DISTINCT ON (key) tool, state, coalesce(result, '') AS result, started_at FROM action
    WHERE session = %(session)s AND attempt < %(attempt)s AND coalesce(key = ANY(%(keys)s::text[]), true)
    ORDER BY key, attempt DESC
) AS newest ORDER BY started_at LIMIT %(most)s
"""
# Without a look at the attempt: the row is of this one, and how the call ended is known here alone.
_FINISH = (
    "UPDATE action SET state = %(state)s, result = %(result)s, finished_at = now()"
    " WHERE session = %(session)s AND attempt = %(attempt)s AND key = ANY(%(keys)s)"
)


class SessionActions:
    """The ledger in the database of a team; see `ActionLedger` for the methods.

    Args:
        address: the database; None for a ledger elsewhere.
        session: the session, and this attempt at it.
        on_superseded: called with the reason when the session is another worker's, or is to be left to one that
            reaches the store.
    """

    def __init__(
        self,
        address: Address | None,
        session: SessionId,
        *,
        on_superseded: Callable[[str], object] = lambda _why: None,
    ) -> None:
        self._address = address
        self._session = session
        self._on_superseded = on_superseded
        # The calls that were begun, with the actions that were recorded for them.
        self._open: dict[str, tuple[str, ...]] = {}
        self._is_leaving = False
        self._ended = asyncio.Event()
        self._unsaved: set[asyncio.Task[None]] = set()

    async def earlier(self, keys: Sequence[str] | None = None) -> Sequence[EarlierAction]:
        """What became of these actions in earlier attempts, or of all in their order; of very many the first ones."""
        try:
            return await self._earlier(None if keys is None else list(keys))
        except TeamError as error:
            raise LedgerRefusal(_unreachable(error)) from error

    async def begin(
        self, actions: Mapping[str, str], tool_use_id: str, stopping: Callable[[], bool]
    ) -> Sequence[EarlierAction]:
        """Record actions that are about to run."""
        while self._is_leaving:
            # The session is about to end: whoever resumes it asks again.
            if stopping():
                raise LedgerRefusal(_LEAVING)
            await asyncio.sleep(_PAUSES[0])
        self._open[tool_use_id] = ()
        try:
            earlier = await self._retrying(lambda: self._begin(dict(actions)), stopping)
            if not earlier:
                self._open[tool_use_id] = tuple(actions)
            return earlier
        except TeamError as error:
            if self._may_succeed_later(error):
                # It runs when the session is resumed, instead of ending as done without what it should do.
                self._on_superseded(f"its actions could not be recorded: {error}")
            raise LedgerRefusal(_unreachable(error)) from error
        finally:
            if not self._open[tool_use_id]:
                self._end(tool_use_id)

    async def finish(self, tool_use_id: str, *, ok: bool, result: str) -> None:
        """Record how a call ended, in the background if the store cannot be reached now."""
        keys = self._open.get(tool_use_id, ())
        others = [keys for call, keys in self._open.items() if call != tool_use_id]
        # An equal call that still runs keeps its row as it is.
        ended = [key for key in keys if not any(key in each for each in others)]
        state: Literal["done", "failed"] = "done" if ok else "failed"
        try:
            if ended:
                await self._finish(ended, state, result)
        except TeamError:
            task = asyncio.create_task(self._finish_later(ended, state, result))
            self._unsaved.add(task)
            task.add_done_callback(self._unsaved.discard)
        finally:
            self._end(tool_use_id)

    async def leave(self) -> None:
        """Let no further action begin, and wait until those that run have ended and are recorded."""
        self._is_leaving = True
        while self._open:
            self._ended.clear()
            await self._ended.wait()
        await asyncio.gather(*self._unsaved)

    def _end(self, tool_use_id: str) -> None:
        self._open.pop(tool_use_id, None)
        self._ended.set()

    async def _finish_later(self, keys: list[str], state: Literal["done", "failed"], result: str) -> None:
        try:
            await self._retrying(lambda: self._finish(keys, state, result), lambda: False)
        except TeamError as error:
            log.warning("the end of an action was not recorded: %s", error)

    async def _retrying(self, work: Callable[[], Awaitable[T]], stopping: Callable[[], bool]) -> T:
        until, pauses = time.monotonic() + WAIT_SECONDS, iter(_PAUSES)
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

    # -- the store, which a subclass replaces -------------------------------------------------------

    def _may_succeed_later(self, error: TeamError) -> bool:
        """Whether the same may be tried again."""
        return is_temporary(error)

    async def _earlier(self, keys: list[str] | None) -> Sequence[EarlierAction]:
        """What became of these actions, or of all."""
        return _actions(await self._run(_EARLIER, keys=keys, most=_MOST))

    async def _begin(self, actions: dict[str, str]) -> Sequence[EarlierAction]:
        """Record actions (key -> tool) unless earlier attempts began some, which are returned."""
        rows = await self._run(_BEGIN, keys=list(actions), tools=list(actions.values()))
        if not rows[0][0]:
            self._on_superseded("another worker has taken it over")
            raise LedgerRefusal(SUPERSEDED)
        return _actions(row[1:] for row in rows if row[1] is not None)

    async def _finish(self, keys: list[str], state: Literal["done", "failed"], result: str) -> None:
        """Record how these actions ended."""
        await self._run(_FINISH, keys=keys, state=state, result=result.replace("\0", ""))

    async def _run(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        assert self._address is not None
        given = {"session": self._session.id, "attempt": self._session.attempt, **values}
        return await fetch(self._address, statement, given)


class FolderActions(SessionActions):
    """The ledger of a job of this machine: a file in the folder of its session, whose lock keeps other programs away.

    Give it the folder with `open` before the session begins.
    """

    def __init__(self, session: SessionId, **more: Any) -> None:
        super().__init__(None, session, **more)
        self._root: Root | None = None
        self._rows: list[RecordedAction] = []
        self._writing = asyncio.Lock()

    async def open(self, folder: Path) -> None:
        """Record in this folder from now on, behind what is recorded there or was in the folder before.

        Raises:
            WorkspaceError: what is recorded there cannot be read.
        """
        if not await asyncio.to_thread(folder.is_dir):
            return
        self._root = Root(folder)
        self._rows = await asyncio.to_thread(read_actions, self._root) or self._rows

    def _may_succeed_later(self, error: TeamError) -> bool:
        # The disk may have space again.
        return True

    async def _earlier(self, keys: list[str] | None) -> Sequence[EarlierAction]:
        earlier = (row for row in self._rows if row.attempt < self._session.attempt)
        newest = {row.key: row for row in earlier if keys is None or row.key in keys}
        return _actions((row.tool, row.state, row.result) for row in [*newest.values()][:_MOST])

    async def _begin(self, actions: dict[str, str]) -> Sequence[EarlierAction]:
        attempt = self._session.attempt
        if not (found := await self._earlier(list(actions))):
            async with self._writing:
                kept = [row for row in self._rows if row.attempt < attempt or row.key not in actions]
                new = [RecordedAction(key=key, attempt=attempt, tool=tool) for key, tool in actions.items()]
                await self._write([*kept, *new])
        return found

    async def _finish(self, keys: list[str], state: Literal["done", "failed"], result: str) -> None:
        async with self._writing:
            for row in self._rows:
                if row.attempt == self._session.attempt and row.key in keys:
                    row.state, row.result = state, result
            await self._write(self._rows)

    async def _write(self, rows: list[RecordedAction]) -> None:
        assert self._root is not None
        try:
            await asyncio.to_thread(self._root.write, ACTIONS, msgspec.json.encode(rows))
        except WorkspaceError as error:
            raise TeamError(str(error)) from error
        self._rows = rows


def _actions(rows: Iterable[Sequence[Any]]) -> list[EarlierAction]:
    return [EarlierAction(tool=tool, state=state, result=result) for tool, state, result in rows]


def _unreachable(error: TeamError) -> str:
    return (
        "This was not run: calls with external side effects are recorded first, and the record could not be written "
        f"({error}). Try again later, or say in the answer that it was not done."
    )


if TYPE_CHECKING:
    _checked: tuple[type[ActionLedger], ...] = (SessionActions, FolderActions)
