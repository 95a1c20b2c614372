"""Metrics of a session, exported to a collector: slow to import. `metrics.toml` lists them.

Queries, calls, failures, tokens, cost, durations and the time of observers; with the names of OpenTelemetry's GenAI
conventions where there are some, else `ua_tui.*`. No attribute has an id or a text of the session.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.metrics import Counter, Histogram, Meter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor

from ua_tui.core.events import types as ev
from ua_tui.core.json_values import table_of
from ua_tui.core.telemetry.export_errors import NO_METRICS, ExportMonitor
from ua_tui.core.telemetry.export_session import ExportSession
from ua_tui.core.telemetry.spans.conventions import named
from ua_tui.core.telemetry.spans.maker import SpanContent
from ua_tui.core.text import clean_line

_TABLE = table_of(__file__, "metrics.toml")


class Instrument(msgspec.Struct, frozen=True):
    """A metric: its name, kind, unit, meaning and attributes, and the name of the limits of a histogram's buckets."""

    name: str
    kind: Literal["counter", "histogram"]
    unit: str
    meaning: str
    attributes: tuple[str, ...] = ()
    limits: str = ""

    def make(self, meter: Meter) -> Counter | Histogram:
        """Make the instrument."""
        if self.kind == "counter":
            return meter.create_counter(self.name, self.unit, self.meaning)
        limits = _TABLE["limits"][self.limits]
        return meter.create_histogram(
            self.name, self.unit, self.meaning, explicit_bucket_boundaries_advisory=limits
        )


INSTRUMENTS: tuple[Instrument, ...] = msgspec.convert(_TABLE["instruments"], tuple[Instrument, ...])
"""All metrics."""
_ATTRIBUTES = {each.name: each.attributes for each in INSTRUMENTS}


class SessionMetrics(SpanProcessor):
    """Counts the spans of a session as they end, and exports the metrics now and then and at the end.

    The `OTEL_*` variables say how. An attribute of a metric is that of the span.
    A collector that takes no metrics, such as Phoenix, is not asked again. Another problem is logged once.
    """

    def __init__(self, resource: Resource, content: SpanContent) -> None:
        self._is_closing = False
        # Its problem is only logged.
        self._monitor = ExportMonitor("metrics", lambda _problem: None)
        self._exporter = OTLPMetricExporter(session=ExportSession(self._monitor, self._on_outcome))
        self._provider = MeterProvider(
            [PeriodicExportingMetricReader(self._exporter)], resource, shutdown_on_exit=False
        )
        meter = self._provider.get_meter("ua-tui")
        self._instruments = {each.name: each.make(meter) for each in INSTRUMENTS}
        self._content = content

    def on_end(self, span: ReadableSpan) -> None:
        """Count a span that has ended."""
        known: Mapping[str, Any] = span.attributes or {}
        seconds = ((span.end_time or 0) - (span.start_time or 0)) / 1e9
        match span.name.rstrip("0123456789"):
            case "conversation_iteration_" | "subagent_iteration_":
                if "model_ms" in known:
                    self._record("gen_ai.client.operation.duration", known["model_ms"] / 1e3, known)
                for kind in ("input", "output"):
                    if (tokens := known.get(f"gen_ai.usage.{kind}_tokens")) is not None:
                        self._record("gen_ai.client.token.usage", tokens, {**known, **named(token_type=kind)})
            case "query" if "status" in known:
                self._record("ua_tui.queries", 1, known)
                self._record("gen_ai.invoke_agent.duration", seconds, known)
                if "cost_usd" in known:
                    self._record("ua_tui.cost", max(0.0, known["cost_usd"]), known)
                self._count_failure("query", known["status"] == "error")
            case "tool_call" if "status" in known:
                self._record("ua_tui.tool_calls", 1, known)
                is_agent = known.get("gen_ai.operation.name") == "invoke_agent"
                duration = "gen_ai.invoke_agent.duration" if is_agent else "gen_ai.execute_tool.duration"
                self._record(duration, seconds, known)
                self._count_failure("tool_call", known["status"] == "error")

    def on_event(self, event: ev.Event) -> None:
        """Count what has no span: an observer that finished."""
        if isinstance(event, ev.ObserverFinished):
            known = {"observer": event.observer, "status": event.status}
            self._record("ua_tui.observer.duration", event.duration_ms / 1e3, known)
            self._count_failure("observer", event.status == "failed")

    def close(self, *, is_away: bool = False) -> None:
        """Export the last numbers and stop; with `is_away` only stop, as nobody would take them."""
        self._is_closing = True
        if is_away or self._monitor.is_away:
            self._exporter.shutdown()
        self._provider.shutdown()

    def _on_outcome(self, status: int) -> None:
        """Handle the status of an answer, 0 if there was none; called in the thread that exports."""
        if status in NO_METRICS or (self._monitor.is_away and self._is_closing):
            # A further attempt would get the same answer, or delay the end.
            self._exporter.shutdown()

    def _count_failure(self, of: str, has_failed: bool) -> None:
        if has_failed:
            self._record("ua_tui.failures", 1, {"of": of})

    def _record(self, name: str, value: float, known: Mapping[str, Any]) -> None:
        """Record a value with those of the known attributes that the metric has."""
        # They may be anybody's text.
        attributes = {
            each: clean_line(self._content.short(str(known[each])), 100)
            for each in _ATTRIBUTES[name]
            if each in known
        }
        instrument = self._instruments[name]
        if isinstance(instrument, Counter):
            instrument.add(value, attributes)
        else:
            instrument.record(value, attributes)
