"""The HTTP requests of this program and of the local toolkit, as they are reported to the trace of a session."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

if TYPE_CHECKING:
    import httpx

CALL_ID = "claudecode/toolUseId"
"""Where the agent's command line puts the id of a tool call, in the `_meta` of its request to a server."""

# Parts of a path that name something of the service, and not one of its accounts, sessions or files.
_WORD = re.compile(r"[a-z][a-z_-]{0,30}|v\d+(?:\.\d+)?")


class ServiceRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request and its outcome.

    Attributes:
        host: the name of the server; the query of the address and the credentials are not kept.
        route: the path, with `*` for each part that is an id.
        began, ended: nanoseconds since the epoch.
        status: the status of the answer; None without an answer.
        error: the class name of the exception that was raised instead.
        tool_use_id: the tool call that made it; empty if none did.
    """

    method: str
    host: str
    port: int | None
    route: str
    began: int
    ended: int
    status: int | None = None
    error: str | None = None
    tool_use_id: str = ""


OnRequest = Callable[[ServiceRequest], object]
"""Called with each request when it is over, in the thread that made it."""


class CallScope(msgspec.Struct, frozen=True):
    """The tool call that the code of a context works for, and what is called with its requests."""

    tool_use_id: str = ""
    on_request: OnRequest | None = None


CURRENT_CALL: ContextVar[CallScope] = ContextVar("CURRENT_CALL", default=CallScope())  # noqa: B039


@contextmanager
def reporting_request(
    method: str, address: str, on_request: OnRequest | None = None
) -> Iterator[Callable[[int], None]]:
    """Report the request that is made in the block; gives a function that takes the status of its answer.

    Without `on_request` it is reported to the current call, if there is one.
    """
    call = CURRENT_CALL.get()
    report = on_request or call.on_request
    status: int | None = None
    error: str | None = None

    def set_status(code: int) -> None:
        nonlocal status
        status = code

    began = time.time_ns()
    try:
        yield set_status
    except BaseException as raised:
        error = type(raised).__name__
        raise
    finally:
        if report is not None:
            host, port, route = _parts_of(address)
            report(
                ServiceRequest(
                    method=method,
                    host=host,
                    port=port,
                    route=route,
                    began=began,
                    ended=time.time_ns(),
                    status=status,
                    error=error,
                    tool_use_id=call.tool_use_id,
                )
            )


def reporting_client(on_request: OnRequest | None, **options: Any) -> httpx.Client:
    """Make an httpx.Client that reports its requests; nothing of the trace is added to them."""
    # Slow to import.
    import httpx

    class ReportingClient(httpx.Client):
        def send(self, request: httpx.Request, **more: Any) -> httpx.Response:
            with reporting_request(request.method, str(request.url), on_request) as set_status:
                response = super().send(request, **more)
                set_status(response.status_code)
                return response

    return ReportingClient(**options)


def _parts_of(address: str) -> tuple[str, int | None, str]:
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return "", None, "/"
    route = "/".join(part if not part or _WORD.fullmatch(part) else "*" for part in parts.path.split("/"))
    return parts.hostname or "", port, route[:200] or "/"
