"""Spans of a session, through Logfire: the one module that imports it, itself imported only by the tracing thread."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import logfire
import msgspec
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import Span, Status, StatusCode, Tracer, set_span_in_context

from core import events as ev
from core.appending import AppendFile
from core.masking import preview, seal_json
from core.text import Redactor, clean
from core.version import VERSION

__all__ = ["JsonlSpanExporter", "SpanTree", "open_spans"]

_log = logging.getLogger(__name__)

_PREVIEW = 1_000
_EXPORT_EVERY_MS = 1_000
_SECRET_SHAPES = [r"\bak_\w+", r"sk-ant-[\w-]+", r"connect\.composio\.dev"]


class JsonlSpanExporter(SpanExporter):
    """Appends each span to a file as one JSON line, redacted, without what it tells of the machine."""

    def __init__(self, path: Path, redactor: Redactor) -> None:
        self._file = AppendFile(path)
        self._redactor = redactor

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Append finished spans; called by the thread of a span processor."""
        try:
            for span in spans:
                fields = json.loads(span.to_json(indent=None))
                fields.pop("resource", None)
                self._file.append(seal_json(json.dumps(fields), self._redactor))
        except (OSError, ValueError) as error:
            _log.warning("spans could not be written: %s", error)
            return SpanExportResult.FAILURE
        return SpanExportResult.SUCCESS

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Nothing is held back, so there is nothing to wait for."""
        return True

    def shutdown(self) -> None:
        """Close the file."""
        self._file.close()


class _OneTrace(IdGenerator):
    """Gives every span of a session the same trace, whose id is known before Logfire is."""

    def __init__(self, trace_id: int) -> None:
        self._trace_id = trace_id
        self._random = random.SystemRandom()

    def generate_trace_id(self) -> int:
        return self._trace_id

    def generate_span_id(self) -> int:
        return self._random.getrandbits(64) or 1


def open_spans(
    path: Path, *, trace_id: int, token: str | None, redactor: Redactor, state_dir: Path
) -> SpanTree:
    """Configure Logfire for one session and return what turns its events into spans.

    Nothing is sent to Logfire without a token. The configuration is the session's own: nothing is read
    from the current folder, nothing is printed, and no other code of the process is traced with it.

    Raises:
        OSError: the file or the state folder cannot be opened.
    """
    state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    exporter = BatchSpanProcessor(JsonlSpanExporter(path, redactor), schedule_delay_millis=_EXPORT_EVERY_MS)

    def mask(match: logfire.ScrubMatch) -> Any:
        # Logfire's own patterns take "session" and "auth" for secrets; ours know the secrets themselves.
        return redactor.redact_value(match.value)

    instance = logfire.configure(
        local=True,
        send_to_logfire="if-token-present" if token else False,
        token=token,
        service_name="ua-tui",
        service_version=VERSION,
        console=False,
        config_dir=state_dir,
        data_dir=state_dir,
        additional_span_processors=[exporter],
        metrics=False,
        scrubbing=logfire.ScrubbingOptions(callback=mask, extra_patterns=_SECRET_SHAPES),
        inspect_arguments=False,
        distributed_tracing=False,
        advanced=logfire.AdvancedOptions(id_generator=_OneTrace(trace_id)),
    )
    return SpanTree(instance, redactor)


class SpanTree:
    """Turns events into spans: the session, its queries, and in them the tool calls, each under its caller.

    A span begins and ends at the times its events tell, however late it is made.
    """

    def __init__(self, instance: logfire.Logfire, redactor: Redactor) -> None:
        self._instance = instance
        self._redactor = redactor
        self._tracer: Tracer = instance.config.get_tracer_provider().get_tracer("ua-tui")
        self._session: Span | None = None
        self._query: tuple[str, Span, int] | None = None
        self._calls: dict[str, tuple[Span, int]] = {}
        self._last = 0

    def __call__(self, event: ev.Event) -> None:
        """Take one event, in order."""
        now = int(event.at.timestamp() * 1_000_000) * 1_000
        self._last = max(self._last, now)
        match event:
            case ev.SessionStarted():
                self._session = self._start(
                    "session",
                    None,
                    now,
                    session_id=event.session_id,
                    model=event.model,
                    permission_mode=event.permission_mode,
                    demo=event.demo,
                    version=event.version,
                )
            case ev.SessionFinished():
                self._end_open(now)
                if self._session is not None:
                    self._set(
                        self._session,
                        reason=event.reason,
                        queries=event.queries,
                        tool_calls=event.tool_calls,
                        artifacts=event.artifacts,
                        cost_usd=event.cost_usd,
                    )
                    self._session.end(now)
                    self._session = None
            case ev.QueryReceived():
                span = self._start("query", self._session, now, query_id=event.query_id, text=event.text)
                self._query = (event.query_id, span, now)
            case ev.QueryClassified():
                self._note(
                    now,
                    "query_classification",
                    decision=event.decision,
                    source=event.source,
                    raw_response=event.raw_response,
                    duration_ms=event.duration_ms,
                )
            case ev.PathFellBack():
                self._note(now, "fast_path_fallback", tool_name=event.tool_name)
            case ev.QueryFinished():
                self._end_query(event)
            case ev.ToolCallStarted():
                self._start_call(event, now)
            case ev.ToolCallFinished():
                self._end_call(event)
            case _:
                pass

    def close(self, timeout: float) -> None:
        """End what is open, send and write everything, and stop, within about `timeout` seconds."""
        self._end_open(self._last)
        if self._session is not None:
            self._session.end(self._last)
            self._session = None
        self._instance.shutdown(timeout_millis=int(timeout * 1_000))

    def _start_call(self, event: ev.ToolCallStarted, now: int) -> None:
        caller = self._calls.get(event.parent_tool_use_id or "")
        parent = caller[0] if caller else self._query[1] if self._query else self._session
        span = self._start(
            "tool_call",
            parent,
            now,
            tool_name=event.name,
            tool_id=event.tool_use_id,
            iteration=event.iteration,
            query_id=event.query_id,
            input_preview=_json(event.input),
        )
        self._calls[event.tool_use_id] = (span, now)

    def _end_call(self, event: ev.ToolCallFinished) -> None:
        span, began = self._calls.pop(event.tool_use_id, (None, 0))
        if span is None:
            return
        found = event.observation
        is_error = event.status != "success"
        self._set(
            span, status=event.status, is_error=is_error, content_size=found.size if found is not None else 0
        )
        if is_error:
            reason = found.error if found is not None and found.error else event.status
            span.set_status(Status(StatusCode.ERROR, self._safe(reason)))
        span.end(began + int(event.duration_ms * 1_000_000))

    def _end_query(self, event: ev.QueryFinished) -> None:
        if self._query is None or self._query[0] != event.query_id:
            return
        _, span, began = self._query
        self._query = None
        usage = event.usage
        self._set(
            span,
            status=event.status,
            turns=event.turns,
            cost_usd=event.cost_usd,
            input_tokens=usage.input_tokens if usage else None,
            output_tokens=usage.output_tokens if usage else None,
        )
        if event.status == "error":
            span.set_status(Status(StatusCode.ERROR, self._safe(event.error or "")))
        span.end(began + int(event.duration_ms * 1_000_000))

    def _end_open(self, now: int) -> None:
        for span, _ in self._calls.values():
            self._set(span, status="cancelled", is_error=True)
            span.end(now)
        self._calls.clear()
        if self._query is not None:
            self._query[1].end(now)
            self._query = None

    def _start(self, name: str, parent: Span | None, now: int, **attributes: Any) -> Span:
        context = set_span_in_context(parent) if parent is not None else None
        return self._tracer.start_span(
            name, context=context, attributes=self._plain(attributes), start_time=now
        )

    def _set(self, span: Span, **attributes: Any) -> None:
        span.set_attributes(self._plain(attributes))

    def _note(self, now: int, name: str, **attributes: Any) -> None:
        if self._query is not None:
            self._query[1].add_event(name, self._plain(attributes), now)

    def _plain(self, attributes: Mapping[str, Any]) -> dict[str, str | int | float | bool]:
        return {
            name: self._safe(value) if isinstance(value, str) else value
            for name, value in attributes.items()
            if value is not None
        }

    def _safe(self, text: str) -> str:
        return clean(preview(text, _PREVIEW, self._redactor))


def _json(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return "{}"
