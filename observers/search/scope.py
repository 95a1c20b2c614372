"""The searches of one result: the call itself, and those that ran inside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ua_tui.core.observation import ToolCall
from ua_tui.observers.search.keys import EMPTY_MARKS, PAGE_MARKS, PANELS, RELATED, fold
from ua_tui.observers.search.metadata import answer_of, details_of, error_of, query_in
from ua_tui.observers.search.panels import panel_in, related_in
from ua_tui.observers.search.rows import url_of
from ua_tui.observers.search.tool_names import (
    Policy,
    inner_policy_of,
    inner_tools,
    is_multi_execute,
    short_name,
)


@dataclass
class Scope:
    """One search that was run: the whole call, or one of the searches inside a call that runs several."""

    tool: str
    policy: Policy
    query: str | None = None
    answer: str | None = None
    error: str | None = None
    engine: str = ""
    marked: bool = False
    other_lists: bool = False
    preview: bool = False
    texts: list[str] = field(default_factory=list)
    server_kind: str = "web"
    name: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    panel: Mapping[str, Any] | None = None
    related: list[str] = field(default_factory=list)


def inner_calls(call: ToolCall) -> list[Scope]:
    """The searches that the input of a call requests, in order, if it runs several tools."""
    return [
        Scope(name, inner_policy_of(name), query_in(arguments), name=name, arguments=arguments)
        for slug, arguments in inner_tools(call)
        for name in [slug or short_name(call.name)]
    ]


def runs_a_tool(item: Any) -> bool:
    """Whether an item is the result of a tool that ran inside the call."""
    return isinstance(item, dict) and (
        isinstance(item.get("tool_slug"), str)
        or (isinstance(item.get("response"), dict | str) and url_of(item) is None)
    )


def executed_in(
    value: Mapping[str, Any], scope: Scope, inner: Sequence[Scope], scopes: list[Scope]
) -> Scope | None:
    """The scope of one executed tool in a result of several, or None if `value` is something else."""
    slug, index = value.get("tool_slug"), value.get("index")
    if not isinstance(slug, str) or not slug:
        if not (isinstance(value.get("response"), dict | str) and is_multi_execute(scope.tool)):
            return None
        slug = None
    asking = inner[index] if isinstance(index, int) and 0 <= index < len(inner) else None
    if asking is None and slug is None:
        place = len(scopes) - 1
        asking = inner[place] if place < len(inner) else None
    name = slug or (asking.tool if asking else scope.tool)
    executed = Scope(name, inner_policy_of(name), name=name)
    if asking is not None:
        executed.query, executed.arguments = asking.query, asking.arguments
    if executed.query is None and isinstance(arguments := value.get("arguments"), dict):
        executed.query, executed.arguments = query_in(arguments), arguments
    executed.error = error_of(value)
    response = value.get("response")
    if isinstance(response, dict):
        executed.error = error_of(response) or executed.error
        executed.preview = "data_preview" in response and "data" not in response
    scopes.append(executed)
    return executed


def responses_of(value: Mapping[str, Any]) -> list[Any]:
    """The results of an executed tool."""
    if "response" in value:
        return [value["response"]]
    return [
        value[key] for key in ("result", "output", "data") if isinstance(value.get(key), dict | list | str)
    ]


def learn_beside(key: str, value: Any, scope: Scope) -> bool:
    """Store what a provider shows beside its results under a folded key; returns whether it does."""
    if key in PANELS:
        scope.panel = scope.panel or panel_in(key, value)
    elif key in RELATED:
        scope.related = scope.related or related_in(value)
    return key in PANELS or key in RELATED


def learn(value: Mapping[str, Any], scope: Scope) -> None:
    """Store what an object says about the whole search: its query, answer, error, panel and further searches."""
    for name, item in value.items():
        folded = fold(name)
        if folded in PAGE_MARKS or (item == [] and folded in EMPTY_MARKS):
            scope.marked = True
        learn_beside(folded, item, scope)
    scope.query = scope.query or query_in(value)
    for details in details_of(value):
        scope.query = scope.query or query_in(details)
        scope.engine = scope.engine or str(details.get("engine") or details.get("type") or "")
    scope.answer = scope.answer or answer_of(value)
    scope.error = scope.error or error_of(value)
