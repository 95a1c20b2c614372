"""What fills the context of a conversation, as the command line counts it: the prompts, the tools, the messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from ua_tui.core.agent.messages.usage import is_count
from ua_tui.core.text import clean_line

_TABLES = msgspec.json.decode(
    Path(__file__).with_suffix(".json").read_bytes(), type=dict[str, dict[str, str]]
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
        servers[clean_line(str(tool.get("serverName") or "?"), 40)] += _count(tool.get("tokens"))
    breakdown = raw.get("messageBreakdown")
    messages = Counter(
        {name: _count(breakdown.get(key)) for key, name in _MESSAGES.items()}
        if isinstance(breakdown, dict)
        else {}
    )
    details = {"mcp_tools": servers, "messages": messages}
    parts = [
        ContextPart(
            _NAMES.get(key := str(each.get("id") or ""), clean_line(str(each.get("name") or key), 40)),
            _count(each.get("tokens")),
            each.get("kind") == "used",
            tuple((name, count) for name, count in details.get(key, Counter()).most_common(4) if count),
        )
        for each in _objects(raw.get("categories"))
    ]
    return ContextUsage(
        model=clean_line(str(raw.get("model") or ""), 60),
        total=_count(raw.get("totalTokens")),
        window=_count(raw.get("rawMaxTokens")) or _count(raw.get("maxTokens")),
        parts=tuple(part for part in parts if part.tokens),
        is_guess=raw.get("autocompactSource") == "unknown-model",
    )


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _count(value: Any) -> int:
    return value if is_count(value) else 0
