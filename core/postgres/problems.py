"""What a failure of PostgreSQL means for a person, and what to do about it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ua_tui.core.errors import Advice, TeamError
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.refusals import refusal_state
from ua_tui.core.text import clean_line

_MIGRATE = "run `ua-tui team migrate` as the owner of the database"
_LOST = Advice("the connection was lost", "try again in a moment")
# Tables that a role may not use are not there for it.
_NO_TABLES = Advice(
    "there are no tables of ua-tui, older ones, or none that this user may use",
    f"{_MIGRATE}, or have the owner run `ua-tui team grant USER`",
)
_OTHER_VERSION = Advice("the tables of ua-tui are of another version", f"{_MIGRATE}, or update ua-tui")
_BY_STATE = {
    "28P01": Advice("the password is wrong", "check ~/.pgpass or PGPASSWORD"),
    "28000": Advice("the server does not let this user in", "check the user, and pg_hba.conf of the server"),
    "3D000": Advice("there is no such database", f"create it with `createdb`, then {_MIGRATE}"),
    "42501": Advice("this user lacks the rights", "have the owner run `ua-tui team grant USER`"),
    "3F000": _NO_TABLES,
    "42P01": _NO_TABLES,
    "42703": _OTHER_VERSION,
    "42883": _OTHER_VERSION,
    "42704": _OTHER_VERSION,
    "53100": Advice("the disk of the server is full", "free space there; work continues then"),
    "53200": Advice("the server is out of memory", "run fewer workers, or give it more"),
    "53300": Advice("the server has no connection left", "raise its max_connections, or run fewer workers"),
    "25006": Advice("the server is read-only", "connect to the primary server"),
    "55P03": Advice("another program holds a lock there", "try again in a moment"),
    "57014": Advice("the server took too long", "try again in a moment"),
    "57P01": Advice("the server ended the connection", "it is restarting: try again in a moment"),
    "57P03": Advice("the server is starting or stopping", "try again in a moment"),
}
_BY_CLASS = {
    "08": _LOST,
    "28": _BY_STATE["28000"],
    "40": Advice("another program changed the same rows", "try again"),
    "53": Advice("the server is out of resources", "run fewer workers, or give it more"),
    "57": _BY_STATE["57P01"],
    "58": Advice("the system of the server failed, such as its disk", "see the log of the server"),
    "XX": Advice("the server has an internal error", "see the log of the server"),
}


class _Failure(NamedTuple):
    """Words of the client, in lower case, what they mean, and whether the same may succeed later."""

    words: tuple[str, ...]
    advice: Advice
    temporary: bool = True


_OF_CLIENT = (
    _Failure(
        ("no password supplied",),
        Advice(
            "the server asks for a password",
            "add a line for this host, port, database and user to ~/.pgpass (mode 0600), or set PGPASSWORD",
        ),
        False,
    ),
    _Failure(
        ("unsupported startup parameter",),
        Advice(
            "a connection pooler such as PgBouncer answers", "use the address of the PostgreSQL server itself"
        ),
        False,
    ),
    _Failure(
        ("root certificate file",),
        Advice(
            "there is nothing to check the server's certificate with",
            "save that of its authority as ~/.postgresql/root.crt, or name it with sslrootcert= in the address",
        ),
        False,
    ),
    _Failure(
        ("certificate verify failed",),
        Advice("the server's certificate is not trusted", "check sslrootcert= in the address, and the host"),
        False,
    ),
    _Failure(
        ("does not match host name",),
        Advice("the server's certificate is for another host", "check the host in the address"),
        False,
    ),
    _Failure(
        ("does not support ssl", "server does not support direct ssl"),
        Advice("the server has no TLS", "turn it on there (ssl = on), or change sslmode= in the address"),
        False,
    ),
    _Failure(
        ("definition of service",),
        Advice("there is no such service", "check service= in the address, and ~/.pg_service.conf"),
        False,
    ),
    _Failure(
        ("session is read-only", "server is in hot standby"),
        _BY_STATE["25006"],
    ),
    _Failure(
        ("connection refused",),
        Advice("no server is listening (connection refused)", "start it, or check the address"),
    ),
    _Failure(
        ("could not translate host name", "failed to resolve host"),
        Advice("the host is unknown", "check the address"),
    ),
    _Failure(
        ("no such file or directory",),
        Advice("no server is listening there", "start it, or check the address"),
    ),
    _Failure(
        ("no route to host", "network is unreachable"),
        Advice("the host cannot be reached", "check the network and the address"),
    ),
    _Failure(
        ("timeout", "timed out"),
        Advice("the server does not answer", "check the network and the address"),
    ),
    _Failure(
        ("couldn't get a connection",),
        Advice("the server does not answer, or all connections are in use", "try again in a moment"),
    ),
    _Failure(
        ("server closed the connection", "connection reset", "connection is closed", "connection is lost"),
        _LOST,
    ),
)
# Classes and states after which the same statement can succeed: connection, resources, intervention of an operator.
_TEMPORARY = ("08", "40", "53", "57", "58", "25006", "55P03")
# Of those: a violation of the protocol, which is a pooler's refusal; a database that was removed.
_PERMANENT = ("08P01", "57P04")


def explain(error: Exception, address: Address) -> TeamError:
    """Make the error for a person; it has no password, whatever the server wrote."""
    failure = TeamError(f"the team's database {address}: {describe(error)}")
    failure.__cause__ = error
    return failure


def describe(error: Exception) -> Advice:
    """What went wrong and what to do."""
    text = _message(error)
    state = _state(error) or refusal_state(text)
    if advice := _BY_STATE.get(state) or _BY_CLASS.get(state[:2]):
        return advice
    if not state and (failure := _of_client(text)):
        return failure.advice
    secret = os.environ.get("PGPASSWORD", "")
    shown = clean_line(text.replace(secret, "[redacted]") if secret else text, 300)
    return Advice(shown or type(error).__name__)


def is_temporary(error: Exception) -> bool:
    """Whether the same may succeed later: the connection is lost, or the server is restarting or out of space.

    It is also known of a `TeamError` that was made of an error.
    """
    from psycopg import InterfaceError, OperationalError
    from psycopg_pool import PoolTimeout

    if isinstance(error, TeamError):
        return isinstance(error.__cause__, Exception) and is_temporary(error.__cause__)
    text = _message(error)
    if state := _state(error) or refusal_state(text):
        return state.startswith(_TEMPORARY) and state not in _PERMANENT
    if failure := _of_client(text):
        return failure.temporary
    return isinstance(error, (OperationalError, InterfaceError, PoolTimeout, OSError))


@contextmanager
def reporting(address: Address) -> Iterator[None]:
    """Raise a `TeamError` for every error of PostgreSQL in the block."""
    import psycopg
    from psycopg_pool import PoolTimeout

    try:
        yield
    except (psycopg.Error, PoolTimeout) as error:
        raise explain(error, address) from error


def missing_extra(error: ImportError) -> TeamError:
    """The error where the packages of the extra are not installed."""
    failure = TeamError(
        "working in a team needs further packages: run uv tool install '.[team]', or pip install '.[team]', in a clone "
        "of ua-tui"
    )
    failure.__cause__ = error
    return failure


def _message(error: Exception) -> str:
    """The message without the details, which can repeat rows and statements."""
    primary = getattr(getattr(error, "diag", None), "message_primary", None)
    return primary or str(error)


def _of_client(text: str) -> _Failure | None:
    words = text.lower()
    return next((each for each in _OF_CLIENT if any(found in words for found in each.words)), None)


def _state(error: Exception) -> str:
    return getattr(error, "sqlstate", None) or ""
