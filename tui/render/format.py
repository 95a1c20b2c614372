"""How numbers, times, tool names and states are written on the screen: short, and the same everywhere."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from enum import Enum
from functools import lru_cache
from typing import Any

from rich.cells import cell_len, chop_cells

from core.text import clean_line

__all__ = [
    "Mark",
    "ToolName",
    "clock",
    "count",
    "duration",
    "inner_calls",
    "main_argument",
    "middle_cut",
    "milliseconds",
    "money",
    "size",
    "spent_of",
    "spinner",
    "tail_cut",
    "tokens",
    "tool_label",
    "tool_name",
]

ELLIPSIS = "…"
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
ARGUMENT_LIMIT = 120

TELLING = (
    "query",
    "queries",
    "search_query",
    "q",
    "urls",
    "url",
    "path",
    "file_path",
    "filename",
    "file",
    "pattern",
    "command",
    "code_to_execute",
    "code",
    "description",
    "subject",
    "title",
    "recipient_email",
    "to",
    "toolkits",
    "name",
    "prompt",
    "thought",
)


class Mark(Enum):
    """A state as a mark and the word that says the same without colour or shape."""

    RUNNING = ("⠹", "running")
    SUCCESS = ("✓", "done")
    ERROR = ("✗", "failed")
    DENIED = ("⊘", "denied")
    CANCELLED = ("⊘", "cancelled")
    WAITING = ("?", "waits for you")
    RETRY = ("⟲", "sent back")

    def __init__(self, glyph: str, word: str) -> None:
        self.glyph = glyph
        self.word = word


def spinner(tick: int) -> str:
    """Return the glyph of a running row at a tick; each is one cell wide."""
    return SPINNER[tick % len(SPINNER)]


def duration(seconds: float) -> str:
    """Write a duration in at most seven cells: `0.4s`, `33.0s`, `2m 04s`, `1h 02m`, `3d 04h`."""
    seconds = max(0.0, seconds)
    if seconds < 59.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    minutes = whole // 60
    if minutes < 1440:
        return f"{minutes // 60}h {minutes % 60:02d}m"
    hours = minutes // 60
    return f"{hours // 24}d {hours % 24:02d}h"


def milliseconds(value: float) -> str:
    """Write a short time given in milliseconds: `<1 ms`, `3 ms`, `140 ms`, then as `duration` does."""
    if value < 0.5:
        return "<1 ms"
    return f"{round(value)} ms" if value < 999.5 else duration(value / 1000)


def _scaled(value: float, units: str) -> str:
    unit = 0
    while value >= (999.5 if unit else 1000) and unit < len(units):
        value /= 1000
        unit += 1
    if unit == 0:
        return str(round(value))
    number = f"{value:.1f}" if value < 9.95 else f"{value:.0f}"
    return number.removesuffix(".0") + units[unit - 1]


def size(bytes_: int) -> str:
    """Write a size in bytes in at most five cells: `812B`, `1.4K`, `12K`, `3.1M`, `2G`."""
    number = _scaled(max(0, bytes_), "KMGT")
    return number if number[-1].isalpha() else number + "B"


def count(number: int) -> str:
    """Write a count in at most five cells: `950`, `1.2k`, `38k`, `1.2M`."""
    return _scaled(max(0, number), "kMG")


def tokens(number: int) -> str:
    """Write a number of tokens: `812 tok`, `38k tok`, `1.2M tok`."""
    return f"{count(number)} tok"


def money(dollars: float | None) -> str:
    """Write a cost: `$0.21`, `<$0.01` when there is one but small, and nothing when it is not known."""
    if dollars is None:
        return ""
    if 0 < dollars < 0.01:
        return "<$0.01"
    return f"${dollars:,.2f}" if dollars < 1000 else f"${dollars:,.0f}"


def spent_of(spent: float, limit: float) -> tuple[str, str]:
    """Write what was spent and the limit of that: to a hundredth of a cent where cents would make them look alike."""
    told = money(spent) or "$0.00", money(limit)
    if limit < 10 and (limit < 0.1 or (told[0] == told[1] and spent != limit)):
        return f"${spent:.4f}", f"${limit:.4f}"
    return told


def clock(at: datetime, zone: tzinfo | None = None) -> str:
    """Write the time of day as `14:02`, in `zone` or else in the zone of this machine."""
    try:
        return at.astimezone(zone).strftime("%H:%M")
    except (OverflowError, ValueError):
        # The first and the last day there are have no time of day in every zone, and a journal may say anything.
        return "--:--"


def tail_cut(text: str, width: int) -> str:
    """Cut `text` at the end so that it takes at most `width` cells."""
    if cell_len(text) <= width:
        return text
    if width <= 1:
        return ELLIPSIS[:width]
    return _head(text, width - 1) + ELLIPSIS


def middle_cut(text: str, width: int) -> str:
    """Cut `text` in the middle to at most `width` cells; the end is what tells names apart."""
    if cell_len(text) <= width:
        return text
    if width <= 1:
        return ELLIPSIS[:width]
    tail_width = width // 2
    tail = _head(text[::-1], tail_width)[::-1]
    return _head(text, width - 1 - cell_len(tail)) + ELLIPSIS + tail


def _head(text: str, width: int) -> str:
    if width <= 0:
        return ""
    # A character is at least zero cells wide: a bounded slice keeps the cost independent of the text.
    return next(iter(chop_cells(text[: width * 4 + 8], width)), "")


@dataclass(frozen=True, slots=True)
class ToolName:
    """A tool's name as a person reads it, the server it belongs to, and the name the model used."""

    short: str
    server: str
    raw: str


