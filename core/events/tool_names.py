"""How tool calls are named for people: without server and vendor, and with their most informative argument.

The plan of the agent is such an argument: the list of steps that it keeps with its tool `TodoWrite`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import msgspec

from ua_tui.core.events.types import LIST_RESOURCES, READ_RESOURCE
from ua_tui.core.json_values import JsonMapping, list_in, object_in, table_of, text_in
from ua_tui.core.text import clean_line

PLAN = "TodoWrite"
"""The tool by which an agent writes its plan, each time the whole of it."""
_LONGEST = 200
_MOST = 100


class Step(msgspec.Struct, frozen=True):
    """One step: what is to be done, in other words while it is done, and its state; texts are clean.

    `began` and `ended` are when its work began and when it was done, in seconds since the epoch.
    """

    text: str
    doing: str
    state: str
    began: float | None = None
    ended: float | None = None

    @property
    def done(self) -> bool:
        """Whether it is done."""
        return self.state == "completed"

    @property
    def running(self) -> bool:
        """Whether the agent works on it."""
        return self.state == "in_progress"


def steps_of(arguments: JsonMapping) -> tuple[Step, ...]:
    """Read the steps of a call of `TodoWrite`, at most 100; what is no step is left out."""
    found: list[Step] = []
    for each in list_in(arguments, "todos")[:_MOST]:
        if text := clean_line(text_in(each, "content"), _LONGEST):
            doing = clean_line(text_in(each, "activeForm"), _LONGEST)
            found.append(Step(text, doing or text, str(each.get("status"))))
    return tuple(found)


def describe_plan(steps: tuple[Step, ...]) -> str:
    """Say how much of a plan is done, and what is being done: `2 of 5 done · Reading the pages`."""
    doing = next((step.doing for step in steps if step.running), "")
    done = f"{sum(step.done for step in steps)} of {len(steps)} done"
    return f"{done} · {doing}" if doing else done


ARGUMENT_LIMIT = 120

MAIN_ARGUMENTS: tuple[str, ...] = tuple(table_of(__file__, "tool_names.json"))
"""Names of arguments, the most informative first."""


_BUILT_IN = {LIST_RESOURCES: "ListResources", READ_RESOURCE: "ReadResource", PLAN: "Plan"}


class ToolName(msgspec.Struct, frozen=True):
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
    return ToolName(_BUILT_IN.get(name) or _without_vendor(name), server, raw)


def _without_vendor(name: str) -> str:
    short = name.removeprefix("COMPOSIO_")
    return short.removesuffix("_TOOL") or name


def inner_tools(arguments: JsonMapping) -> Iterator[tuple[str, JsonMapping]]:
    """The tools that a MULTI_EXECUTE requests, each with its slug, which may be empty, and its arguments."""
    for tool in list_in(arguments, "tools"):
        yield text_in(tool, "tool_slug") or text_in(tool, "slug"), object_in(tool, "arguments")


def inner_calls(arguments: JsonMapping) -> list[tuple[str, JsonMapping]]:
    """Return the short name and the arguments of each call inside a MULTI_EXECUTE; none for any other shape."""
    return [(_without_vendor(clean_line(slug)), values) for slug, values in inner_tools(arguments) if slug]


def tool_label(raw: str, arguments: JsonMapping) -> str:
    """Name a call: the sub-agent for Agent, the inner slugs for MULTI_EXECUTE, else the short name."""
    name = tool_name(raw).short
    if name in {"Agent", "Task"}:
        return clean_line(text_in(arguments, "subagent_type")) or name
    if name == "MULTI_EXECUTE":
        slugs = list(dict.fromkeys(slug for slug, _ in inner_calls(arguments)))
        if len(slugs) > 2:
            return f"{slugs[0]} +{len(slugs) - 1}"
        return " + ".join(slugs) or name
    return name


def main_argument(raw: str, arguments: JsonMapping) -> str:
    """Return the most informative argument of a call, on one line; empty if there is none."""
    if not arguments:
        return ""
    if raw == READ_RESOURCE:
        # As a person writes it after an @.
        return _one_line(f"{arguments.get('server')}:{arguments.get('uri')}")
    if raw == PLAN:
        return describe_plan(steps_of(arguments))
    inner = inner_calls(arguments)
    if inner:
        texts = dict.fromkeys(text for _, values in inner if (text := main_argument("", values)))
        return clean_line(", ".join(texts), ARGUMENT_LIMIT)
    chosen: Any = None
    if tool_name(raw).short in {"Agent", "Task"}:
        chosen = arguments.get("description") or arguments.get("prompt")
    if not chosen:
        chosen = next((arguments[key] for key in MAIN_ARGUMENTS if arguments.get(key)), None)
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
