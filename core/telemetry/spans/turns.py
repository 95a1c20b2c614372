"""The turns of a model as they happen: what it read and wrote, its tokens, and what they cost."""

from __future__ import annotations

import msgspec
from opentelemetry.trace import Span

from ua_tui.core.events.types import MessageFinished, TokensSpent, ToolCallStarted, Usage
from ua_tui.core.telemetry.spans.content import Part, SpanContent
from ua_tui.core.telemetry.spans.conventions import Value, facts_of_tokens, named


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
    read: list[Part] = msgspec.field(default_factory=list)
    requested_model: str = ""
    agent: str = ""
    message_id: str | None = None
    ended: int = 0
    model: str = ""
    usage: Usage | None = None
    cost_usd: float | None = None
    _stop_reason: str = ""
    _texts: list[Part] = msgspec.field(default_factory=list)
    _calls: list[Part] = msgspec.field(default_factory=list)

    def on_event(self, event: MessageFinished | ToolCallStarted | TokensSpent, now: int) -> None:
        """Handle a piece of the message, or its tokens."""
        self.ended = max(self.ended, now)
        match event:
            case MessageFinished():
                if event.text and self.content.included:
                    self._texts.append(self.content.text_part(event.text))
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
    unread: list[Part] = msgspec.field(default_factory=list)
    turn: ModelTurn | None = None

    def begin_turn(
        self,
        span: Span,
        began: int,
        content: SpanContent,
        *,
        message_id: str | None,
        requested_model: str = "",
    ) -> None:
        """Begin a turn, with what was not read before."""
        self.turn = ModelTurn(
            span,
            began,
            content,
            self.unread,
            requested_model=requested_model,
            agent=self.name,
            message_id=message_id,
        )
        self.unread = []

    def end_turn(self, now: int | None = None) -> None:
        """End the open turn, now or when its last piece was there."""
        if self.turn is not None:
            self.turn.span.set_attributes(self.turn.attributes)
            self.turn.span.end(self.turn.ended if now is None else now)
            self.turn = None