@lru_cache(maxsize=1024)
def tool_name(raw: str) -> ToolName:
    """Split `mcp__composio__COMPOSIO_SEARCH_NEWS` into SEARCH_NEWS of composio."""
    name = clean_line(raw)
    server = ""
    if name.startswith("mcp__"):
        server, _, rest = name[5:].partition("__")
        name = rest or server
    return ToolName(_without_vendor(name), server, raw)


def _without_vendor(name: str) -> str:
    short = name.removeprefix("COMPOSIO_")
    return short.removesuffix("_TOOL") or name


def inner_calls(arguments: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return slug and arguments of each call inside a MULTI_EXECUTE; none for any other shape."""
    inner = arguments.get("tools")
    found: list[tuple[str, Mapping[str, Any]]] = []
    if isinstance(inner, list):
        for item in inner:
            slug = item.get("tool_slug") or item.get("slug") if isinstance(item, dict) else None
            if isinstance(slug, str) and slug:
                given = item.get("arguments")
                found.append((_without_vendor(clean_line(slug)), given if isinstance(given, dict) else {}))
    return found


def tool_label(raw: str, arguments: Mapping[str, Any]) -> str:
    """Name a call: the sub-agent for Agent, the inner slugs for MULTI_EXECUTE, else the short name."""
    name = tool_name(raw).short
    if name in {"Agent", "Task"}:
        kind = arguments.get("subagent_type")
        return clean_line(kind) if isinstance(kind, str) and kind else name
    if name == "MULTI_EXECUTE":
        slugs = list(dict.fromkeys(slug for slug, _ in inner_calls(arguments)))
        if len(slugs) > 2:
            return f"{slugs[0]} +{len(slugs) - 1}"
        return " + ".join(slugs) or name
    return name


def main_argument(raw: str, arguments: Mapping[str, Any]) -> str:
    """Return the argument that tells most about a call, on one line; empty when there is none."""
    if not arguments:
        return ""
    inner = inner_calls(arguments)
    if inner:
        told = dict.fromkeys(text for _, given in inner if (text := main_argument("", given)))
        return clean_line(", ".join(told), ARGUMENT_LIMIT)
    chosen: Any = None
    if tool_name(raw).short in {"Agent", "Task"}:
        chosen = arguments.get("description") or arguments.get("prompt")
    if not chosen:
        chosen = next((arguments[key] for key in TELLING if arguments.get(key)), None)
    if chosen is None:
        chosen = next((v for v in arguments.values() if isinstance(v, str | int | float) and v != ""), None)
    return _one_line(chosen)


def _one_line(value: Any) -> str:
    match value:
        case None:
            return ""
        case str():
            return clean_line(value.strip()[: ARGUMENT_LIMIT * 2], ARGUMENT_LIMIT)
        case list() | tuple():
            return _several(value)
        case _:
            try:
                text = json.dumps(value, ensure_ascii=False, default=str)
            except (TypeError, ValueError, RecursionError):
                text = type(value).__name__
            return clean_line(text[: ARGUMENT_LIMIT * 2], ARGUMENT_LIMIT)


def _several(values: Iterable[Any]) -> str:
    items = list(values)
    if not items:
        return ""
    first = _one_line(items[0])
    if len(items) == 1:
        return first
    if first.startswith(("http://", "https://")):
        return f"{len(items)} pages"
    return f"{first} +{len(items) - 1}"
