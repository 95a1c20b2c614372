"""What a failure of PostgreSQL means for a person, and what to do about it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from core.errors import Advice, TeamError
from core.postgres.address import Address
from core.text import clean_line

if TYPE_CHECKING:
    pass

__all__ = ["describe", "explain", "is_temporary", "missing_extra", "reporting"]

_MIGRATE = "run `ua-tui team migrate` as the owner of the database"
_BY_STATE = {
    "28P01": Advice("the password is wrong", "check ~/.pgpass or PGPASSWORD"),
    "28000": Advice("the server does not let this user in", "check the user, and pg_hba.conf of the server"),
    "3D000": Advice("there is no such database", "create it with `createdb`, then " + _MIGRATE),
    "42501": Advice("this user lacks the rights", "have the owner run `ua-tui team grant USER`"),
    "3F000": Advice("the database has no tables of ua-tui", _MIGRATE),
    "42P01": Advice("the database has no tables of ua-tui, or older ones", _MIGRATE),
    "42703": Advice("the tables of ua-tui are of another version", _MIGRATE + ", or update ua-tui"),
    "42883": Advice("the tables of ua-tui are of another version", _MIGRATE + ", or update ua-tui"),
    "53100": Advice("the disk of the server is full", "free space there; work continues then"),
    "53300": Advice("the server has no connection left", "raise its max_connections, or run fewer workers"),
    "25006": Advice("the server is read-only", "connect to the primary server"),
    "57P03": Advice("the server is starting", "try again in a moment"),
    "57P01": Advice("the server ended the connection", "it is restarting: try again in a moment"),
}
_IN_MESSAGE = (
    (
        "no password supplied",
        Advice("the server asks for a password", "put it into ~/.pgpass, or set PGPASSWORD"),
    ),
    ("password authentication failed", _BY_STATE["28P01"]),
    (
        "connection refused",
        Advice("no server is listening (connection refused)", "start it, or check the address"),
    ),
    ("could not translate host name", Advice("the host is unknown", "check the address")),
    ("failed to resolve host", Advice("the host is unknown", "check the address")),
    ("no such file or directory", Advice("no server is listening there", "start it, or check the address")),
    ("timeout", Advice("the server does not answer", "check the network and the address")),
    ("does not exist", _BY_STATE["3D000"]),
    ("no pg_hba.conf entry", _BY_STATE["28000"]),
    ("starting up", _BY_STATE["57P03"]),
    ("shutting down", _BY_STATE["57P01"]),
    ("server closed the connection", Advice("the connection was lost", "try again in a moment")),
)
# Classes of errors after which the same statement can succeed: connection, resources, intervention of an operator.
_TEMPORARY = ("08", "53", "57", "58", "40", "25006", "55P03")


def explain(error: Exception, address: Address) -> TeamError:
    """Make the error for a person; it has no password, whatever the server wrote."""
    failure = TeamError(f"the team's database {address}: {describe(error)}")
    failure.__cause__ = error
    return failure


def describe(error: Exception) -> Advice:
    """What went wrong and what to do."""
    if (advice := _BY_STATE.get(_state(error))) is not None:
        return advice
    text = str(error)
    for words, advice in _IN_MESSAGE:
        if words in text.lower():
            return advice
    secret = os.environ.get("PGPASSWORD", "")
    shown = clean_line(text.replace(secret, "[redacted]") if secret else text, 300)
    return Advice(shown or type(error).__name__)


def is_temporary(error: Exception) -> bool:
    """Whether the same may succeed later: the connection is lost, or the server is restarting or out of space."""
    from psycopg import InterfaceError, OperationalError
    from psycopg_pool import PoolTimeout

    state = _state(error)
    if state:
        return state.startswith(_TEMPORARY)
    return isinstance(error, (OperationalError, InterfaceError, PoolTimeout, OSError, TimeoutError))


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
        "working in a team needs further packages: install them with pip install 'ua-tui[team]'"
    )
    failure.__cause__ = error
    return failure


def _state(error: Exception) -> str:
    return getattr(error, "sqlstate", None) or ""
