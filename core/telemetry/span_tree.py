"""Builds the spans of a session from its events: names, parents, times and attributes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    Tracer,
    TracerProvider,
    set_span_in_context,
)

from core.events import types as ev
from core.events.codec import to_json
from core.redaction.redactor import Redactor, preview
from core.telemetry.http import ServiceRequest
from core.text import clean

__all__ = ["SpanTree"]

_PREVIEW = 1_000
_KEPT_CALLS = 1_000
_KEPT_THINKING = 64
# Logfire shows a span without duration as a log line, with a level.
_LOGGED: dict[type[ev.Event], tuple[str, tuple[str, ...]]] = {
    ev.QueryClassified: ("query_classification", ("decision", "source", "raw_response", "duration_ms")),
    ev.PathFellBack: ("fast_path_fallback", ("tool_name",)),
    ev.PermissionModeChanged: ("permission_mode_changed", ("previous", "mode", "by")),
}
_LOG = {"logfire.span_type": "log", "logfire.level_num": 9}
_ERROR_LOG = {"logfire.span_type": "log", "logfire.level_num": 17}


@dataclass
class _Turn:
    """One turn of the model within a query."""

    number: int
    span: Span
    message_id: str | None


class SpanTree:
    """Turns events into spans: the session, its queries, their turns of the model, and the tool calls of each turn.

    ::

        session
        ├── query
        │   ├── query_started · query_classification · fast_path_fallback
        │   └── conversation_iteration_N
        │       ├── thinking · reasoning
        │       └── tool_call
        │           ├── tool_result · observer_artifact_saved · observer_error
        │           └── (of a sub-agent: its own thinking, reasoning and tool calls)
        ├── subagent_compliance_failed · subagent_compliance_enforced   (in the turn, if there is one)
        ├── POST /api/…   (a request of the program to a service, in the span that is open at the time)
        └── session_complete

    A log line is a span without duration: it is exported at once, before the span that contains it. Spans start and
    end at the times of their events, however late they are made.
    """

    def __init__(self, provider: TracerProvider, redactor: Redactor) -> None:
        self._redactor = redactor
        self._tracer: Tracer = provider.get_tracer("ua-tui")
        self._session: Span | None = None
        self._root: SpanContext | None = None
        # The session's span must be the first.
        self._early: list[ServiceRequest] = []
        self._query: tuple[str, Span, int] | None = None
        self._turn: _Turn | None = None
        self._turns = 0
        # When the model had everything for its next turn.
        self._ready_at = 0
        self._calls: dict[str, tuple[Span, int]] = {}
        self._ended: OrderedDict[str, SpanContext] = OrderedDict()
        self._thinking: OrderedDict[str, list[str]] = OrderedDict()
        self._last = 0

    def on_event(self, event: ev.Event) -> None:
        """Handle one event, in order."""
        now = int(event.at.timestamp() * 1_000_000) * 1_000
        self._last = max(self._last, now)
        match event:
            case ev.SessionStarted():
                names = (
                    "session_id",
                    "model",
                    "permission_mode",
                    "demo",
                    "version",
                    "resumed_from",
                    "folder_trust",
                )
                self._session = self._start("session", None, now, **_fields(event, *names))
                self._root = self._session.get_span_context()
                early, self._early = self._early, []
                for request in early:
                    self.on_request(request)
            case ev.SessionFinished():
                self._end_session(event, now)
            case ev.QueryReceived():
                span = self._start("query", self._session, now, query_id=event.query_id, text=event.text)
                self._query = (event.query_id, span, now)
                self._ready_at = now
                self._log("query_started", span, now, query_id=event.query_id, query=event.text)
            case ev.QueryClassified() | ev.PathFellBack() | ev.PermissionModeChanged():
                name, fields = _LOGGED[type(event)]
                self._log(name, self._query_span or self._session, now, **_fields(event, *fields))
            case ev.QueryFinished():
                self._end_query(event)
            case ev.ThinkingDelta():
                self._on_thinking(event, now)
            case ev.MessageFinished():
                self._end_message(event, now)
            case ev.ToolCallStarted():
                self._start_call(event, now)
            case ev.ToolCallFinished():
                self._end_call(event, now)
            case ev.ArtifactSaved():
                self._log(
                    "observer_artifact_saved",
                    self._call_or_current(event.tool_use_id),
                    now,
                    path=event.path,
                    type=event.kind,
                    size=event.size,
                    observer=event.observer,
                )
            case ev.ObserverFinished(status="failed"):
                self._log(
                    "observer_error",
                    self._call_or_current(event.tool_use_id),
                    now,
                    _ERROR_LOG,
                    observer=event.observer,
                    tool_id=event.tool_use_id,
                    error=event.error,
                )
            case ev.ComplianceFailed() | ev.ComplianceEnforced():
                failed = isinstance(event, ev.ComplianceFailed)
                self._log(
                    "subagent_compliance_failed" if failed else "subagent_compliance_enforced",
                    self._call_or_current(None),
                    now,
                    _ERROR_LOG if failed else _LOG,
                    **_fields(event, "subagent", "rule", "message"),
                )
            case _:
                pass

    def on_request(self, request: ServiceRequest) -> None:
        """Handle a request to a service; its parent is the span that is open now."""
        if self._root is None:
            self._early.append(request)
            return
        span = self._start(
            f"{request.method} {request.route}",
            self._call_or_current(None) or NonRecordingSpan(self._root),
            request.began,
            SpanKind.CLIENT,
            **{
                "http.request.method": request.method,
                "http.response.status_code": request.status,
                "server.address": request.host,
                "server.port": request.port,
                "error.type": request.error,
            },
        )
        if request.error is not None or (request.status or 0) >= 400:
            span.set_status(Status(StatusCode.ERROR))
        span.end(request.ended)

    def close(self) -> None:
        """End the open spans."""
        self._end_open(self._last)
        if self._session is not None:
            self._session.end(self._last)
            self._session = None

    # -- the session and its queries ---------------------------------------------------------------

    @property
    def _query_span(self) -> Span | None:
        return self._query[1] if self._query is not None else self._session

    def _end_session(self, event: ev.SessionFinished, now: int) -> None:
        self._end_open(now)
        if self._session is None:
            return
        totals = _fields(event, "reason", "queries", "tool_calls", "artifacts", "cost_usd") | _unpriced(event)
        self._log("session_complete", self._session, now, duration_ms=event.duration_ms, **totals)
        self._set(self._session, **totals)
        self._session.end(now)
        self._session = None

    def _end_query(self, event: ev.QueryFinished) -> None:
        if self._query is None or self._query[0] != event.query_id:
            return
        _, span, began = self._query
        ended = began + int(event.duration_ms * 1_000_000)
        self._end_turn(ended)
        self._query = None
        usage = event.usage
        tokens = _fields(usage, "input_tokens", "output_tokens") if usage else {}
        self._set(span, **_fields(event, "status", "turns", "cost_usd"), **_unpriced(event), **tokens)
        if event.status == "error":
            span.set_status(Status(StatusCode.ERROR, self._safe(event.error or "")))
        span.end(ended)

    def _end_open(self, now: int) -> None:
        for span, _ in self._calls.values():
            self._set(span, status="cancelled", is_error=True)
            span.end(now)
        self._calls.clear()
        self._end_turn(now)
        if self._query is not None:
            self._query[1].end(now)
            self._query = None

    # -- the turns of the model --------------------------------------------------------------------

    def _turn_of(self, message_id: str | None, now: int, number: int | None = None) -> Span | None:
        """The turn of a message or a call of the main agent: the open one, or a new one."""
        turn = self._turn
        if turn is not None and (
            (number is not None and number <= turn.number)
            or (message_id is not None and turn.message_id in {None, message_id})
        ):
            turn.message_id = turn.message_id or message_id
            return turn.span
        if self._query is None:
            return None
        begins = min(self._ready_at or now, now)
        self._end_turn(begins)
        self._turns = number if number is not None else self._turns + 1
        span = self._start(
            f"conversation_iteration_{self._turns}",
            self._query[1],
            begins,
            iteration=self._turns,
            query_id=self._query[0],
        )
        self._turn = _Turn(self._turns, span, message_id)
        return span

    def _end_turn(self, now: int) -> None:
        if self._turn is not None:
            self._turn.span.end(now)
            self._turn = None

    def _on_thinking(self, event: ev.ThinkingDelta, now: int) -> None:
        if event.parent_tool_use_id is not None:
            # A sub-agent's thinking comes in one piece.
            parent = self._call_or_current(event.parent_tool_use_id)
            self._log_text("thinking", event.text, parent, now, event.message_id)
            return
        self._turn_of(event.message_id, now)
        self._thinking.setdefault(event.message_id, []).append(event.text)
        if len(self._thinking) > _KEPT_THINKING:
            self._thinking.popitem(last=False)

    def _end_message(self, event: ev.MessageFinished, now: int) -> None:
        if event.parent_tool_use_id is None:
            parent = self._turn_of(event.message_id, now)
            self._ready_at = now
        else:
            parent = self._call_or_current(event.parent_tool_use_id)
        thought = "".join(self._thinking.pop(event.message_id, ()))
        self._log_text("thinking", thought, parent, now, event.message_id)
        self._log_text("reasoning", event.text, parent, now, event.message_id)

    def _log_text(self, name: str, text: str, parent: Span | None, now: int, message_id: str) -> None:
        if text.strip():
            self._log(name, parent, now, text=text, size=len(text), message_id=message_id)

    # -- tool calls --------------------------------------------------------------------------------

    def _call_or_current(self, tool_use_id: str | None) -> Span | None:
        """The span of a call, ended or not; for an unknown call the current turn or query."""
        if found := self._calls.get(tool_use_id or ""):
            return found[0]
        if ended := self._ended.get(tool_use_id or ""):
            return NonRecordingSpan(ended)
        return self._turn.span if self._turn is not None else self._query_span

    def _start_call(self, event: ev.ToolCallStarted, now: int) -> None:
        if event.parent_tool_use_id is None:
            parent = self._turn_of(None, now, event.iteration) or self._query_span
        else:
            parent = self._call_or_current(event.parent_tool_use_id)
        span = self._start(
            "tool_call",
            parent,
            now,
            tool_name=event.name,
            tool_id=event.tool_use_id,
            iteration=event.iteration,
            query_id=event.query_id,
            input_preview=to_json(event.input),
        )
        self._calls[event.tool_use_id] = (span, now)

    def _end_call(self, event: ev.ToolCallFinished, now: int) -> None:
        span, began = self._calls.pop(event.tool_use_id, (None, 0))
        if span is None:
            return
        self._ready_at = max(self._ready_at, now)
        found = event.observation
        is_error = event.status != "success"
        size = found.size if found is not None else 0
        ended = began + int(event.duration_ms * 1_000_000)
        self._log("tool_result", span, ended, tool_id=event.tool_use_id, content_size=size, is_error=is_error)
        self._set(span, status=event.status, is_error=is_error, content_size=size)
        if is_error:
            reason = found.error if found is not None and found.error else event.status
            span.set_status(Status(StatusCode.ERROR, self._safe(reason)))
        span.end(ended)
        self._ended[event.tool_use_id] = span.get_span_context()
        if len(self._ended) > _KEPT_CALLS:
            self._ended.popitem(last=False)

    # -- spans -------------------------------------------------------------------------------------

    def _start(
        self,
        name: str,
        parent: Span | None,
        now: int,
        span_kind: SpanKind = SpanKind.INTERNAL,
        **attributes: Any,
    ) -> Span:
        context = set_span_in_context(parent) if parent is not None else None
        return self._tracer.start_span(
            name, context=context, kind=span_kind, attributes=self._plain(attributes), start_time=now
        )

    def _log(
        self, name: str, parent: Span | None, now: int, kind: Mapping[str, Any] = _LOG, **attributes: Any
    ) -> None:
        self._start(name, parent, now, **kind, **attributes).end(now)

    def _set(self, span: Span, **attributes: Any) -> None:
        span.set_attributes(self._plain(attributes))

    def _plain(self, attributes: Mapping[str, Any]) -> dict[str, str | int | float | bool]:
        return {
            name: self._safe(value) if isinstance(value, str) else value
            for name, value in attributes.items()
            if value is not None
        }

    def _safe(self, text: str) -> str:
        return clean(preview(text, _PREVIEW, self._redactor))


def _unpriced(event: ev.QueryFinished | ev.SessionFinished) -> dict[str, Any]:
    """The models whose price is unknown, as an attribute if there are any."""
    return {"unpriced": ", ".join(event.unpriced)} if event.unpriced else {}


def _fields(source: msgspec.Struct, *names: str) -> dict[str, Any]:
    """Fields of an event, as attributes of the same names."""
    return {name: getattr(source, name) for name in names}
