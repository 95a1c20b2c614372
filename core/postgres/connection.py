"""Connections to a team's database: they notice a dead network, and see only the tables of ua-tui."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from functools import cache
from traceback import clear_frames
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakSet

from ua_tui.core.errors import TeamError, UniversalAgentError
from ua_tui.core.log import log
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.problems import explain, needing_extra, reporting
from ua_tui.core.tasks import end_tasks, pause
from ua_tui.core.version import VERSION

if TYPE_CHECKING:
    import psycopg


SCHEMA = "ua_tui"
"""The schema of the database that has all tables, those of the queue included."""
OLDEST = 130000
"""The oldest version of the server, as `server_version_num` has it: 13."""
_ANSWER_MS = 10_000
"""How long the network may be silent before a connection counts as lost, in milliseconds."""
ANSWER_S = 20.0
"""After so many seconds without an answer to a short statement its connection counts as lost."""
_LENDING_S = 10.0
_LOCKED_MS = 2_000
_OPTIONS = (
    "-c synchronous_commit=on -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3"
    f" -c tcp_user_timeout={_ANSWER_MS}"
)
_PAUSE, _LONGEST_PAUSE = 0.2, 5.0
CHANNEL = "ua_tui"
"""The channel on which changes are announced: `session ID`, `question ID`, `answer ID`, `command ID` and `job ID`, with
the id of a session or a job, and `queue` when a job can be claimed."""
Connection: TypeAlias = "psycopg.AsyncConnection[Any]"


def parameters_of(address: Address, **more: Any) -> dict[str, Any]:
    """The parameters of a connection, for `psycopg`; those of the address have precedence, `options` are added.

    Raises:
        TeamError: the address has an option that libpq does not know.
    """
    with needing_extra():
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
    try:
        given = conninfo_to_dict(address.url)
    except psycopg.ProgrammingError as error:
        raise explain(error, address) from error
    # The variables of libpq count more than what is the default here.
    defaults = {
        "application_name": os.environ.get("PGAPPNAME") or f"ua-tui/{VERSION}",
        "connect_timeout": os.environ.get("PGCONNECT_TIMEOUT") or 10,
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        "tcp_user_timeout": _ANSWER_MS,
    }
    # The parameter replaces the variable, as nothing may change the search path. In the schema public anybody may be
    # allowed to make functions, which would run with the rights of whoever calls them. What is confirmed here is
    # believed: a server that crashes must have it, whatever its configuration prefers. A member may lock some tables:
    # whoever waits for that says so soon, and leaves the connection to others. And the server notices a dead network,
    # too: it keeps no connection that nobody has any more.
    others = given.get("options") or os.environ.get("PGOPTIONS") or ""
    options = f"-c lock_timeout={_LOCKED_MS} {_OPTIONS} {others} -c search_path={SCHEMA}"
    return {**defaults, **given, "options": options, **more}


def connect(address: Address) -> psycopg.Connection[Any]:
    """Connect, for use in a thread, which waits for locks as long as it takes.

    Raises:
        TeamError: the database cannot be reached, or its server is too old.
    """
    parameters = parameters_of(address)
    parameters["options"] += " -c lock_timeout=0"
    import psycopg

    with reporting(address):
        connection: psycopg.Connection[Any] = psycopg.connect(**parameters, autocommit=True)
    if problem := _too_old(connection.info, address):
        connection.close()
        raise problem
    return connection


async def connect_async(address: Address, *, any_version: bool = False) -> Connection:
    """Connect, for use in an event loop; `any_version` also connects to a server that is too old.

    Raises:
        TeamError: the database cannot be reached, or its server is too old.
    """
    parameters = parameters_of(address)
    with reporting(address):
        connection = await _connection_class().connect(**parameters, autocommit=True)
    if not any_version and (problem := _too_old(connection.info, address)):
        await connection.close()
        raise problem
    return connection


@cache
def _connection_class() -> type[Connection]:
    import psycopg

    class ClosedConnection(psycopg.AsyncConnection[Any]):
        """One that is closed at once if it cannot be made: its error keeps it until garbage is collected."""

        @classmethod
        async def connect(cls, *given: Any, **named: Any) -> Connection:  # type: ignore[override]
            try:
                return await super().connect(*given, **named)
            except psycopg.Error as error:
                clear_frames(error.__traceback__)
                raise

    return ClosedConnection


class Connections:
    """The connections that the parts of a program share, so that their number is known; open them, and close them.

    There is a pool for the event loop, a `listener` with one connection, and `threads`, a pool of one for all threads.
    A request waits for a connection that is free, and then to see whether it is lost, `within` so many seconds.
    """

    def __init__(self, address: Address, *, largest: int, within: float | None = None) -> None:
        self._within = within or _LENDING_S
        self.listener = Listener(address)
        parameters = parameters_of(address, autocommit=True)
        with needing_extra():
            from psycopg_pool import AsyncConnectionPool, ConnectionPool
        self._pool: AsyncConnectionPool[Any] = AsyncConnectionPool(
            kwargs=parameters,
            connection_class=_connection_class(),
            min_size=1,
            max_size=largest,
            timeout=self._within,
            check=self._check,
            reconnect_timeout=0,
            open=False,
        )
        self.threads = ConnectionPool(
            kwargs=parameters,
            min_size=0,
            max_size=1,
            timeout=30.0,
            max_idle=60.0,
            check=ConnectionPool.check_connection,
            reconnect_timeout=0,
            open=False,
        )
        self._address = address
        self._used: WeakSet[Connection] = WeakSet()

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        # Settings are sent to the process of Composio's SDK, with an address: another process has no part in these.
        return type(None), ()

    async def open(self) -> None:
        """Begin to connect."""
        await self._pool.open()
        self.threads.open()

    async def close(self) -> None:
        """Close the connections."""
        await self.listener.close()
        await self._pool.close(2.0)
        await asyncio.to_thread(self.threads.close, 2.0)

    @property
    def is_short(self) -> bool:
        """Whether somebody waits for a connection."""
        return bool(self._pool.get_stats().get("requests_waiting"))

    @asynccontextmanager
    async def borrowed(self) -> AsyncIterator[Connection]:
        """A connection of the pool for some statements.

        Raises:
            TeamError: there is none in time, or a statement failed.
        """
        with reporting(self._address):
            db = await self._pool.getconn()
            try:
                yield db
            finally:
                await self._pool.putconn(db)

    def shut_down(self) -> None:
        """End the connections of the event loop at once; what waits for an answer fails."""
        for each in list(self._used):
            shut_down(each)

    async def _check(self, connection: Connection) -> None:
        """Raise an error if a connection is lost, also one to a network that swallows everything; then lend it."""
        from psycopg_pool import AsyncConnectionPool

        self._used.add(connection)
        with answering_within(connection, min(self._within, _ANSWER_MS / 1000)):
            await AsyncConnectionPool.check_connection(connection)


@asynccontextmanager
async def connected(address: Address, within: float | None = None) -> AsyncIterator[Connection]:
    """A connection for some statements: one that the program shares, or else one of its own.

    Raises:
        TeamError: the database cannot be used, or did not answer all of them `within` so many seconds.
    """
    async with AsyncExitStack() as stack:
        if address.connections is not None:
            db = await stack.enter_async_context(address.connections.borrowed())
        else:
            db = await connect_async(address)
            stack.push_async_callback(db.close)
            stack.enter_context(reporting(address))
        if within is not None:
            stack.enter_context(answering_within(db, within))
        yield db


async def fetch(
    address: Address,
    statement: str,
    values: Sequence[Any] | Mapping[str, Any] | None = None,
    *,
    within: float | None = None,
) -> list[Any]:
    """Run a statement over a connection for it; returns its rows, which have names.

    Raises:
        TeamError: the database cannot be used, or did not answer within so many seconds, by default `ANSWER_S`.
    """
    async with connected(address, within or ANSWER_S) as db:
        return await rows_of(db, statement, values)


async def rows_of(
    db: Connection, statement: str, values: Sequence[Any] | Mapping[str, Any] | None = None
) -> list[Any]:
    """The rows of a statement, which have names."""
    from psycopg.rows import namedtuple_row

    async with db.cursor(row_factory=namedtuple_row) as cursor:
        await cursor.execute(statement.encode(), values)
        return await cursor.fetchall() if cursor.description is not None else []


class Listener:
    """Hears what is announced on the channel of a team, over one connection that is made again when it is lost."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._heard: list[Callable[[str], None]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def subscribe(self, heard: Callable[[str], None]) -> Callable[[], None]:
        """Call `heard` with what is announced, and with an empty text when something may have been missed.

        Returns what ends it.
        """
        self._heard.append(heard)
        # One that was cancelled may not have ended yet.
        if all(task.done() or task.cancelling() for task in self._tasks):
            task = asyncio.create_task(self._run(), name="team: listener")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        def end() -> None:
            self._heard.remove(heard)
            for task in self._tasks if not self._heard else ():
                task.cancel()

        return end

    async def close(self) -> None:
        """Stop listening."""
        await end_tasks(*self._tasks)

    def _tell(self, payload: str) -> None:
        for heard in list(self._heard):
            heard(payload)

    async def _run(self) -> None:
        async def hear(db: Connection) -> None:
            self._tell("")
            async for notice in db.notifies():
                self._tell(notice.payload)

        await listen(
            self._address, hear, lambda error: log.info("the team's notifications are delayed: %s", error)
        )


