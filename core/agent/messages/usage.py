"""Counts the tokens of every message as it comes, a sub-agent's too, and what they are likely to cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from core.agent.messages.prices import Prices
from core.events.types import TokensSpent, Usage
from core.text import clean

if TYPE_CHECKING:
    import claude_agent_sdk as sdk

__all__ = ["TokenCount", "usage_of", "window_of"]

_CHARACTERS_PER_TOKEN = 4


def usage_of(raw: Any) -> Usage | None:
    """Read token counts; None when there are none."""
    if not isinstance(raw, dict):
        return None
    counts = {name: value for name in Usage.__struct_fields__ if isinstance(value := raw.get(name), int)}
    return Usage(**counts) if counts else None


def window_of(models: Any, model: str | None) -> int | None:
    """How many tokens a model can take in, as the end of a turn tells of each one that was used."""
    told = models.get(model) if isinstance(models, dict) else None
    window = told.get("contextWindow") if isinstance(told, dict) else None
    return window if isinstance(window, int) and window > 0 else None


class TokenCount:
    """Makes an event of what each message took; `prices` knows what that costs."""

    def __init__(self, prices: Prices) -> None:
        self._prices = prices
        # By the call that a sub-agent works for: several work at once, and their messages come in turns.
        self._seen: dict[str, str] = {}

    def of_message(
        self, query_id: str, message_id: str, model: str, usage: Usage | None
    ) -> Iterator[TokensSpent]:
        """Count a message of the main agent, whose stream tells all of it."""
        if usage is not None and usage.total:
            yield self._spent(query_id, message_id, model, usage)

    def of_block(self, query_id: str, message: sdk.AssistantMessage) -> Iterator[TokensSpent]:
        """Count a part of a sub-agent's message: with each comes again what went in, and never what came out."""
        parent, message_id, usage = message.parent_tool_use_id, message.message_id, usage_of(message.usage)
        if parent is None or message_id is None or usage is None:
            return
        wrote = sum(_length(block) for block in message.content) // _CHARACTERS_PER_TOKEN
        if self._seen.get(parent) == message_id:
            usage = Usage(output_tokens=wrote)
        else:
            self._seen[parent] = message_id
            usage = msgspec.structs.replace(usage, output_tokens=max(usage.output_tokens, wrote))
        if usage.total:
            yield self._spent(query_id, message_id, message.model, usage, parent)

    def _spent(
        self, query_id: str, message_id: str, model: str, usage: Usage, parent: str | None = None
    ) -> TokensSpent:
        return TokensSpent(
            query_id=query_id,
            message_id=message_id,
            usage=usage,
            model=clean(model),
            cost_usd=self._prices.cost_of(model, usage),
            parent_tool_use_id=parent,
        )


def _length(block: Any) -> int:
    """How much a model wrote for a block, in characters."""
    import claude_agent_sdk as sdk

    match block:
        case sdk.TextBlock():
            return len(block.text)
        case sdk.ThinkingBlock():
            return len(block.thinking)
        case sdk.ToolUseBlock():
            return len(msgspec.json.encode(block.input))
        case _:
            return 0
