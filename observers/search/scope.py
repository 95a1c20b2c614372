"""The searches of one result: the call itself, and those that ran inside it, with what the result says of each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from ua_tui.core.json_values import JsonMapping, list_in, text_in
from ua_tui.core.observation import ToolCall
from ua_tui.observers.base import input_text
from ua_tui.observers.search.keys import EMPTY_MARKS, PAGE_MARKS, PANELS, RELATED, WRAPPERS, fold, listed
from ua_tui.observers.search.sanitise import one_line, without_controls
from ua_tui.observers.search.tool_names import (
    Policy,
    inner_policy_of,
    inner_tools,
    is_multi_execute,
    kind_of_server,
    policy_of,
    short_name,
)

_NOTHING = re.compile(
    r"\b(?:no|0|zero|without)\s+(?:\S+\s+){0,3}?(?:results?|matches|matching|articles|pages|hits|papers|videos|images|"
    r"products|jobs|links)\b|(?:\bnot|n't) (?:match|return|found|find)|\bnothing (?:was )?found|\bno(?:ne|thing) found",
    re.IGNORECASE,
)
_FAILED = re.compile(
    r"\W*(?:(?:mcp|api|http|search|request|tool|network|server|internal|unexpected|an?)\s+){0,3}(?:error|failed|failure|"
    r"exception|unauthori[sz]ed|forbidden|timed out|timeout|quota|rate limit|invalid|missing)\b",
    re.IGNORECASE,
)
_ANSWER = re.compile(r"^\W*(?:(?:direct|ai|quick|short) )?answer\W*:\W*", re.IGNORECASE | re.MULTILINE)
_FAILURES = ("error", "fail", "failed", "failure")
_ONLY_OF_ERRORS = {"detail", "errors", "message", "code", "request_id", "requestId"}
_LONGEST_NOTICE = 2000


class Scope(msgspec.Struct):
    """One search that was run: the whole call, or one of the searches inside a call that runs several.

    `answered` says that the result is more than an envelope, `marked` that it is one of a search even if no list is in
    it, and `other_lists` that it has lists of something else.
    """

    tool: str
    policy: Policy
    query: str | None = None
    name: str = ""
    arguments: JsonMapping = {}
    server_kind: str = "web"
    engine: str = ""
    answer: str | None = None
    error: str | None = None
    answered: bool = False
    marked: bool = False
    other_lists: bool = False
    preview: bool = False
    texts: list[str] = []
    panel: JsonMapping | None = None
    related: list[str] = []


def scope_of(call: ToolCall) -> Scope:
    """The search that a call is."""
    name = call.name
    return Scope(
        short_name(name), policy_of(name), query_in(call.input), name, call.input, kind_of_server(name)
    )


def inner_calls(call: ToolCall) -> list[Scope]:
    """The searches that the input of a call requests, in order, if it runs several tools."""
    return [
        Scope(name, inner_policy_of(name), query_in(arguments), name, arguments)
        for slug, arguments in inner_tools(call)
        for name in [slug or short_name(call.name)]
    ]


def executed_in(
    value: JsonMapping, scope: Scope, inner: Sequence[Scope], scopes: list[Scope]
) -> Scope | None:
    """The scope of one executed tool in a result of several, or None if `value` is something else."""
    slug, index, response = value.get("tool_slug"), value.get("index"), value.get("response")
    if not isinstance(slug, str) or not slug:
        if not (isinstance(response, dict | str) and is_multi_execute(scope.tool)):
            return None
        slug, index = None, index if isinstance(index, int) else len(scopes) - 1
    asking = inner[index] if isinstance(index, int) and 0 <= index < len(inner) else None
    name = slug or (asking.tool if asking else scope.tool)
    executed = Scope(name, inner_policy_of(name), name=name, error=error_of(value))
    if asking is not None:
        executed.query, executed.arguments = asking.query, asking.arguments
    if isinstance(response, dict):
        executed.error = error_of(response) or executed.error
        executed.preview = "data_preview" in response and "data" not in response
    scopes.append(executed)
    return executed


def responses_of(value: JsonMapping) -> list[Any]:
    """The results of an executed tool."""
    if "response" in value:
        return [value["response"]]
    return [
        value[key] for key in ("result", "output", "data") if isinstance(value.get(key), dict | list | str)
    ]


def learn(value: JsonMapping, scope: Scope) -> None:
    """Store what an object says about the whole search: its query, answer, error, panel and further searches."""
    for name, item in value.items():
        folded = fold(name)
        scope.answered = scope.answered or bool(
            item and folded not in WRAPPERS and not isinstance(item, bool)
        )
        if folded in PAGE_MARKS or (item == [] and folded in EMPTY_MARKS):
            scope.marked = True
        if folded in PANELS:
            scope.panel = scope.panel or _panel_in(folded, item)
        elif folded in RELATED and not scope.related:
            lines = (without_controls(one_line(words)) for words in _words_in(item))
            scope.related = list(islice(dict.fromkeys(line[:200] for line in lines if line), 30))
    scope.query = scope.query or query_in(value)
    for name in listed("details"):
        details = value.get(name)
        if isinstance(details, dict):
            scope.query = scope.query or query_in(details)
            scope.engine = scope.engine or str(details.get("engine") or details.get("type") or "")
    scope.answer = scope.answer or _answer_of(value)
    scope.error = scope.error or error_of(value)


def query_in(arguments: JsonMapping) -> str | None:
    """The query in a tool's arguments, under its usual names."""
    return input_text(arguments, *listed("queries"))


