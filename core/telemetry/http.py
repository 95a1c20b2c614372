"""The requests this program itself makes to a service, as they are told to the trace of a session."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

__all__ = ["ServiceRequest", "Tell", "telling"]

# What names a thing of the service rather than one of its accounts, sessions and files.
_WORD = re.compile(r"[a-z][a-z_-]{0,30}|v\d+(?:\.\d+)?")


@dataclass(frozen=True, kw_only=True)
class ServiceRequest:
    """One request and how it went.

    Attributes:
        host: name of the server; the query of the address and what signs in are not kept.
        route: the path, with `*` for each part that is an id.
        began, ended: nanoseconds since the epoch.
        status: of the answer; None without one.
        error: the kind of what was raised instead of an answer.
    """

    method: str
    host: str
    port: int | None
    route: str
    began: int
    ended: int
    status: int | None = None
    error: str | None = None


Tell = Callable[[ServiceRequest], object]
"""Is told each request when it is over, in whichever thread made it."""


@contextmanager
def telling(tell: Tell | None, method: str, address: str) -> Iterator[Callable[[int], None]]:
    """Tell of a request that is made inside; gives what takes the status of its answer."""
    status: int | None = None
    error: str | None = None

    def answered(code: int) -> None:
        nonlocal status
        status = code

    began = time.time_ns()
    try:
        yield answered
    except BaseException as raised:
        error = type(raised).__name__
        raise
    finally:
        if tell is not None:
            host, port, route = _where(address)
            tell(
                ServiceRequest(
                    method=method,
                    host=host,
                    port=port,
                    route=route,
                    began=began,
                    ended=time.time_ns(),
                    status=status,
                    error=error,
                )
            )


def _where(address: str) -> tuple[str, int | None, str]:
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return "", None, "/"
    route = "/".join(part if not part or _WORD.fullmatch(part) else "*" for part in parts.path.split("/"))
    return parts.hostname or "", port, route or "/"
