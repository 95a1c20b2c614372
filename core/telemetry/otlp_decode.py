"""Decodes the spans of child processes (OTLP in protobuf) and redacts them; slow to import."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1 import trace_pb2
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from ua_tui.core.redaction.redactor import Redactor, preview
from ua_tui.core.telemetry.spans.conventions import NO_LABELS, Labels, facts_of_child
from ua_tui.core.text import clean

# The protocol has 0 for a kind that is not stated, then the kinds in the order of the API.
_KINDS = dict(enumerate((SpanKind.INTERNAL, *SpanKind)))
_CODES = {code.value: code for code in StatusCode}


def read_spans(
    body: bytes, redactor: Redactor, *, trace_id: int, labels: Labels = NO_LABELS
) -> Iterator[ReadableSpan]:
    """Give the spans of one export request that belong to a trace, with the labels of the session.

    Every text of every attribute passes `redactor`, and an attribute with the name of a secret loses its value.

    Raises:
        google.protobuf.message.DecodeError: it is not an export request.
    """
    request = ExportTraceServiceRequest.FromString(body)
    for group in request.resource_spans:
        resource = Resource(_attributes(group.resource.attributes, redactor))
        for scoped in group.scope_spans:
            scope = InstrumentationScope(_text(scoped.scope.name, redactor), scoped.scope.version or None)
            for span in scoped.spans:
                if int.from_bytes(span.trace_id) == trace_id:
                    yield _span(span, resource, scope, redactor, labels)


def _span(
    span: trace_pb2.Span, resource: Resource, scope: InstrumentationScope, redactor: Redactor, labels: Labels
) -> ReadableSpan:
    code = _CODES.get(span.status.code, StatusCode.UNSET)
    reason = _text(span.status.message, redactor) if code is StatusCode.ERROR else None
    return ReadableSpan(
        name=_text(span.name, redactor),
        context=_context(span.trace_id, span.span_id),
        parent=_context(span.trace_id, span.parent_span_id) if span.parent_span_id else None,
        resource=resource,
        attributes=facts_of_child(_attributes(span.attributes, redactor), labels),
        events=[
            Event(_text(event.name, redactor), _attributes(event.attributes, redactor), event.time_unix_nano)
            for event in span.events
        ],
        links=[
            Link(_context(link.trace_id, link.span_id), _attributes(link.attributes, redactor))
            for link in span.links
        ],
        kind=_KINDS.get(span.kind, SpanKind.INTERNAL),
        status=Status(code, reason),
        start_time=span.start_time_unix_nano,
        end_time=span.end_time_unix_nano,
        instrumentation_scope=scope,
    )


def _context(trace_id: bytes, span_id: bytes) -> SpanContext:
    flags = TraceFlags(TraceFlags.SAMPLED)
    return SpanContext(int.from_bytes(trace_id), int.from_bytes(span_id), is_remote=True, trace_flags=flags)


def _attributes(pairs: Iterable[KeyValue], redactor: Redactor) -> dict[str, Any]:
    found = {pair.key: _plain(pair.value, redactor) for pair in pairs if pair.value.WhichOneof("value")}
    return dict(redactor.redact_value(found))


def _plain(value: AnyValue, redactor: Redactor) -> Any:
    """Convert a value to the type of an attribute: text, number, boolean or list of texts."""
    match kind := value.WhichOneof("value"):
        case "string_value":
            return _text(value.string_value, redactor)
        case "bool_value" | "int_value" | "double_value":
            return getattr(value, kind)
        case "array_value":
            # An attribute is no list of lists.
            items = (each for each in value.array_value.values if each.WhichOneof("value") != "array_value")
            return [str(_plain(each, redactor)) for each in items]
        case _:
            return f"({kind})"


def _text(text: str, redactor: Redactor) -> str:
    return clean(preview(text, 4_000, redactor))