async def listen(
    address: Address,
    work: Callable[[Connection], Awaitable[None]],
    lost: Callable[[Exception], object],
) -> None:
    """Work without end with a connection that hears what is announced, and again with a new one when it is lost.

    `lost` is given the reason of each loss.
    """
    seconds = _PAUSE
    while True:
        began = asyncio.get_running_loop().time()
        try:
            db = await connect_async(address)
            try:
                with reporting(address):
                    await db.execute(f"LISTEN {CHANNEL}".encode())
                    await work(db)
            finally:
                await db.close()
        except (UniversalAgentError, OSError, TimeoutError) as error:
            lost(error)
        lasted = asyncio.get_running_loop().time() - began
        await pause(seconds)
        seconds = _PAUSE if lasted > _LONGEST_PAUSE else min(2 * seconds, _LONGEST_PAUSE)


@contextmanager
def answering_within(connection: Connection, seconds: float) -> Iterator[None]:
    """End the connection if what is in the block takes longer: a network that swallows everything is noticed.

    The statement that waits fails as it does when the server ends the connection. To cancel it instead would ask the
    server, which does not answer.
    """
    timer = asyncio.get_running_loop().call_later(seconds, shut_down, connection)
    try:
        yield
    finally:
        timer.cancel()


def shut_down(connection: Connection) -> None:
    """End a connection at once, without a word to the server; what waits for it fails."""
    # Without a connection there is no descriptor; another end may have come first.
    with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as same:
        same.shutdown(socket.SHUT_RDWR)


def _too_old(info: psycopg.ConnectionInfo, address: Address) -> TeamError | None:
    if info.server_version >= OLDEST:
        return None
    return TeamError(
        f"the server of the team's database {address} is PostgreSQL {shown_version(info)}, which is too old: "
        f"use PostgreSQL {OLDEST // 10000} or later"
    )


def shown_version(info: psycopg.ConnectionInfo) -> str:
    """The version of a server for a person, such as `16.4`, without what its packager adds."""
    return (info.parameter_status("server_version") or "").partition(" ")[0]
