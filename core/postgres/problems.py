"""What a failure of PostgreSQL means for a person, and what to do about it."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from ua_tui.core.errors import (
    Advice,
    TeamError,
    advice_catalogue,
    advice_code,
    advise,
    missing_extra,
    recognise,
)
from ua_tui.core.postgres.address import Address
from ua_tui.core.tasks import cancellations
from ua_tui.core.text import clean_line

# A name may be anything, also the words of another message.
_NAME = re.compile(r'"[^"]*"')


def explain(error: Exception, address: Address) -> TeamError:
    """Make the error for a person; it has no password, whatever the server wrote."""
    advice = describe(error)
    failure = TeamError(
        advice._replace(problem=f"the team's database {address} cannot be used, because {advice.problem}")
    )
    failure.__cause__ = error
    return failure


def describe(error: Exception) -> Advice:
    """What went wrong and what to do; a message that is not in the catalogue is shown as it is.

    It is also known of a `TeamError` that was made of an error.
    """
    if isinstance(error, TeamError) and isinstance(error.__cause__, Exception):
        return describe(error.__cause__)
    if code := _code(error):
        return advise(code)
    text, secret = _message(error), os.environ.get("PGPASSWORD", "")
    shown = clean_line(text.replace(secret, "[redacted]") if secret else text, 300)
    return Advice(shown)


def is_temporary(error: Exception) -> bool:
    """Whether the same may succeed later: the connection is lost, or the server is restarting or out of space.

    It is also known of a `TeamError` that was made of an error.
    """
    from psycopg import InterfaceError, OperationalError
    from psycopg_pool import PoolTimeout

    if isinstance(error, TeamError):
        return isinstance(error.__cause__, Exception) and is_temporary(error.__cause__)
    if (code := _code(error)) or _state(error):
        return bool(code) and advice_catalogue()[code].temporary
    return isinstance(error, (OperationalError, InterfaceError, PoolTimeout, OSError))


@contextmanager
def reporting(address: Address) -> Iterator[None]:
    """Raise a `TeamError` for every error of PostgreSQL in the block."""
    import psycopg
    from psycopg_pool import PoolTimeout

    before = cancellations()
    try:
        yield
    except (psycopg.Error, PoolTimeout) as error:
        if cancellations() > before:
            # When it is cancelled psycopg waits for the end of the statement, which fails if the connection is lost.
            raise asyncio.CancelledError from error
        raise explain(error, address) from error


@contextmanager
def needing_extra() -> Iterator[None]:
    """Raise a `TeamError` if the block imports a package of the extra that is not installed."""
    try:
        yield
    except ImportError as error:
        raise TeamError(missing_extra("team", "working in a team")) from error


def _code(error: Exception) -> str:
    """The entry of the catalogue; a refusal to connect has no SQLSTATE, only words of the server or of libpq."""
    if state := _state(error):
        return advice_code("postgres", state)
    return recognise("postgres", _NAME.sub('""', _message(error)))[0]


def _message(error: Exception) -> str:
    """The message without the details, which can repeat rows and statements."""
    primary = getattr(getattr(error, "diag", None), "message_primary", None)
    return primary or str(error) or type(error).__name__


def _state(error: Exception) -> str:
    return getattr(error, "sqlstate", None) or ""
