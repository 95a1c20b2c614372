"""Counts the tokens of every message, also of sub-agents, and estimates their cost.

The agent reports the cost of a turn only at its end, and includes its sub-agents. What it reports of itself is enough
for an estimate until then: the price list in the answer to the first handshake, and from the end of each turn what
every model really cost. There is no price list in this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

import msgspec

from core.events.types import TokensSpent, Usage
from core.text import clean

if TYPE_CHECKING:
    import claude_agent_sdk as sdk

__all__ = ["Prices", "TokenMeter", "usage_of", "window_of"]

_LISTED = re.compile(r"\$(\d+(?:\.\d+)?)/\$\d+(?:\.\d+)? per Mtok")
# The price of a token in input tokens: the same proportions for every model of the agent's list.
_OUTPUT, _CACHE_WRITE, _CACHE_READ = 5.0, 1.25, 0.1
_WEB_SEARCH_USD = 0.01
_HIGHEST = 1 << 53


class Prices:
    """The price of an input token of each model, in US dollars; kept for the whole session."""

    def __init__(self) -> None:
        self._listed: dict[str, float] = {}
        self._families: dict[str, float] = {}
        self._measured: dict[str, float] = {}

    def read_list(self, models: Iterable[Any]) -> None:
        """Read the prices from the models that the agent lists when it is connected."""
        for model in models:
            if not isinstance(model, Mapping):
                continue
            found = _LISTED.search(str(model.get("description") or ""))
            if found is None:
                continue
            price = float(found[1]) / 1e6
            self._listed[str(model.get("resolvedModel") or "")] = price
            family = str(model.get("value") or "")
            if family.isalpha() and family != "default":
                self._families[family] = price

    def measure(self, models: Any) -> None:
        """Measure prices from the tokens and the cost of each model, as reported at the end of a turn."""
        for name, spent in models.items() if isinstance(models, Mapping) else ():
            if not isinstance(spent, Mapping):
                continue
            usage = Usage(
                input_tokens=_count(spent, "inputTokens"),
                output_tokens=_count(spent, "outputTokens"),
                cache_read_input_tokens=_count(spent, "cacheReadInputTokens"),
                cache_creation_input_tokens=_count(spent, "cacheCreationInputTokens"),
            )
            cost = spent.get("costUSD")
            if isinstance(cost, int | float) and (weight := _weight(usage)):
                searches = _WEB_SEARCH_USD * _count(spent, "webSearchRequests")
                self._measured[str(name)] = max(0.0, cost - searches) / weight

    def cost_of(self, model: str, usage: Usage) -> float | None:
        """Estimate what these tokens of a model cost, in US dollars; None if the model is unknown."""
        price = self._measured.get(model, self._listed.get(model))
        if price is None:
            # The list has no price for older models of a family; it is close to that of the newest.
            price = next((each for family, each in self._families.items() if family in model), None)
        return None if price is None else price * _weight(usage)


def _weight(usage: Usage) -> float:
    return (
        usage.input_tokens
        + _OUTPUT * usage.output_tokens
        + _CACHE_WRITE * usage.cache_creation_input_tokens
        + _CACHE_READ * usage.cache_read_input_tokens
    )


def _count(spent: Mapping[str, Any], name: str) -> int:
    value = spent.get(name)
    return value if _is_count(value) else 0


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and 0 <= value < _HIGHEST


_CHARACTERS_PER_TOKEN = 4


def usage_of(raw: Any) -> Usage | None:
    """Read token counts; None when there are none."""
    if not isinstance(raw, dict):
        return None
    counts = {name: value for name in Usage.__struct_fields__ if _is_count(value := raw.get(name))}
    return Usage(**counts) if counts else None


def window_of(models: Any, model: str | None) -> int | None:
    """The context window of a model in tokens, as reported at the end of a turn for each model used."""
    usage = models.get(model) if isinstance(models, dict) else None
    window = usage.get("contextWindow") if isinstance(usage, dict) else None
    return window if _is_count(window) and window > 0 else None


class TokenMeter:
    """Makes an event of the tokens of each message; `prices` estimates their cost."""

    def __init__(self, prices: Prices) -> None:
        self._prices = prices
        # By the call that a sub-agent works for: several work at once, and their messages alternate.
        self._seen: dict[str, str] = {}

    def of_message(
        self, query_id: str, message_id: str, model: str, usage: Usage | None
    ) -> Iterator[TokensSpent]:
        """Count a message of the main agent, whose stream reports all tokens."""
        if usage is not None and usage.total:
            yield self._spent(query_id, message_id, model, usage)

    def of_block(self, query_id: str, message: sdk.AssistantMessage) -> Iterator[TokensSpent]:
        """Count a part of a sub-agent's message: each part repeats the input tokens, and none has the output tokens."""
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
