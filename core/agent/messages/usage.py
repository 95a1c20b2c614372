"""Counts the tokens of every message, including those of sub-agents, what they cost, and what fills the context.

The agent reports the cost of a turn only at its end, and includes its sub-agents. What it reports of itself is enough
for an estimate until then: the price list in the answer to the first handshake, and from the end of each turn what
every model really cost. There is no price list in this module.

The agent prices a model that it does not know like one of its own, and says so: `costBasis` is `unknown`. Such a
figure is not used: the cost is unknown, unless the user has set a price.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, TypeGuard, TypeVar

import msgspec
from msgspec.structs import FieldInfo, fields, replace

from ua_tui.core.events.types import Usage
from ua_tui.core.json_values import JsonMapping, object_in, objects_in, table_of, text_in, value_in
from ua_tui.core.settings.parsers import ModelPrice
from ua_tui.core.text import clean, clean_line

if TYPE_CHECKING:
    import claude_agent_sdk as sdk

_LISTED = re.compile(r"\$(\d+(?:\.\d+)?)/\$\d+(?:\.\d+)? per Mtok")
_IN_INPUT_TOKENS = ModelPrice(input=1.0, output=5.0, cache_read=0.1, cache_write=1.25)
"""The price of a token in input tokens: the same proportions for every model of the agent's list."""
_CLAUDE = "claude"
_SHORT = frozenset({"default", "inherit", "best", "opusplan", "opus", "sonnet", "haiku"})
HIGHEST = 1 << 53
_Count = Annotated[int, msgspec.Meta(ge=0, lt=HIGHEST)]
_T = TypeVar("_T")


class ModelReport(msgspec.Struct, frozen=True, rename="camel"):
    """What the agent has counted for a model."""

    input_tokens: _Count = 0
    output_tokens: _Count = 0
    cache_read_input_tokens: _Count = 0
    cache_creation_input_tokens: _Count = 0
    web_search_requests: _Count = 0
    context_window: _Count = 0
    cost_basis: str = ""
    cost_usd: float | None = msgspec.field(default=None, name="costUSD")

    def usage_since(self, earlier: ModelReport) -> Usage:
        """The tokens that were counted since an earlier report."""
        counts = {name: getattr(self, name) - getattr(earlier, name) for name in Usage.__struct_fields__}
        return Usage(**{name: max(0, count) for name, count in counts.items()})


class _ListedModel(msgspec.Struct, rename="camel"):
    value: str | None = None
    resolved_model: str | None = None
    description: str | None = None


_fields: Callable[[Any], tuple[FieldInfo, ...]] = cache(fields)
_NOTHING = ModelReport()


