"""The toolkit's spans in the trace of the session: its calls, and their requests to services."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from urllib.parse import urlsplit

__all__ = ["begin_tracing", "request_span"]

_SERVICE = "ua-tui-toolkit"
_TIMEOUT = 2.0


def begin_tracing(environ: Mapping[str, str]) -> Callable[[], None]:
    """Export the MCP library's spans as `environ` says; gives a function that exports the last ones and stops.

    Without an address nothing is imported or exported. Crawled sites see nothing of the trace: no client for pages is
    instrumented.
    """
    if not environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or environ.get("OTEL_TRACES_EXPORTER") != "otlp":
        return lambda: None
    from opentelemetry import context, propagate, trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=Resource({"service.name": _SERVICE}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(timeout=_TIMEOUT)))
    trace.set_tracer_provider(provider)
    # The command line names its span in a variable, and not in its requests.
    parent = environ.get("TRACEPARENT", "")
    context.attach(propagate.extract({"traceparent": parent}))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, partial(_end, provider.shutdown))
    return provider.shutdown


@contextmanager
def request_span(method: str, name: str, address: str) -> Iterator[None]:
    """A span for a request to one of the user's services; of an error it has the class name.

    Nothing of the trace is added to the request. Of the address only the host is kept, as the rest may be a secret.
    """
    from opentelemetry.trace import SpanKind, Status, StatusCode, get_tracer

    attributes = {"http.request.method": method, "server.address": urlsplit(address).hostname or ""}
    with get_tracer(_SERVICE).start_as_current_span(
        f"{method} {name}",
        kind=SpanKind.CLIENT,
        attributes=attributes,
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
    """Export the last spans, then end by the signal: the command line ends its servers with signals."""
    stop()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
