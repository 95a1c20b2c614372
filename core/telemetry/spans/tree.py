"""Builds the spans of a session, and of its requests, from events: names, parents, times and attributes."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Any

import msgspec
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, SpanKind, TracerProvider

from ua_tui.core.events import types as ev
from ua_tui.core.events.codec import to_json
from ua_tui.core.json_values import JsonObject, text_in
from ua_tui.core.telemetry.http import ServiceRequest
from ua_tui.core.telemetry.spans.conventions import SUBAGENT_CALL, Labels, facts_of_span, named
from ua_tui.core.telemetry.spans.maker import ERROR, INFO, LOG_LINES, Agent, ModelTurn, SpanContent, SpanMaker
from ua_tui.core.view.calls import FullCall

_MOST_KEPT = 1_000


class SpanTree:
    """Turns events into spans: the session, its queries, their turns of the model, and the tool calls of each turn.

    ::

        session
        ├── query
        │   ├── query_started · query_classification · fast_path_fallback
        │   └── conversation_iteration_N
        │       ├── thinking · reasoning
        │       └── tool_call
        │           ├── mcp.request      (to the server of the tool)
        │           │   └── httpx.request
        │           ├── tool_result · observer_artifact_saved · observer_error
        │           └── (of a sub-agent: subagent_iteration_N, and its own thinking, reasoning and tool calls)
        ├── subagent_compliance_failed · subagent_compliance_enforced   (in the turn, if there is one)
        ├── httpx.request   (of the program itself, in the span that is open at the time)
        └── session_complete

    A log line is a span without duration: it is exported at once, before the span that contains it. Spans start and
    end at the times of their events, however late they are made. What they say in the words of the conventions is in
    `conventions.py`; the tokens of a sub-agent are on spans of its turns, which end when the next one begins.

    This is not a part of the view of a session: a span is exported when it ends and is gone then, and a turn of the
    model, which most spans belong to, is no record of the view.

    Args:
        provider: makes and exports the spans.
        content: prepares inputs and outputs.
        labels: what every span states.
    """

    def __init__(self, provider: TracerProvider, content: SpanContent, labels: Labels) -> None:
        self._content = content
        self._spans = SpanMaker(provider, content, labels)
        self._session: Span | None = None
        self._root: SpanContext | None = None
        # Those that came before the session or the call that they belong to.
        self._early: deque[ServiceRequest] = deque(maxlen=_MOST_KEPT)
        self._query: tuple[str, Span, int] | None = None
        self._agent = Agent()
        # Those that work at the same time, by the calls that started them.
        self._subagents: dict[str, Agent] = {}
        self._model = ""
        self._has_simple_path = False
        # The input and the output of the session, which a viewer shows as the whole: the answers and further queries.
        self._first_query = ""
        self._rest: deque[str] = deque(maxlen=40)
        self._calls: dict[str, CallSpan] = {}
        # The spans of calls that ended, and of their requests.
        self._ended: OrderedDict[str, tuple[SpanContext, SpanContext]] = OrderedDict()
        self._thinking: dict[str, list[str]] = {}
        self._last = 0

    def on_event(self, event: ev.Event) -> None:
        """Handle one event, in order."""
        now = _time_of(event)
        self._last = max(self._last, now)
        match event:
            case ev.SessionStarted():
                self._begin_session(event, now)
            case ev.SessionFinished():
                self._end_session(event, now)
            case ev.QueryReceived():
                self._begin_query(event, now)
            case ev.QuerySteered():
                self._agent.unread += self._content.text_parts(event.text)
            case ev.ModelChosen():
                self._model = event.model or ""
            case ev.QueryFinished():
                self._end_query(event)
            case ev.ThinkingDelta():
                self._on_thinking(event, now)
            case ev.MessageFinished():
                self._end_message(event, now)
            case ev.TokensSpent():
                self._on_piece(event, now, event.message_id)
            case ev.SubagentStarted():
                self._begin_subagent(event, now)
            case ev.ToolCallStarted():
                self._start_call(event, now)
            case ev.PermissionAsked() | ev.PermissionAnswered():
                self._on_permission(event, now)
            case _:
                call = self._calls.get(getattr(event, "tool_use_id", None) or "")
                if call is not None:
                    call.record.add(event)
                if call is not None and call.record.finished is not None:
                    self._end_call(call, now)
                else:
                    self._log_event(event, now)

    def _log_event(self, event: ev.Event, now: int) -> None:
        if isinstance(event, ev.QueryClassified):
            self._has_simple_path = event.decision == "SIMPLE"
        line = LOG_LINES.get(event.event_name)
        # Of observers only one that fails is logged.
        if line is None or (isinstance(event, ev.ObserverFinished) and event.status != "failed"):
            return
        parent = self._query_span
        if line.parent != "query":
            parent = self._call_or_current(getattr(event, "tool_use_id", None))
        attributes = {name: getattr(event, field) for name, field in line.fields.items()}
        self._spans.log(line.name, parent, now, ERROR if line.is_error else INFO, **attributes)

    def on_request(self, request: ServiceRequest, *, is_last: bool = False) -> None:
        """Handle a request: it belongs to the call that made it, or to the span that is open now."""
        if call := self._calls.get(request.tool_use_id):
            self._add_request(request, self._request_of(call))
        elif ended := self._ended.get(request.tool_use_id):
            self._add_request(request, NonRecordingSpan(ended[1]))
        elif self._root is None or (request.tool_use_id and not is_last):
            self._early.append(request)
        else:
            self._add_request(request, self._call_or_current(None) or NonRecordingSpan(self._root))

    def _add_early(self, *, is_last: bool = False) -> None:
        """Add the requests whose span is there now."""
        early = list(self._early)
        self._early.clear()
        for request in early:
            self.on_request(request, is_last=is_last)

    def close(self) -> None:
        """End the open spans."""
        self._end_open(self._last)
        if self._session is not None:
            self._end_session_span(self._session, self._last)

    @property
    def _query_span(self) -> Span | None:
        return self._query[1] if self._query is not None else self._session

    def _begin_session(self, event: ev.SessionStarted, now: int) -> None:
        self._model = event.model or ""
        names = ("session_id", "model", "permission_mode", "demo", "version", "resumed_from", "folder_trust")
        self._session = self._spans.start("session", None, now, **_fields(event, *names))
        self._root = self._session.get_span_context()
        self._add_early()

    def _end_session(self, event: ev.SessionFinished, now: int) -> None:
        self._end_open(now)
        if self._session is None:
            return
        totals = _fields(event, "reason", "queries", "tool_calls", "artifacts", "cost_usd") | _unpriced(event)
        self._spans.log("session_complete", self._session, now, duration_ms=event.duration_ms, **totals)
        self._spans.set(self._session, **totals)
        self._end_session_span(self._session, now)

    def _end_session_span(self, span: Span, now: int) -> None:
        span.set_attributes(
            self._content.text("input", self._first_query)
            | self._content.text("output", "\n\n".join(self._rest))
        )
        span.end(now)
        self._session = None

    def _begin_query(self, event: ev.QueryReceived, now: int) -> None:
        span = self._spans.start("query", self._session, now, query_id=event.query_id, text=event.text)
        span.set_attributes(self._content.text("input", event.text))
        self._query = (event.query_id, span, now)
        self._agent.ready_at = now
        self._has_simple_path = False
        self._agent.unread = self._content.text_parts(event.prompt or event.text)
        if self._first_query:
            self._rest.append(f"> {self._content.short(event.text)}")
        else:
            self._first_query = self._content.long(event.text)
        self._spans.log("query_started", span, now, query_id=event.query_id, query=event.text)

    def _end_query(self, event: ev.QueryFinished) -> None:
        if self._query is None or self._query[0] != event.query_id:
            return
        _, span, began = self._query
        ended = began + int(event.duration_ms * 1_000_000)
        self._agent.end_turn(ended)
        self._end_subagents()
        self._thinking.clear()
        self._query = None
        usage = event.usage
        tokens = _fields(usage, *usage.__struct_fields__) if usage else {}
        self._spans.set(span, **_fields(event, "status", "turns", "cost_usd"), **_unpriced(event), **tokens)
        text = event.text or (to_json(event.output) if event.output is not None else "")
        span.set_attributes(self._content.text("output", text))
        if text:
            self._rest.append(self._content.long(text))
        if event.status == "error":
            self._spans.fail(span, event.status, event.error or "")
        elif event.status == "interrupted":
            span.set_attributes(named(error=event.status))
        span.end(ended)

    def _end_open(self, now: int) -> None:
        self._add_early(is_last=True)
        self._end_subagents()
        for call in self._calls.values():
            self._end_request(call, "cancelled", now, ran=not call.waits)
            self._spans.set(call.span, status="cancelled", is_error=True)
            call.span.set_attributes(named(error="cancelled"))
            call.span.end(now)
        self._calls.clear()
        self._agent.end_turn(now)
        if self._query is not None:
            self._query[1].end(now)
            self._query = None

    def _turn_of(self, message_id: str | None, now: int, number: int | None = None) -> Span | None:
        """The turn of a message or a call of the main agent: the open one, or a new one."""
        agent, turn = self._agent, self._agent.turn
        if turn is not None and (
            (number is not None and number <= agent.turns)
            or (message_id is not None and turn.message_id in {None, message_id})
        ):
            turn.message_id = turn.message_id or message_id
            return turn.span
        if self._query is None:
            return None
        query_id, query, _ = self._query
        begins = min(agent.ready_at or now, now)
        agent.end_turn(begins)
        agent.turns = number if number is not None else agent.turns + 1
        model = "" if self._has_simple_path else self._model
        facts = {"iteration": agent.turns, "query_id": query_id}
        return self._begin_turn("conversation", agent, query, begins, message_id, model, **facts)

    def _begin_turn(
        self,
        kind: str,
        agent: Agent,
        parent: Span | None,
        began: int,
        message_id: str | None,
        requested_model: str = "",
        **attributes: Any,
    ) -> Span:
        """Begin a turn, with what was not read before."""
        span = self._spans.start(f"{kind}_iteration_{agent.turns}", parent, began, **attributes)
        agent.turn = ModelTurn(
            span, began, self._content, agent.unread, requested_model, agent.name, message_id
        )
        agent.unread = []
        return span

    def _on_piece(
        self,
        event: ev.MessageFinished | ev.ToolCallStarted | ev.TokensSpent,
        now: int,
        message_id: str | None = None,
        number: int | None = None,
    ) -> Span | None:
        """Handle a piece of an agent's message; returns the span that it belongs to."""
        if (call := event.parent_tool_use_id) is not None:
            span = self._call_or_current(call)
            self._on_subagent(call, event, now)
            return span
        span = self._turn_of(message_id, now, number)
        if self._agent.turn is not None:
            self._agent.turn.on_event(event, now)
        return span

    def _on_thinking(self, event: ev.ThinkingDelta, now: int) -> None:
        if event.parent_tool_use_id is not None:
            # A sub-agent's thinking comes in one piece.
            parent = self._call_or_current(event.parent_tool_use_id)
            self._log_text("thinking", event.text, parent, now, event.message_id)
            return
        self._turn_of(event.message_id, now)
        self._thinking.setdefault(event.message_id, []).append(event.text)

    def _end_message(self, event: ev.MessageFinished, now: int) -> None:
        parent = self._on_piece(event, now, event.message_id)
        if event.parent_tool_use_id is None:
            self._agent.ready_at = now
        thought = "".join(self._thinking.pop(event.message_id, ()))
        self._log_text("thinking", thought, parent, now, event.message_id)
        self._log_text("reasoning", event.text, parent, now, event.message_id)

    def _log_text(self, name: str, text: str, parent: Span | None, now: int, message_id: str) -> None:
        if text.strip():
            self._spans.log(name, parent, now, text=text, size=len(text), message_id=message_id)

    def _call_or_current(self, tool_use_id: str | None) -> Span | None:
        """The span of a call, ended or not; for an unknown call the current turn or query."""
        if found := self._calls.get(tool_use_id or ""):
            return found.span
        if ended := self._ended.get(tool_use_id or ""):
            return NonRecordingSpan(ended[0])
        return self._agent.turn.span if self._agent.turn is not None else self._query_span

    def _start_call(self, event: ev.ToolCallStarted, now: int) -> None:
        parent = self._on_piece(event, now, number=event.iteration)
        span = self._spans.start(
            "tool_call",
            parent or self._query_span,
            now,
            tool_name=event.name,
            tool_id=event.tool_use_id,
            iteration=event.iteration,
            query_id=event.query_id,
        )
        tool = self._content.short(event.name)
        call_id = self._content.short(event.tool_use_id)
        span.set_attributes(named(tool=tool, call=call_id, title=f"tool_call {tool}"))
        self._calls[event.tool_use_id] = CallSpan(span, FullCall(event), sent=now)
        self._set_arguments(span, event.input)
        self._add_early()

    def _on_permission(self, event: ev.PermissionAsked | ev.PermissionAnswered, now: int) -> None:
        call = self._calls.get(event.tool_use_id or "")
        if call is None:
            return
        call.waits = isinstance(event, ev.PermissionAsked) or event.decision == "deny"
        if isinstance(event, ev.PermissionAnswered):
            call.sent = now
            call.record.add(event)
            if event.input is not None:
                self._set_arguments(call.span, event.input)

    def _set_arguments(self, span: Span, given: JsonObject) -> None:
        """Set the arguments of a call: those of the model, or as a person changed them before it ran."""
        self._spans.set(span, input_preview=to_json(given))
        span.set_attributes(self._content.arguments(given))

    def _begin_subagent(self, event: ev.SubagentStarted, now: int) -> None:
        call = self._calls.get(event.tool_use_id)
        prompt = text_in(call.record.started.input, "prompt") if call is not None else ""
        agent = self._subagents[event.tool_use_id] = Agent(event.name, ready_at=now)
        agent.unread += self._content.text_parts(prompt)
        if call is not None:
            call.span.set_attributes(
                facts_of_span(SUBAGENT_CALL) | named(agent=self._content.short(event.name))
            )

    def _on_subagent(
        self, parent: str, event: ev.MessageFinished | ev.ToolCallStarted | ev.TokensSpent, now: int
    ) -> None:
        """Handle a piece of a sub-agent's message: they come with their tokens, and the next message ends the turn."""
        agent = self._subagents.setdefault(parent, Agent(ready_at=now))
        open_message = agent.turn.message_id if agent.turn is not None else None
        if isinstance(event, ev.TokensSpent) and open_message != event.message_id:
            agent.end_turn()
            agent.turns += 1
            begins = min(agent.ready_at, now)
            self._begin_turn("subagent", agent, self._call_or_current(parent), begins, event.message_id)
            agent.ready_at = now
        if agent.turn is not None:
            agent.turn.on_event(event, now)
            agent.ready_at = max(agent.ready_at, now)

    def _end_subagents(self) -> None:
        for parent in list(self._subagents):
            self._end_subagent(parent)

    def _end_subagent(self, parent: str) -> None:
        if (agent := self._subagents.pop(parent, None)) is not None:
            agent.end_turn()

    def _end_call(self, call: CallSpan, now: int) -> None:
        event, span = call.record.finished, call.span
        if event is None:
            return
        self._end_subagent(event.tool_use_id)
        del self._calls[event.tool_use_id]
        self._agent.ready_at = max(self._agent.ready_at, now)
        found = event.observation
        self._add_result(call, event.status, now)
        is_error = event.status != "success"
        size = found.size if found is not None else 0
        ended = _time_of(call.record.started) + int(event.duration_ms * 1_000_000)
        self._spans.log(
            "tool_result", span, ended, tool_id=event.tool_use_id, content_size=size, is_error=is_error
        )
        self._spans.set(span, status=event.status, is_error=is_error, content_size=size)
        if is_error:
            reason = (
                found.error if found is not None and found.error and self._content.included else event.status
            )
            self._spans.fail(span, event.status, reason)
        self._end_request(call, event.status, ended, ran=event.ran and not call.waits)
        span.end(ended)
        contexts = [each.get_span_context() for each in (span, call.request or span)]
        self._ended[event.tool_use_id] = contexts[0], contexts[1]
        if len(self._ended) > _MOST_KEPT:
            self._ended.popitem(last=False)

    def _add_result(self, call: CallSpan, status: str, now: int) -> None:
        """Add the result of a call to its span, and to what the agent that made it will read."""
        if not self._content.included:
            return
        started, found = call.record.started, call.record.observation
        text = found.text if found is not None else ""
        call.span.set_attributes(self._content.result(text))
        part = self._content.result_part(started.tool_use_id, text or status)
        if started.parent_tool_use_id is None:
            self._agent.unread.append(part)
        elif (agent := self._subagents.get(started.parent_tool_use_id)) is not None:
            agent.ready_at = max(agent.ready_at, now)
            agent.unread.append(part)

    def _request_of(self, call: CallSpan) -> Span:
        """The span of a call's request to its MCP server, or of the call if its tool is one of the agent itself."""
        prefix, _, rest = call.record.started.name.partition("__")
        if call.request is None and prefix == "mcp":
            server, _, tool = rest.partition("__")
            named = {"mcp.method.name": "tools/call", "server": server, "tool": tool}
            call.request = self._spans.start("mcp.request", call.span, call.sent, SpanKind.CLIENT, **named)
        return call.request or call.span

    def _end_request(self, call: CallSpan, status: str, ended: int, *, ran: bool) -> None:
        """End it with the call; a call that never ran made none."""
        if ran:
            self._request_of(call)
        if call.request is not None:
            if status != "success":
                self._spans.fail(call.request, status, status)
            call.request.end(max(ended, call.sent))

    def _add_request(self, request: ServiceRequest, parent: Span) -> None:
        """Add the span of an HTTP request, which is over."""
        hidden = bool(request.tool_use_id) and not self._content.included
        span = self._spans.start(
            "httpx.request",
            parent,
            request.began,
            SpanKind.CLIENT,
            **{
                "http.request.method": request.method,
                "http.response.status_code": request.status,
                "server.address": None if hidden else request.host,
                "server.port": request.port,
                "url.template": None if hidden else request.route,
                "error.type": request.error,
            },
        )
        if not hidden:
            span.set_attributes(named(title=self._content.short(f"{request.method} {request.route}")))
        if request.error is not None or (request.status or 0) >= 400:
            self._spans.fail(span, request.error or str(request.status), "")
        span.end(request.ended)


def _time_of(event: ev.Event) -> int:
    """The time of an event, in nanoseconds."""
    return int(event.at.timestamp() * 1_000_000) * 1_000


def _unpriced(event: ev.QueryFinished | ev.SessionFinished) -> dict[str, Any]:
    """The models whose price is unknown, as an attribute if there are any."""
    return {"unpriced": ", ".join(event.unpriced)} if event.unpriced else {}


def _fields(source: msgspec.Struct, *names: str) -> dict[str, Any]:
    """Fields of an event, as attributes of the same names."""
    return {name: getattr(source, name) for name in names}


class CallSpan(msgspec.Struct):
    """A tool call that has not ended: its span and its record.

    It was `sent` to its server at once, or when a person had allowed it, unless it still `waits` for that. `request` is
    the span of that, once it is known to be one.
    """

    span: Span
    record: FullCall
    sent: int
    waits: bool = False
    request: Span | None = None
