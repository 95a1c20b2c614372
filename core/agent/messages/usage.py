"""Counts the tokens of every message, also of sub-agents, what they cost, and what fills the context.

The agent reports the cost of a turn only at its end, and includes its sub-agents. What it reports of itself is enough
for an estimate until then: the price list in the answer to the first handshake, and from the end of each turn what
every model really cost. There is no price list in this module.

The agent prices a model that it does not know like one of its own, and says so: `costBasis` is `unknown`. Such a
figure is not used: the cost is unknown, unless the user has set a price.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import msgspec

from ua_tui.core.events.types import TokensSpent, Usage
from ua_tui.core.settings.parsers import ModelPrice
from ua_tui.core.text import clean, clean_line

if TYPE_CHECKING:
    import claude_agent_sdk as sdk

_LISTED = re.compile(r"\$(\d+(?:\.\d+)?)/\$\d+(?:\.\d+)? per Mtok")
# The price of a token in input tokens: the same proportions for every model of the agent's list.
_OUTPUT, _CACHE_WRITE, _CACHE_READ = 5.0, 1.25, 0.1
_CLAUDE = "claude"
_SHORT = frozenset({"default", "inherit", "best", "opusplan", "opus", "sonnet", "haiku"})
HIGHEST = 1 << 53


class Spending(msgspec.Struct, frozen=True):
    """What the agent has counted for a conversation: its total in US dollars, and its report on each model."""

    total_usd: float = 0.0
    models: Mapping[str, Any] = msgspec.field(default_factory=dict)


class Prices:
    """What the tokens of each model cost, in US dollars; kept for the whole session.

    `chosen` are the prices that the user has set; they win over those of the agent. `window` is the user's context
    window for models that the agent does not know.
    """

    def __init__(self, chosen: Mapping[str, ModelPrice] | None = None, window: int | None = None) -> None:
        self._chosen = dict(chosen or {})
        self._window = window
        self._listed: dict[str, float] = {}
        self._names: set[str] = set()
        self._families: dict[str, float] = {}
        self._measured: dict[str, float] = {}
        self._unknown: set[str] = set()

    def read_list(self, models: Iterable[Any]) -> None:
        """Read the prices from the models that the agent lists when it is connected."""
        for model in models:
            if not isinstance(model, Mapping):
                continue
            # The list has a model that the agent does not know, too, if the session uses it.
            if _CLAUDE in str(model.get("resolvedModel") or ""):
                self._names.add(str(model.get("value") or ""))
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
            if spent.get("costBasis") == "unknown":
                self._unknown.add(str(name))
                continue
            usage, cost = _usage_in(spent), spent.get("costUSD")
            if _is_cost(cost) and (weight := _weight(usage)):
                searches = 0.01 * _count(spent, "webSearchRequests")
                self._measured[str(name)] = max(0.0, cost - searches) / weight

    def is_known(self, model: str) -> bool:
        """Whether the cost of a model can be told: the user has set its price, or the agent knows it."""
        return model in self._chosen or self._agent_knows(model)

    def is_agents(self, model: str | None) -> bool:
        """Whether the agent itself counts what a model costs, at the price that counts here; None is its default."""
        return not self._chosen if model is None else model not in self._chosen and self._agent_knows(model)

    def cost_of(self, model: str, usage: Usage) -> float | None:
        """Estimate what these tokens of a model cost, in US dollars; None if the model is unknown."""
        if (chosen := self._chosen.get(model)) is not None:
            return _cost_at(chosen, usage)
        if model in self._unknown:
            return None
        price = self._measured.get(model, self._listed.get(model, self._families.get(model)))
        if price is None and _CLAUDE in model:
            # The list has no price for older models of a family; it is close to that of the newest.
            price = next((each for family, each in self._families.items() if family in model), None)
        return None if price is None else price * _weight(usage)

    def cost_between(self, before: Spending, now: Spending) -> tuple[float | None, list[str]]:
        """What a conversation cost between two reports, in US dollars, and the models whose price is unknown.

        The cost is None if there are such models.
        """
        cost, unpriced = now.total_usd - before.total_usd, []
        for name, spent in now.models.items():
            earlier = before.models.get(name)
            usage = _usage_in(spent, earlier)
            if not usage.total:
                continue
            if (chosen := self._chosen.get(name)) is not None:
                cost += _cost_at(chosen, usage) - _dollars(spent) + _dollars(earlier)
            elif name in self._unknown:
                unpriced.append(clean(name))
        return (None if unpriced else max(0.0, cost)), unpriced

    def window_of(self, models: Any, model: str | None) -> int | None:
        """The context window of a model in tokens, as reported at the end of a turn; None if it is unknown."""
        if model in self._unknown:
            return self._window
        usage = models.get(model) if isinstance(models, Mapping) else None
        window = usage.get("contextWindow") if isinstance(usage, Mapping) else None
        return window if is_count(window) and window > 0 else None

    def _agent_knows(self, model: str) -> bool:
        if model in self._unknown:
            return False
        name = model.partition("[")[0]
        # The list has only the newest models and their short names.
        return name in self._names | _SHORT or name in self._measured or _CLAUDE in name


def _cost_at(price: ModelPrice, usage: Usage) -> float:
    return (
        price.input * usage.input_tokens
        + price.output * usage.output_tokens
        + price.cache_read * usage.cache_read_input_tokens
        + price.cache_write * usage.cache_creation_input_tokens
    )


def _usage_in(spent: Any, earlier: Any = None) -> Usage:
    """The tokens in a report on a model, without those in an earlier report."""

    def count(name: str) -> int:
        return max(0, _count(spent, name) - _count(earlier, name))

    return Usage(
        input_tokens=count("inputTokens"),
        output_tokens=count("outputTokens"),
        cache_read_input_tokens=count("cacheReadInputTokens"),
        cache_creation_input_tokens=count("cacheCreationInputTokens"),
    )


def _dollars(spent: Any) -> float:
    cost = spent.get("costUSD") if isinstance(spent, Mapping) else None
    return float(cost) if _is_cost(cost) else 0.0


def _weight(usage: Usage) -> float:
    return (
        usage.input_tokens
        + _OUTPUT * usage.output_tokens
        + _CACHE_WRITE * usage.cache_creation_input_tokens
        + _CACHE_READ * usage.cache_read_input_tokens
    )


def _count(spent: Any, name: str) -> int:
    value = spent.get(name) if isinstance(spent, Mapping) else None
    return value if is_count(value) else 0


def is_count(value: Any) -> TypeGuard[int]:
    """Whether a reported figure is a number of tokens: a damaged message can have any value in its place."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < HIGHEST


