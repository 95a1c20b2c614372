"""Makes single spans, with the attributes of their events, and those of the turns of a model.

Inputs and outputs are attributes of spans without secrets, of a bounded size, or left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

from ua_tui.core.events.codec import from_json, to_json
from ua_tui.core.events.types import MessageFinished, TokensSpent, ToolCallStarted, Usage
from ua_tui.core.json_values import JsonMapping, table_of
from ua_tui.core.redaction.redactor import Redactor, preview
from ua_tui.core.telemetry.spans.conventions import (
    SHOWN,
    Labels,
    Value,
    facts_of_span,
    facts_of_tokens,
    named,
)
from ua_tui.core.text import clean

_SHORT, _LONG = 1_000, 8_000
_MOST_PARTS = 20
_REDACTED_WHOLE = 4 * _LONG
_TEXT, _JSON = "text/plain", "application/json"

Part = JsonMapping
"""A part of a message, in the form of the GenAI conventions."""
Side = Literal["input", "output"]


class SpanContent(msgspec.Struct, eq=False):
    """Prepares texts for spans.

    Args:
        redactor: masks secrets in every text.
        included: whether inputs and outputs are part of the spans at all.
    """

    redactor: Redactor
    included: bool = True

    def short(self, text: str) -> str:
        """At most 1,000 characters of a text."""
        return clean(preview(text, _SHORT, self.redactor))

    def long(self, text: str) -> str:
        """At most 8,000 characters of a text."""
        return clean(preview(text, _LONG, self.redactor))

    def text(self, side: Side, text: str) -> dict[str, Value]:
        """The attributes of a text that something was given, or returned."""
        if not text or not self.included:
            return {}
        shown = self.long(text)
        is_json = shown[:1] in ("{", "[") and isinstance(from_json(shown), dict | list)
        return named(**{side: shown, f"{side}_type": _JSON if is_json else _TEXT})

    def arguments(self, given: JsonMapping) -> dict[str, Value]:
        """The attributes of the arguments of a call."""
        if not self.included:
            return {}
        found = self.text("input", self._encoded(given))
        return found | named(arguments=found["input.value"])

    def result(self, text: str) -> dict[str, Value]:
        """The attributes of the result of a call."""
        found = self.text("output", text)
        return found | named(result=found.get("output.value"))

    def text_parts(self, text: str) -> list[Part]:
        """The part of a message that is text, if there is any."""
        return [{"type": "text", "content": self.long(text)}] if text and self.included else []

    def call_part(self, tool_use_id: str, name: str, given: JsonMapping) -> Part:
        """A part of a message that is a call; too many arguments become a text."""
        encoded = self._encoded(given)
        arguments = from_json(encoded) if len(encoded) <= _SHORT else self.short(encoded)
        return {
            "type": "tool_call",
            "id": self.short(tool_use_id),
            "name": self.short(name),
            "arguments": arguments,
        }

    def result_part(self, tool_use_id: str, text: str) -> Part:
        """A part of a message that is the result of a call."""
        return {"type": "tool_call_response", "id": self.short(tool_use_id), "response": self.short(text)}

    def messages_read(self, parts: Sequence[Part]) -> dict[str, Value]:
        """The attributes of what a model read: texts of the user, or results of calls."""
        if not parts or not self.included:
            return {}
        kept = parts[-_MOST_PARTS:]
        encoded = to_json(
            [{"role": "user" if "content" in part else "tool", "parts": [part]} for part in kept]
        )
        return _messages("input", kept, encoded)

    def message_written(self, parts: Sequence[Part], stop_reason: str) -> dict[str, Value]:
        """The attributes of the message that a model wrote."""
        if not parts or not self.included:
            return {}
        kept = list(parts[:_MOST_PARTS])
        message = {"role": "assistant", "parts": kept, "finish_reason": self.short(stop_reason or "unknown")}
        return _messages("output", kept, to_json([message]))

    def _encoded(self, given: JsonMapping) -> str:
        """Arguments as JSON; of a large one only the pieces that remain are redacted, by whoever cuts it."""
        encoded = to_json(given)
        if len(encoded) > _REDACTED_WHOLE:
            return encoded
        return clean(to_json(self.redactor.redact_value(dict(given))))


def _messages(side: Side, parts: Sequence[Part], encoded: str) -> dict[str, Value]:
    """The attributes of messages; a viewer shows the text of one that is nothing else."""
    is_text = len(parts) == 1 and "content" in parts[0]
    shown, kind = (parts[0]["content"], _TEXT) if is_text else (encoded, _JSON)
    return named(**{side: shown, f"{side}_type": kind, f"{side}_messages": encoded})


_CONTENT = frozenset({"text", "query", "input_preview", "raw_response"})


INFO: Mapping[str, Any] = {"logfire.span_type": "log", "logfire.level_num": 9}
"""The attributes of a log line."""
ERROR: Mapping[str, Any] = {**INFO, "logfire.level_num": 17}
"""The attributes of a log line about an error."""


class LogLine(msgspec.Struct, frozen=True):
    """How an event is logged: the name of the span, its attributes with the fields they are from, and its parent."""

    name: str
    fields: Mapping[str, str]
    parent: Literal["query", "turn", "call"] = "query"
    is_error: bool = False


LOG_LINES = table_of(__file__, "log_lines.toml", dict[str, LogLine])
"""How events are logged, by their names."""


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
            given |= self._content.text(side, str(attributes.get(source) or ""))
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


class ModelTurn(msgspec.Struct):
    """One turn of the main agent or of a sub-agent.

    Attributes:
        span: its span.
        began: nanoseconds since the epoch, when the model had everything for the turn.
        ended: when the last piece of its message was there.
        read: what it had not read before, as parts of messages.
        requested_model: the model that was chosen; empty if the agent or the sub-agent's definition chooses.
        agent: the name of the sub-agent; empty for the main agent, and if it is not known.
    """

    span: Span
    began: int
    content: SpanContent
    read: list[Part] = []
    requested_model: str = ""
    agent: str = ""
    message_id: str | None = None
    ended: int = 0
    model: str = ""
    usage: Usage | None = None
    cost_usd: float | None = None
    _stop_reason: str = ""
    _texts: list[Part] = []
    _calls: list[Part] = []

    def on_event(self, event: MessageFinished | ToolCallStarted | TokensSpent, now: int) -> None:
        """Handle a piece of the message, or its tokens."""
        self.ended = max(self.ended, now)
        match event:
            case MessageFinished():
                self._texts += self.content.text_parts(event.text)
                self._stop_reason = event.stop_reason or self._stop_reason
            case ToolCallStarted():
                if self.content.included:
                    self._calls.append(self.content.call_part(event.tool_use_id, event.name, event.input))
            case TokensSpent():
                self.usage = (self.usage or Usage()) + event.usage
                if event.cost_usd is not None:
                    self.cost_usd = (self.cost_usd or 0.0) + event.cost_usd
                self.model = event.model or self.model

    @property
    def attributes(self) -> dict[str, Value]:
        """What the span of the turn states at its end."""
        short = self.content.short
        found = named(
            agent=short(self.agent) or None,
            requested_model=short(self.requested_model or self.model) or None,
            model=short(self.model) or None,
            message=short(self.message_id) if self.message_id else None,
            stop_reasons=(short(self._stop_reason),) if self._stop_reason else None,
        )
        if self.ended > self.began:
            found["model_ms"] = (self.ended - self.began) / 1e6
        if self.usage is not None:
            found |= facts_of_tokens(self.usage, self.cost_usd)
        written = self.content.message_written([*self._texts, *self._calls], self._stop_reason)
        return found | self.content.messages_read(self.read) | written


class Agent(msgspec.Struct):
    """An agent that works: the main one, or a sub-agent.

    Attributes:
        name: the name of the sub-agent; empty for the main agent, and if it is not known.
        turns: how many turns there were, also that of now.
        ready_at: when it had everything for its next turn.
        unread: what it has not read yet, as parts of messages.
        turn: its open turn.
    """

    name: str = ""
    turns: int = 0
    ready_at: int = 0
    unread: list[Part] = []
    turn: ModelTurn | None = None

    def end_turn(self, now: int | None = None) -> None:
        """End the open turn, now or when its last piece was there."""
        if self.turn is not None:
            self.turn.span.set_attributes(self.turn.attributes)
            self.turn.span.end(self.turn.ended if now is None else now)
            self.turn = None
