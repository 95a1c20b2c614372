"""Makes single spans: with the attributes of their events, of the conventions, and of the session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from opentelemetry.trace import (
    Span,
    SpanKind,
    Status,
    StatusCode,
    Tracer,
    TracerProvider,
    set_span_in_context,
)

from ua_tui.core.events import types as ev
from ua_tui.core.telemetry.spans.content import SpanContent
from ua_tui.core.telemetry.spans.conventions import SHOWN, Labels, Value, facts_of_span, named

_CONTENT = frozenset({"text", "query", "input_preview", "raw_response"})


INFO: Mapping[str, Any] = {"logfire.span_type": "log", "logfire.level_num": 9}
"""The attributes of a log line."""
_ERROR: Mapping[str, Any] = {**INFO, "logfire.level_num": 17}


class LogLine(msgspec.Struct, frozen=True):
    """How an event is logged: the name of the span, its attributes with the fields they are from, and its parent."""

    name: str
    fields: Mapping[str, str]
    parent: Literal["query", "turn", "call"] = "query"
    is_error: bool = False

    @property
    def level(self) -> Mapping[str, Any]:
        """The attributes of its level."""
        return _ERROR if self.is_error else INFO

    def attributes(self, event: ev.Event) -> dict[str, Any]:
        """The attributes of the span of an event."""
        return {name: getattr(event, field) for name, field in self.fields.items()}


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


_OF_COMPLIANCE = _same("subagent", "rule", "message")
LOG_LINES: Mapping[type[ev.Event], LogLine] = {
    ev.QueryClassified: LogLine(
        "query_classification", _same("decision", "source", "raw_response", "duration_ms")
    ),
    ev.PathFellBack: LogLine("fast_path_fallback", _same("tool_name")),
    ev.PermissionModeChanged: LogLine("permission_mode_changed", _same("previous", "mode", "by")),
    ev.ArtifactSaved: LogLine(
        "observer_artifact_saved", _same("path", "size", "observer") | {"type": "kind"}, "call"
    ),
    ev.ReportChecked: LogLine(
        "report_checked",
        _same("report", "check", "red", "doubtful", "summary", "duration_ms"),
        "call",
    ),
    ev.OpinionGiven: LogLine("second_opinion", _same("report", "model", "requests", "cost_usd")),
    ev.ObserverFinished: LogLine(
        "observer_error", _same("observer", "error") | {"tool_id": "tool_use_id"}, "call", is_error=True
    ),
    ev.ComplianceFailed: LogLine("subagent_compliance_failed", _OF_COMPLIANCE, "turn", is_error=True),
    ev.ComplianceEnforced: LogLine("subagent_compliance_enforced", _OF_COMPLIANCE, "turn"),
}


def log_line_of(event: ev.Event) -> LogLine | None:
    """How an event is logged; None if it is not: only an observer that fails is."""
    if isinstance(event, ev.ObserverFinished) and event.status != "failed":
        return None
    return LOG_LINES.get(type(event))


class SpanMaker:
    """Makes the spans of a session.

    Args:
        provider: exports the spans when they end.
        content: prepares every text.
        labels: what every span states.
    """

    def __init__(self, provider: TracerProvider, content: SpanContent, labels: Labels) -> None:
        self._content = content
        self._labels = labels.attributes
        self._tracer: Tracer = provider.get_tracer("ua-tui")

    def start(
        self,
        name: str,
        parent: Span | None,
        now: int,
        span_kind: SpanKind = SpanKind.INTERNAL,
        **attributes: Any,
    ) -> Span:
        """Start a span at a time in nanoseconds since the epoch; attributes that are None are left out."""
        context = set_span_in_context(parent) if parent is not None else None
        given = self._plain(attributes) | facts_of_span(name) | self._labels
        if (shown := SHOWN.get(name)) is not None:
            side, source = shown
            prepare = self._content.input if side == "input" else self._content.output
            given |= prepare(str(attributes.get(source) or ""))
        return self._tracer.start_span(
            name, context=context, kind=span_kind, attributes=given, start_time=now
        )

    def log(
        self, name: str, parent: Span | None, now: int, kind: Mapping[str, Any] = INFO, **attributes: Any
    ) -> None:
        """Make a span without duration."""
        self.start(name, parent, now, **kind, **attributes).end(now)

    def set(self, span: Span, **attributes: Any) -> None:
        """Add attributes of an event to a span."""
        span.set_attributes(self._plain(attributes))

    def fail(self, span: Span, kind: str, reason: str) -> None:
        """State the kind of a failure, and its reason."""
        span.set_attributes(named(error=kind))
        span.set_status(Status(StatusCode.ERROR, self._content.short(reason)))

    def _plain(self, attributes: Mapping[str, Any]) -> dict[str, Value]:
        return {
            name: self._content.short(value) if isinstance(value, str) else value
            for name, value in attributes.items()
            if value is not None and (self._content.included or name not in _CONTENT)
        }