def _as(kind: type[_T], value: Any) -> _T | None:
    """What the agent reports, as a type; None if it is malformed."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return None


def model_reports(raw: Any) -> dict[str, ModelReport]:
    """Read the report on each model; a figure that is malformed counts as nothing."""
    given = object_in(raw).items()
    return {str(name): _parts_of(ModelReport, each) for name, each in given if isinstance(each, dict)}


def _parts_of(kind: type[_T], raw: JsonMapping) -> _T:
    """What the agent reports as a struct, without the fields that are malformed."""
    found = {each.name: _as(each.type, raw.get(each.encode_name)) for each in _fields(kind)}
    return kind(**{name: value for name, value in found.items() if value is not None})


class Spending(msgspec.Struct, frozen=True):
    """What the agent has counted for a conversation: its total in US dollars, and its report on each model."""

    total_usd: float = 0.0
    models: Mapping[str, ModelReport] = {}


class Prices(msgspec.Struct, eq=False):
    """What the tokens of each model cost, in US dollars; kept for the whole session.

    `chosen` are the prices that the user has set; they win over those of the agent. `window` is the user's context
    window for models that the agent does not know.
    """

    chosen: Mapping[str, ModelPrice] = {}
    window: int | None = None
    _listed: dict[str, float] = {}
    _names: set[str] = set()
    _families: dict[str, float] = {}
    _measured: dict[str, float] = {}
    _unknown: set[str] = set()

    def read_list(self, models: Iterable[Any]) -> None:
        """Read the prices from the models that the agent lists when it is connected."""
        for model in _each(_ListedModel, list(models)):
            name, resolved = model.value or "", model.resolved_model or ""
            # The list has a model that the agent does not know, too, if the session uses it.
            if _CLAUDE in resolved:
                self._names.add(name)
            if (found := _LISTED.search(model.description or "")) is None:
                continue
            self._listed[resolved] = price = float(found[1]) / 1e6
            if name.isalpha() and name != "default":
                self._families[name] = price

    def measure(self, reports: Mapping[str, ModelReport]) -> None:
        """Measure prices from the tokens and the cost of each model, as reported at the end of a turn."""
        for name, report in reports.items():
            if report.cost_basis == "unknown":
                self._unknown.add(name)
            elif report.cost_usd is not None and (weight := _weight(report.usage_since(_NOTHING))):
                searches = 0.01 * report.web_search_requests
                self._measured[name] = max(0.0, report.cost_usd - searches) / weight

    def is_known(self, model: str) -> bool:
        """Whether the cost of a model can be told: the user has set its price, or the agent knows it."""
        return model in self.chosen or self._agent_knows(model)

    def is_agents(self, model: str | None) -> bool:
        """Whether the agent itself counts what a model costs, at the price that counts here; None is its default."""
        return not self.chosen if model is None else model not in self.chosen and self._agent_knows(model)

    def cost_of(self, model: str, usage: Usage) -> float | None:
        """Estimate what these tokens of a model cost, in US dollars; None if the model is unknown."""
        if (chosen := self.chosen.get(model)) is not None:
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
        for name, report in now.models.items():
            earlier = before.models.get(name, _NOTHING)
            usage = report.usage_since(earlier)
            if not usage.total:
                continue
            if (chosen := self.chosen.get(name)) is not None:
                cost += _cost_at(chosen, usage) - (report.cost_usd or 0.0) + (earlier.cost_usd or 0.0)
            elif name in self._unknown:
                unpriced.append(clean(name))
        return (None if unpriced else max(0.0, cost)), unpriced

    def window_of(self, reports: Mapping[str, ModelReport], model: str | None) -> int | None:
        """The context window of a model in tokens, as reported at the end of a turn; None if it is unknown."""
        if model in self._unknown:
            return self.window
        return reports.get(model or "", _NOTHING).context_window or None

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


def _weight(usage: Usage) -> float:
    return _cost_at(_IN_INPUT_TOKENS, usage)


def is_count(value: Any) -> TypeGuard[int]:
    """Whether a reported figure is a number of tokens: a damaged message can have any value in its place."""
    return _as(_Count, value) is not None


def usage_of(raw: Any) -> Usage | None:
    """Read token counts; None when there are none."""
    counts = {name: value for name in Usage.__struct_fields__ if is_count(value := value_in(raw, name))}
    return Usage(**counts) if counts else None


def usage_between(before: Spending, now: Spending) -> Usage | None:
    """The tokens of a conversation between two reports, with those of its sub-agents; None if there are none."""
    models = now.models.items()
    usage = sum((each.usage_since(before.models.get(name, _NOTHING)) for name, each in models), Usage())
    return usage if usage.total else None


def usage_of_block(message: sdk.AssistantMessage, *, is_first: bool) -> Usage | None:
    """Count a part of a sub-agent's message: each part repeats the input tokens, and none has the output tokens."""
    if (usage := usage_of(message.usage)) is None:
        return None
    # A token is some four characters.
    wrote = sum(_length(block) for block in message.content) // 4
    return (
        replace(usage, output_tokens=max(usage.output_tokens, wrote))
        if is_first
        else Usage(output_tokens=wrote)
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


_TABLES = table_of(__file__, "context_usage.json", dict[str, dict[str, str]])
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


class _ToolTokens(msgspec.Struct, rename="camel"):
    server_name: str = "?"
    tokens: _Count = 0


class _Category(msgspec.Struct):
    id: str = ""
    name: str = ""
    tokens: _Count = 0
    kind: str = ""


def _each(kind: type[_T], values: Any) -> list[_T]:
    return [_parts_of(kind, each) for each in objects_in(values)]


def read_context_usage(raw: JsonMapping) -> ContextUsage:
    """Read the command line's answer; what is missing or malformed counts as nothing."""
    servers: Counter[str] = Counter()
    for tool in _each(_ToolTokens, raw.get("mcpTools")):
        servers[clean_line(tool.server_name, 40)] += tool.tokens
    counts = object_in(raw, "messageBreakdown")
    messages = Counter({name: counts[key] for key, name in _MESSAGES.items() if is_count(counts.get(key))})
    details = {"mcp_tools": servers, "messages": messages}
    parts = [
        ContextPart(
            _NAMES.get(each.id, clean_line(each.name or each.id, 40)),
            each.tokens,
            each.kind == "used",
            tuple((name, count) for name, count in details.get(each.id, Counter()).most_common(4) if count),
        )
        for each in _each(_Category, raw.get("categories"))
        if each.tokens
    ]
    return ContextUsage(
        model=clean_line(text_in(raw, "model"), 60),
        total=_as(_Count, raw.get("totalTokens")) or 0,
        window=_as(_Count, raw.get("rawMaxTokens")) or _as(_Count, raw.get("maxTokens")) or 0,
        parts=tuple(parts),
        is_guess=raw.get("autocompactSource") == "unknown-model",
    )