def _is_cost(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def usage_of(raw: Any) -> Usage | None:
    """Read token counts; None when there are none."""
    if not isinstance(raw, dict):
        return None
    counts = {name: value for name in Usage.__struct_fields__ if is_count(value := raw.get(name))}
    return Usage(**counts) if counts else None


def usage_between(before: Spending, now: Spending) -> Usage | None:
    """The tokens of a conversation between two reports, with those of its sub-agents; None if there are none."""
    models = now.models.items()
    usage = sum((_usage_in(spent, before.models.get(name)) for name, spent in models), Usage())
    return usage if usage.total else None


class TokenMeter(msgspec.Struct, eq=False):
    """Makes an event of the tokens of each message; `prices` estimates their cost."""

    prices: Prices
    _seen: dict[str, str] = msgspec.field(default_factory=dict)

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
        # A token is some four characters.
        wrote = sum(_length(block) for block in message.content) // 4
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
            cost_usd=self.prices.cost_of(model, usage),
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


_TABLES = msgspec.json.decode(
    Path(__file__).with_name("context_usage.json").read_bytes(), type=dict[str, dict[str, str]]
)
_NAMES, _MESSAGES = _TABLES["names"], _TABLES["messages"]


class ContextPart(msgspec.Struct, frozen=True):
    """A part of the context, in tokens; `details` are its own parts, the largest first."""

    name: str
    tokens: int
    is_used: bool = True
    details: tuple[tuple[str, int], ...] = ()


class ContextUsage(msgspec.Struct, frozen=True):
    """What fills the context: `total` tokens of `window`, which is a guess if the model is not known."""

    model: str
    total: int
    window: int
    parts: tuple[ContextPart, ...]
    is_guess: bool = False


def describe_total(usage: ContextUsage) -> str:
    """How much of the context is used, on one line."""
    share = f" ({round(100 * usage.total / max(1, usage.window))}%)" if not usage.is_guess else ""
    of = f"{usage.window:,} tokens" if not usage.is_guess else "an unknown number of tokens"
    return f"{usage.total:,} of {of}{share} · {usage.model or 'the default model'}"


def read_context_usage(raw: Mapping[str, Any]) -> ContextUsage:
    """Read the command line's answer; what is missing or malformed counts as nothing."""
    servers: Counter[str] = Counter()
    for tool in _objects(raw.get("mcpTools")):
        servers[clean_line(str(tool.get("serverName") or "?"), 40)] += _tokens(tool.get("tokens"))
    breakdown = raw.get("messageBreakdown")
    messages = Counter(
        {name: _tokens(breakdown.get(key)) for key, name in _MESSAGES.items()}
        if isinstance(breakdown, dict)
        else {}
    )
    details = {"mcp_tools": servers, "messages": messages}
    parts = [
        ContextPart(
            _NAMES.get(key := str(each.get("id") or ""), clean_line(str(each.get("name") or key), 40)),
            _tokens(each.get("tokens")),
            each.get("kind") == "used",
            tuple((name, count) for name, count in details.get(key, Counter()).most_common(4) if count),
        )
        for each in _objects(raw.get("categories"))
    ]
    return ContextUsage(
        model=clean_line(str(raw.get("model") or ""), 60),
        total=_tokens(raw.get("totalTokens")),
        window=_tokens(raw.get("rawMaxTokens")) or _tokens(raw.get("maxTokens")),
        parts=tuple(part for part in parts if part.tokens),
        is_guess=raw.get("autocompactSource") == "unknown-model",
    )


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _tokens(value: Any) -> int:
    return value if is_count(value) else 0
