"""Spans of the toolkit's own: one for each call that reaches it, in the trace of the session."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from functools import partial

__all__ = ["begin_tracing"]

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


def _end(stop: Callable[[], None], number: int, _frame: object) -> None:
    """End by the signal, but not before the last spans are sent: the command line ends its servers by signals."""
    stop()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
