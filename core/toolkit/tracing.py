"""Spans of the toolkit's own, in the trace of the session: its calls, and what it asks of a service for them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from urllib.parse import urlsplit

__all__ = ["asking", "begin_tracing"]

_SERVICE = "ua-tui-toolkit"
_PATIENCE = 2.0


def begin_tracing(environ: Mapping[str, str]) -> Callable[[], None]:
    """Have the MCP library's spans sent to where `environ` says; gives what sends the last ones and stops.

    Without an address nothing is imported and nothing is sent. What is crawled sees none of it: only the MCP library
    makes spans, and no client for pages is instrumented.
    """
    if not environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or environ.get("OTEL_TRACES_EXPORTER") != "otlp":
        return lambda: None
    from opentelemetry import context, propagate, trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=Resource({"service.name": _SERVICE}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(timeout=_PATIENCE)))
    trace.set_tracer_provider(provider)
    # The command line names its own span by a variable, and says nothing of it in its requests.
    parent = environ.get("TRACEPARENT", "")
    context.attach(propagate.extract({"traceparent": parent}))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, partial(_end, provider.shutdown))
    return provider.shutdown


@contextmanager
def asking(method: str, name: str, address: str) -> Iterator[None]:
    """A span for a request to a service of the user's own, by the name of what is asked; an error is told by its kind.

    Nothing of the trace goes into the request. Of the address only the host is kept, as the rest may sign in.
    """
    from opentelemetry.trace import SpanKind, Status, StatusCode, get_tracer

    told = {"http.request.method": method, "server.address": urlsplit(address).hostname or ""}
    with get_tracer(_SERVICE).start_as_current_span(
        f"{method} {name}",
        kind=SpanKind.CLIENT,
        attributes=told,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield
        except Exception as error:
            span.set_attribute("error.type", type(error).__name__)
            span.set_status(Status(StatusCode.ERROR))
            raise


def _end(stop: Callable[[], None], number: int, _frame: object) -> None:
    """End by the signal, but not before the last spans are sent: the command line ends its servers by signals."""
    stop()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
