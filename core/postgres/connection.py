"""Connections to a team's database: they notice a dead network, and see only the tables of ua-tui."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ua_tui.core.errors import TeamError
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.problems import explain, missing_extra
from ua_tui.core.version import VERSION

if TYPE_CHECKING:
    import psycopg
    from psycopg_pool import AsyncConnectionPool

SCHEMA = "ua_tui"
"""The schema of the database that has all tables, those of the queue included."""
OLDEST = 130000
"""The oldest version of the server, as `server_version_num` has it: 13."""
_ANSWER_MS = 10_000
"""How long the network may be silent before a connection counts as lost, in milliseconds."""
_OF_ENVIRONMENT = {"connect_timeout": "PGCONNECT_TIMEOUT", "application_name": "PGAPPNAME"}
"""Parameters for which a variable of libpq counts more than a default of this program."""


def parameters_of(address: Address, **more: Any) -> dict[str, Any]:
    """The parameters of a connection, for `psycopg`; those of the address have precedence, `options` are added.

    Raises:
        TeamError: the address has an option that libpq does not know.
    """
    try:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
    except ImportError as error:
        raise missing_extra(error) from error
    try:
        given = conninfo_to_dict(address.url)
    except psycopg.ProgrammingError as error:
        raise explain(error, address) from error
    defaults = {
        "application_name": f"ua-tui/{VERSION}",
        "connect_timeout": 10,
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        "tcp_user_timeout": _ANSWER_MS,
    }
    for name, variable in _OF_ENVIRONMENT.items():
        if os.environ.get(variable):
            del defaults[name]
    # The parameter replaces the variable, as nothing may change the search path. In the schema public anybody may be
    # allowed to make functions, which would run with the rights of whoever calls them.
    others = given.get("options") or os.environ.get("PGOPTIONS") or ""
    options = f"{others} -c search_path={SCHEMA}".strip()
    return {**defaults, **given, "options": options, **more}


def connect(address: Address, *, autocommit: bool = True) -> psycopg.Connection[Any]:
    """Connect, for use in a thread.

    Raises:
        TeamError: the database cannot be reached, or its server is too old.
    """
    parameters = parameters_of(address)
    import psycopg

    try:
        connection: psycopg.Connection[Any] = psycopg.connect(**parameters, autocommit=autocommit)
    except psycopg.Error as error:
        raise explain(error, address) from error
    if problem := _too_old(connection.info.server_version, address):
        connection.close()
        raise problem
    return connection


async def connect_async(
    address: Address, *, autocommit: bool = True, any_version: bool = False
) -> psycopg.AsyncConnection[Any]:
    """Connect, for use in an event loop; `any_version` also connects to a server that is too old.

    Raises:
        TeamError: the database cannot be reached, or its server is too old.
    """
    parameters = parameters_of(address)
    import psycopg

    try:
        connection: psycopg.AsyncConnection[Any] = await psycopg.AsyncConnection.connect(
            **parameters, autocommit=autocommit
        )
    except psycopg.Error as error:
        raise explain(error, address) from error
    if not any_version and (problem := _too_old(connection.info.server_version, address)):
        await connection.close()
        raise problem
    return connection


def make_pool(address: Address, *, largest: int = 4, timeout: float = 10.0) -> AsyncConnectionPool[Any]:
    """Make a pool of connections, which opens new ones after the server was restarted; open it before use.

    `timeout` is how many seconds a request waits for a connection; it raises `psycopg_pool.PoolTimeout` then.
    """
    parameters = parameters_of(address, autocommit=True)
    from psycopg_pool import AsyncConnectionPool

    return AsyncConnectionPool(
        kwargs=parameters,
        min_size=1,
        max_size=largest,
        timeout=timeout,
        check=_check,
        reconnect_timeout=0,
        open=False,
    )


async def _check(connection: psycopg.AsyncConnection[Any]) -> None:
    """Raise an error if the connection is lost, also one to a network that swallows everything."""
    from psycopg_pool import AsyncConnectionPool

    with answering_within(connection, _ANSWER_MS / 1000):
        await AsyncConnectionPool.check_connection(connection)


@contextmanager
def answering_within(connection: psycopg.AsyncConnection[Any], seconds: float) -> Iterator[None]:
    """End the connection if what is in the block takes longer: a network that swallows everything is noticed.

    The statement that waits fails as it does when the server ends the connection. To cancel it instead would ask the
    server, which does not answer.
    """
    timer = asyncio.get_running_loop().call_later(seconds, shut_down, connection)
    try:
        yield
    finally:
        timer.cancel()


def shut_down(connection: psycopg.AsyncConnection[Any]) -> None:
    """End a connection at once, without a word to the server; what waits for it fails."""
    # Without a connection there is no descriptor; another end may have come first.
    with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as same:
        same.shutdown(socket.SHUT_RDWR)


def _too_old(version: int, address: Address) -> TeamError | None:
    if version >= OLDEST:
        return None
    return TeamError(
        f"the team's database {address}: its server is PostgreSQL {shown_version(version)}, which is too old: "
        f"it must be {OLDEST // 10000} or later"
    )


def shown_version(number: int) -> str:
    """The version of a server for a person: `16.4` for 160004, `9.6.3` for 90603."""
    if number >= 100000:
        return f"{number // 10000}.{number % 10000}"
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"
