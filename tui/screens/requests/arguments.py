"""The complete arguments of a tool call, readable and scrollable, with invisible characters made visible."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ua_tui.tui.viewers.bodies.text import fold_points

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f"
    "\u205f-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\ue000-\uf8ff\U000e0000-\U000e0fff]"
    "|(?<![\u203c-\u3299\U0001f000-\U0001faff])\ufe0f"  # after a symbol it only selects the coloured form
)
_MARKS = re.compile(r"‹U\+[0-9A-F]{4,6}›")
REST_OF_CALL = "the rest of the call:"
DEPTH = 32
_FIRST = ("to", "recipient", "recipients", "recipient_email", "cc", "bcc", "subject", "title", "body", "text")


def reveal(text: str) -> str:
    """Write every invisible or control character as `‹U+202E›`; line breaks and tabs stay."""
    return _HIDDEN.sub(lambda found: f"‹U+{ord(found[0]):04X}›", text.replace("\r\n", "\n"))


def as_json(arguments: Any) -> str:
    """Write a value as JSON to be changed, with escapes for invisible and control characters."""
    text = json.dumps(arguments, ensure_ascii=False, indent=2)
    return _HIDDEN.sub(lambda found: json.dumps(found[0])[1:-1], text)


def reveal_line(text: str) -> str:
    """Reveal text with line breaks as visible signs, so that it cannot look like another line of the dialog."""
    return reveal(text).replace("\n", "⏎")


def argument_lines(arguments: dict[str, Any]) -> list[str]:
    """Write arguments one per line, nested ones indented; nothing is omitted or shortened."""
    return list(_lines(arguments, 0)) or ["(none)"]


def _lines(value: dict[str, Any] | list[Any], depth: int) -> Iterator[str]:
    pad = "  " * min(depth, DEPTH)
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _entry(f"{pad}{reveal(str(key))}:", inner, depth)
    else:
        for inner in value:
            yield from _entry(f"{pad}-", inner, depth)


def _entry(label: str, value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, (dict, list)) and value:
        yield label
        yield from _lines(value, depth + 1)
        return
    first, *rest = _scalar(value)
    if rest:
        pad = "  " * min(depth + 1, DEPTH)
        yield label
        yield from (f"{pad}{line}" for line in (first, *rest))
    else:
        yield f"{label} {first}"


def _scalar(value: Any) -> list[str]:
    match value:
        case str():
            return (reveal(value).split("\n") if value else ['""']) or [""]
        case None:
            return ["null"]
        case bool():
            return ["true" if value else "false"]
        case {} | []:
            return ["{}" if isinstance(value, dict) else "[]"]
        case _:
            return reveal(str(value)).split("\n")


def call_lines(arguments: dict[str, Any]) -> list[str]:
    """Write the arguments of a call one per line, those of the tools that it runs first.

    Nothing is omitted but the name of a single tool, and what the model thought (`thought_of`).
    """
    inner = inner_calls(arguments)
    if not inner:
        return argument_lines(in_order(arguments))
    if len(inner) == 1:
        lines = argument_lines(in_order(inner[0][1]["arguments"]))
    else:
        lines = []
        for _, tool in inner:
            lines += [f"{reveal(tool['tool_slug'])}:", *_indented(in_order(tool["arguments"]))]
    left = [rest for tool in arguments["tools"] if (rest := _rest_of(tool))]
    around = {key: value for key, value in arguments.items() if key != "tools"} | (
        {"tools": left} if left else {}
    )
    if thought_of(arguments):
        del around["thought"]
    if around:
        lines += [REST_OF_CALL, *_indented(around)]
    return lines


def thought_of(arguments: dict[str, Any]) -> str:
    """Why the model calls other tools, as it says; empty if it does not."""
    thought = arguments.get("thought")
    return thought if isinstance(thought, str) and inner_calls(arguments) else ""


def inner_calls(arguments: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    """Return the calls of other tools in the arguments of MULTI_EXECUTE, each with its place."""
    tools = arguments.get("tools")
    return [each for each in enumerate(tools) if _is_call(each[1])] if isinstance(tools, list) else []


def in_order(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return arguments with recipients, subject and text first."""
    return {**{key: arguments[key] for key in _FIRST if key in arguments}, **arguments}


def _is_call(tool: Any) -> bool:
    match tool:
        case {"tool_slug": str(slug), "arguments": dict()}:
            return bool(slug.strip()) and slug.isprintable()
        case _:
            return False


def _rest_of(tool: Any) -> Any:
    """What an entry of `tools` has besides its arguments; the whole entry if it is not a call."""
    if not _is_call(tool):
        return tool
    others = {key: value for key, value in tool.items() if key != "arguments"}
    return others if len(others) > 1 else None


def _indented(arguments: dict[str, Any]) -> list[str]:
    return [f"  {line}" for line in argument_lines(arguments)]


class ArgumentsView(ScrollView, can_focus=True):
    """Lines of text, wrapped to the width; only visible rows are drawn."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"arguments--hidden"}

    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self._source = lines
        self._rows: list[str] = []
        self._wrapped_for = 0

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """The height of the text wrapped to `width`."""
        self._wrap(width)
        return len(self._rows)

    def on_resize(self, event: events.Resize) -> None:
        """Wrap again for the new width."""
        self._wrap(self.scrollable_content_region.width)

    def _wrap(self, width: int) -> None:
        if width <= 0 or width == self._wrapped_for:
            return
        self._wrapped_for = width
        self._rows = [row for line in self._source for row in _fold(line, width)]
        self.virtual_size = Size(width, len(self._rows))

    def render_line(self, y: int) -> Strip:
        """Draw one row with its revealed characters highlighted."""
        row = self.scroll_offset.y + y
        base = self.rich_style
        if row >= len(self._rows):
            return Strip.blank(self.size.width, base)
        hidden = base + self.get_component_rich_style("arguments--hidden", partial=True)
        segments = list(_segments(self._rows[row], base, hidden))
        return Strip(segments).extend_cell_length(self.size.width, base)


def _fold(line: str, width: int) -> list[str]:
    """Wrap a line; continued rows are indented, so that they do not look like lines of their own."""
    expanded = line.expandtabs(4)
    first = next(iter(fold_points(expanded, width)), len(expanded))
    own = len(expanded) - len(expanded.lstrip(" "))
    pad, rest = " " * min(own + 2, width // 2), expanded[first:]
    points = [0, *fold_points(rest, width - len(pad)), len(rest)]
    rows = [pad + rest[start:end] for start, end in pairwise(points) if start < end]
    return [expanded[:first], *rows]


def _segments(row: str, base: Style, hidden: Style) -> Iterator[Segment]:
    at = 0
    for mark in _MARKS.finditer(row):
        yield Segment(row[at : mark.start()], base)
        yield Segment(mark[0], hidden)
        at = mark.end()
    yield Segment(row[at:], base)