def has_own_query(value: object) -> bool:
    """Whether an object is one search of several: it has its own query."""
    return isinstance(value, dict) and any(
        isinstance(value.get(name), str | dict) and value[name] for name in listed("own_queries")
    )


def only_asks(value: Any) -> bool:
    """Whether a document is the arguments of a search, whose results are in the next one."""
    return has_own_query(value) and not any(isinstance(item, dict | list) for item in value.values())


def _answer_of(value: JsonMapping) -> str | None:
    """The text answer of a search, besides its results."""
    for name in ("answer", "answer_box", "answerBox", "answers"):
        answer = value.get(name)
        if isinstance(answer, list) and answer:
            answer = answer[0]
        if isinstance(answer, dict):
            answer = answer.get("answer") or answer.get("snippet") or answer.get("result")
        if isinstance(answer, str) and answer.strip():
            return answer
    match value:
        case (
            {"choices": [{"message": {"content": str(answer)}}, *_]}
            | {"content": {"parts": [{"text": str(answer)}, *_]}, "groundingMetadata": dict()}
            | {"text": str(answer), "annotations": [_, *_]}
            | {"text": str(answer), "citations": [_, *_]}
            | {"output": str(answer), "references": list()}
        ):
            return answer if answer.strip() else None
        case _:
            return None


def answer_in(prose: str) -> str | None:
    """The text of a search besides its links, without lines that only introduce them."""
    lines = [line for line in prose.splitlines() if not _announces(line.strip())]
    return "\n".join(lines).strip() or None


def answer_before(prose: str) -> str | None:
    """The answer in the text before a search's results, without lines that only introduce the results."""
    found = _ANSWER.search(prose)
    return answer_in(prose[found.end() :]) if found else None


def _announces(line: str) -> bool:
    """Whether a line only introduces what follows, such as a bold heading, or instructs a model."""
    return (
        line.rstrip("*").endswith(":")
        or line.startswith(("REMINDER", "Web search results", "```"))
        or "Built-in Tool: " in line
        or (len(line) > 2 and line[0] == line[-1] == "*")
    )


def error_of(value: JsonMapping) -> str | None:
    """Why the search failed, if an object says so."""
    names = listed("errors")
    if _is_failure(value):
        names += listed("reasons")
    return next((error for name in names if (error := _worded(value.get(name))) is not None), None)


def _is_failure(value: JsonMapping) -> bool:
    if value.get("success") is False:
        return True
    codes = [value.get(name) for name in ("status", "statusCode", "status_code", "code")]
    if any(isinstance(code, str) and code.lower() in _FAILURES for code in codes):
        return True
    if any(isinstance(code, int) and (400 <= code < 600 or 40_000 <= code < 60_000) for code in codes):
        return True
    return bool(value) and value.keys() <= _ONLY_OF_ERRORS


def _worded(error: Any) -> str | None:
    if isinstance(error, list) and error:
        error = error[0]
    if isinstance(error, dict):
        names = ("error", *listed("reasons"), "code")
        error = next(filter(None, (text_in(error, name) for name in names)), None)
    return error if isinstance(error, str) and error.strip() else None


def says_nothing_found(prose: str) -> bool:
    """Whether a short text only says that there are no results."""
    return len(prose) < _LONGEST_NOTICE and _NOTHING.search(prose[:400]) is not None


def error_in(prose: str) -> str | None:
    """The text itself if it is only an error message."""
    return prose.strip() if len(prose) < _LONGEST_NOTICE and _FAILED.match(prose) else None


def _panel_in(key: str, value: Any) -> JsonMapping | None:
    """The panel about the subject of a search that a provider gives under a folded key, or None."""
    match value:
        case {"value": [dict() as panel, *_]} | {"results": [dict() as panel, *_]}:
            return panel
        case [dict() as panel, *_] if key == "infoboxes":
            return panel
        case dict() if key != "entities":
            return value
        case _:
            return None


def _words_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        lists = (value.get(key) for key in ("value", "items", "results", "list"))
        value = next((found for found in lists if isinstance(found, list)), None)
    for item in list_in(value):
        words = item
        if isinstance(item, dict) and "question" not in item:
            words = next((item[key] for key in listed("suggested") if isinstance(item.get(key), str)), None)
        if isinstance(words, str):
            yield words
