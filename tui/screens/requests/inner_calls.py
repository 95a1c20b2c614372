"""The arguments of a tool call that runs other tools: what those get stands first, what is around them below."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tui.screens.requests.arguments import argument_lines, reveal

__all__ = ["AROUND", "call_lines"]

AROUND = "the rest of the call:"
_FIRST = ("to", "recipient", "recipients", "recipient_email", "cc", "bcc", "subject", "title", "body", "text")


def call_lines(arguments: dict[str, Any]) -> list[str]:
    """Write the arguments of a call one to a line, those of the tools it runs first; nothing is left out.

    A call that runs no other tools is written as `argument_lines` writes it.
    """
    tools = arguments.get("tools")
    inner = [tool for tool in tools if _is_call(tool)] if isinstance(tools, list) else []
    if not inner or not isinstance(tools, list):
        return argument_lines(arguments)
    lines = [line for tool in inner for line in _inner(tool)]
    left = [rest for tool in tools if (rest := _rest_of(tool))]
    around = {key: value for key, value in arguments.items() if key != "tools"} | (
        {"tools": left} if left else {}
    )
    if around:
        lines += [AROUND, *_indented(around)]
    return lines


def _is_call(tool: Any) -> bool:
    match tool:
        case {"tool_slug": str(slug), "arguments": dict()}:
            return bool(slug.strip()) and slug.isprintable()
        case _:
            return False


def _inner(tool: dict[str, Any]) -> Iterator[str]:
    arguments = tool["arguments"]
    yield f"{reveal(tool['tool_slug'])}:"
    first = {key: arguments[key] for key in _FIRST if key in arguments}
    yield from _indented({**first, **arguments})


def _rest_of(tool: Any) -> Any:
    """What is to be told of an entry of `tools` besides its arguments: all of it when it is no call."""
    if not _is_call(tool):
        return tool
    others = {key: value for key, value in tool.items() if key != "arguments"}
    return others if len(others) > 1 else None


def _indented(arguments: dict[str, Any]) -> list[str]:
    return [f"  {line}" for line in argument_lines(arguments)]
