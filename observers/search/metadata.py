"""What a result says about its whole search: the query, the answer, and why it failed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ua_tui.observers.base import input_text
from ua_tui.observers.search.keys import ERRORS, QUERIES, word_set

_DETAILS = (
    "search_parameters",
    "searchParameters",
    "query",
    "queryContext",
    "search_information",
    "searchQuery",
    "metadata",
    "general",
    "parameters",
    "queries",
    "request",
)
_OWN_QUERIES = (
    "query",
    "q",
    "search_query",
    "searchQuery",
    "searchParameters",
    "search_parameters",
    "keyword",
)
_FAILURES = word_set("error fail failed failure")
_REASONS = (
    "message",
    "detail",
    "errors",
    "msg",
    "reason",
    "status_message",
    "readableMessage",
    "description",
    "info",
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
_LONGEST_NOTICE = 2000


def query_in(arguments: Mapping[str, Any]) -> str | None:
    """The query in a tool's arguments, under its usual names."""
    return input_text(arguments, *QUERIES)


def has_own_query(value: object) -> bool:
    """Whether an object is one search of several: it has its own query."""
    return isinstance(value, dict) and any(
        isinstance(value.get(name), str | dict) and value[name] for name in _OWN_QUERIES
    )


def details_of(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The objects in which providers repeat the query."""
    found: list[dict[str, Any]] = []
    for name in _DETAILS:
        details = value.get(name)
        if name == "queries" and isinstance(details, dict):
            details = details.get("request")
        if isinstance(details, list) and len(details) == 1:
            details = details[0]
        if isinstance(details, dict):
            found.append(details)
    return found


def answer_of(value: Mapping[str, Any]) -> str | None:
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
        case {"choices": [{"message": {"content": str(answer)}}, *_]}:
            pass
        case {"content": {"parts": [{"text": str(answer)}, *_]}, "groundingMetadata": dict()}:
            pass
        case {"text": str(answer), "annotations": [_, *_]} | {"text": str(answer), "citations": [_, *_]}:
            pass
        case {"output": str(answer), "references": list()}:
            pass
        case _:
            return None
    return answer if answer.strip() else None


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


def error_of(value: Mapping[str, Any]) -> str | None:
    """Why the search failed, if an object says so."""
    if value.get("successful") is True or value.get("success") is True:
        return None
    names: tuple[str, ...] = ERRORS[:3] if value.get("successful") is None else ERRORS
    if _is_failure(value):
        names = (*ERRORS[:3], *_REASONS)
    return next((error for name in names if (error := _worded(value.get(name))) is not None), None)


def _is_failure(value: Mapping[str, Any]) -> bool:
    if value.get("success") is False or str(value.get("_type") or value.get("type")) == "ErrorResponse":
        return True
    codes = [value.get(name) for name in ("status", "statusCode", "status_code", "code")]
    if any(isinstance(code, str) and code.lower() in _FAILURES for code in codes):
        return True
    if any(isinstance(code, int) and (400 <= code < 600 or 40_000 <= code < 60_000) for code in codes):
        return True
    return bool(value) and value.keys() <= {"detail", "errors", "message", "code", "request_id", "requestId"}


def _worded(error: Any) -> str | None:
    if isinstance(error, list) and error:
        error = error[0]
    if isinstance(error, dict):
        error = next(
            (error[name] for name in ("error", *_REASONS, "code") if isinstance(error.get(name), str)), None
        )
    return error if isinstance(error, str) and error.strip() else None


def says_nothing_found(prose: str) -> bool:
    """Whether a short text only says that there are no results."""
    return len(prose) < _LONGEST_NOTICE and _NOTHING.search(prose[:400]) is not None


def error_in(prose: str) -> str | None:
    """The text itself if it is only an error message."""
    return prose.strip() if len(prose) < _LONGEST_NOTICE and _FAILED.match(prose) else None
