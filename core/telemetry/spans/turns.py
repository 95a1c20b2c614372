"""The turns of a model as they happen: what it read and wrote, its tokens, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from core.events.types import MessageFinished, TokensSpent, ToolCallStarted, Usage
from core.telemetry.spans.content import Content, Part
from core.telemetry.spans.conventions import Value, facts_of_tokens, named

__all__ = ["ModelTurn", "SubagentTurns"]


@dataclass
class ModelTurn:
    """One turn of the main agent or of a sub-agent.

    Attributes:
        began: nanoseconds since the epoch, when the model had everything for the turn.
        ended: when the last piece of its message was there.
        read: what it had not read before, as parts of messages.
        requested_model: the model that was chosen; empty if the agent or the sub-agent's definition chooses.
        agent: the name of the sub-agent; empty for the main agent, and if it is not known.
    """

    number: int
    began: int
    content: Content
    read: list[Part] = field(default_factory=list)
    requested_model: str = ""
    agent: str = ""
    message_id: str | None = None
    ended: int = 0
    model: str = ""
    usage: Usage | None = None
    cost_usd: float | None = None
    _stop_reason: str = ""
    _texts: list[Part] = field(default_factory=list)
    _calls: list[Part] = field(default_factory=list)

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
                self.usage = _sum(self.usage or Usage(), event.usage)
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


@dataclass
class _Subagent:
    name: str = ""
    turns: int = 0
    ready_at: int = 0
    read: list[Part] = field(default_factory=list)
    turn: ModelTurn | None = None


class SubagentTurns:
    """The turns of the sub-agents that work at the same time, each by the id of the call that started it.

    The pieces of a sub-agent's message come with their tokens; the next message, or the end of the sub-agent, ends the
    turn.
    """

    def __init__(self, content: Content) -> None:
        self._content = content
        self._working: dict[str, _Subagent] = {}

    def begin(self, parent: str, name: str, prompt: str, now: int) -> None:
        """Handle the start of a sub-agent with its prompt."""
        read = [self._content.text_part(prompt)] if prompt and self._content.included else []
        self._working[parent] = _Subagent(name, ready_at=now, read=read)

    def on_result(self, parent: str, part: Part, now: int) -> None:
        """Handle the result of a call of a sub-agent."""
        if (found := self._working.get(parent)) is not None:
            found.ready_at = max(found.ready_at, now)
            found.read.append(part)

    def on_event(
        self, parent: str, event: MessageFinished | ToolCallStarted | TokensSpent, now: int
    ) -> ModelTurn | None:
        """Handle a piece of a message; gives the turn that it ends."""
        found = self._working.setdefault(parent, _Subagent(ready_at=now))
        over = None
        if isinstance(event, TokensSpent) and (
            found.turn is None or found.turn.message_id != event.message_id
        ):
            over, found.turns = found.turn, found.turns + 1
            found.turn = ModelTurn(
                found.turns,
                min(found.ready_at, now),
                self._content,
                found.read,
                agent=found.name,
                message_id=event.message_id,
            )
            found.read, found.ready_at = [], now
        if found.turn is not None:
            found.turn.on_event(event, now)
            found.ready_at = max(found.ready_at, now)
        return over

    def end(self, parent: str) -> ModelTurn | None:
        """Handle the end of a sub-agent; gives the turn that it ends."""
        found = self._working.pop(parent, None)
        return found.turn if found is not None else None

    def end_all(self) -> Iterator[tuple[str, ModelTurn]]:
        """Handle the end of all sub-agents; gives the turns that it ends, each with the call of the sub-agent."""
        for parent in list(self._working):
            if (turn := self.end(parent)) is not None:
                yield parent, turn


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        cache_read_input_tokens=one.cache_read_input_tokens + other.cache_read_input_tokens,
        cache_creation_input_tokens=one.cache_creation_input_tokens + other.cache_creation_input_tokens,
    )
