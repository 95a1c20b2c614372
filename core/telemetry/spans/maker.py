"""Makes single spans: with the attributes of their events, of the conventions, and of the session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opentelemetry.trace import (
    Span,
    SpanKind,
    Status,
    StatusCode,
    Tracer,
    TracerProvider,
    set_span_in_context,
)

from ua_tui.core.telemetry.spans.content import Content
from ua_tui.core.telemetry.spans.conventions import SHOWN, Labels, Value, facts_of_span, named
from ua_tui.core.telemetry.spans.log_lines import INFO

_CONTENT = frozenset({"text", "query", "input_preview", "raw_response"})


class SpanMaker:
    """Makes the spans of a session.

    Args:
        provider: exports the spans when they end.
        content: prepares every text.
        labels: what every span states.
    """

    def __init__(self, provider: TracerProvider, content: Content, labels: Labels) -> None:
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
