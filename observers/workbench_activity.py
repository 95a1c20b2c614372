"""Keeps a record of every run in the remote sandbox: what was run and what came out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from core.observation import ToolCall, ToolResult
from observers.base import (
    ObserverContext,
    Outcome,
    input_text,
    moment_of,
    save_json_once,
    texts_of,
    unique_id,
)
from observers.decode import decode_texts
from observers.search.names import is_multi_execute, short_name
from observers.search.rows import plain_value

__all__ = ["FOLDER", "WorkbenchActivity"]

FOLDER = "workbench_activity"
_CODE_SHOWN = 1_000
_OUTPUT_SHOWN = 64_000
_TOOLS = ("REMOTE_WORKBENCH", "REMOTE_BASH")
_HELPER_ERROR = re.compile(
    r"^(?:Helper Function Error\b.*|Traceback \(most recent call last\):.*|(?:\w+\.)*\w*(?:Error|Exception): .+)$",
    re.MULTILINE,
)


class WorkbenchActivity:
    """Observer of the remote workbench and the remote shell, also when they run inside a call of several tools."""

    name = "workbench_activity"

    def wants(self, call: ToolCall) -> bool:
        """The sandbox tools by name, or a call of several tools with one of them inside."""
        return any(_is_sandbox(name) for name, _ in _runs(call))

    def observe(self, result: ToolResult, context: ObserverContext) -> Outcome:
        """Save one artifact for each run in `result`."""
        decoded = decode_texts(texts_of(result, context.workspace))
        whole = next((value for value in decoded.values if isinstance(value, dict)), None)
        outcomes = []
        for index, (name, arguments) in enumerate(_runs(result.call)):
            if _is_sandbox(name):
                answer = _answer_of(whole, index) if is_multi_execute(result.call.name) else whole
                raw = "\n".join((decoded.prose, decoded.problem or "")).strip() if whole is None else ""
                if decoded.problem is not None:
                    raw = "\n".join(texts_of(result, context.workspace))
                outcomes.append(_save(name, index, arguments, answer, raw, result, context))
        return Outcome(
            artifacts=tuple(saved for outcome in outcomes for saved in outcome.artifacts),
            items=sum(outcome.items for outcome in outcomes),
            duplicates=sum(outcome.duplicates for outcome in outcomes),
            note="; ".join(dict.fromkeys(outcome.note for outcome in outcomes if outcome.note)) or None,
        )


def _is_sandbox(name: str) -> bool:
    return any(tool in name.upper() for tool in _TOOLS)


def _runs(call: ToolCall) -> list[tuple[str, Mapping[str, Any]]]:
    """The tools a call runs and what each is given."""
    if not is_multi_execute(call.name):
        return [(short_name(call.name), call.input)]
    tools = call.input.get("tools")
    return [
        (
            str(tool.get("tool_slug")),
            arguments if isinstance(arguments := tool.get("arguments"), dict) else {},
        )
        for tool in (tools if isinstance(tools, list) else [])
        if isinstance(tool, dict)
    ]


def _answer_of(whole: Mapping[str, Any] | None, index: int) -> Mapping[str, Any] | None:
    match whole:
        case {"data": {"results": list() as results}} if index < len(results):
            item = results[index]
            response = item.get("response") if isinstance(item, dict) else None
            return response if isinstance(response, dict) else item if isinstance(item, dict) else None
        case _:
            return None


def _save(
    name: str,
    index: int,
    arguments: Mapping[str, Any],
    answer: Mapping[str, Any] | None,
    raw: str,
    result: ToolResult,
    context: ObserverContext,
) -> Outcome:
    moment = moment_of(result, context)
    # Masked before anything is cut: half a secret would not be known for one.
    masked = context.workspace.redactor.redact
    code = masked(input_text(arguments, "code_to_execute", "code", "command", "commands", "script") or "")
    output = _output(answer or {}, masked(raw), result.observation.error, masked)
    artifact = {
        "type": "workbench",
        "tool": name,
        "timestamp": moment.isoformat(timespec="microseconds"),
        "tool_use_id": result.call.tool_use_id,
        "input": {
            "code": code[:_CODE_SHOWN],
            "code_length": len(code),
            "session_id": arguments.get("session_id"),
            "current_step": arguments.get("current_step"),
            "thought": arguments.get("thought"),
        },
        "output": output,
    }
    unique = unique_id(context, f"{result.call.tool_use_id} {index}", code, output)
    saved, path = save_json_once(
        context,
        lambda: plain_value(artifact),
        folder=FOLDER,
        stem="workbench",
        unique=unique,
        kind="workbench_activity",
        moment=moment,
        by_content=False,
    )
    if saved is None:
        return Outcome(duplicates=1, note=f"saved before as {path}")
    note = None
    if output["helper_errors"] and output["successful"] is not False:
        note = "errors in the output although the service calls the run a success"
    return Outcome((saved,), items=1, note=note)


def _output(
    answer: Mapping[str, Any], raw: str, error: str | None, masked: Callable[[str], str]
) -> dict[str, Any]:
    """What came out of a run; `successful` from where the service says it, None when it does not."""
    data = answer.get("data")
    data = data if isinstance(data, dict) else answer
    stdout, stderr = (masked(str(data.get(stream) or "")) for stream in ("stdout", "stderr"))
    successful = answer.get("successful")
    if not isinstance(successful, bool):
        successful = data.get("successful") if isinstance(data.get("successful"), bool) else None
    output = {
        "stdout": _cut(stdout),
        "stderr": _cut(stderr),
        "results": _cut(masked(results))
        if isinstance(results := data.get("results"), str)
        else plain_value(results),
        "successful": False if error is not None and successful is None else successful,
        "error": next((str(text) for text in (data.get("error"), answer.get("error"), error) if text), None),
        "helper_errors": [found[0][:500] for found in _HELPER_ERROR.finditer(f"{stdout}\n{raw}")][:20],
    }
    return output | ({"raw": _cut(raw)} if raw else {})


def _cut(text: str) -> str:
    return (
        text
        if len(text) <= _OUTPUT_SHOWN
        else f"{text[:_OUTPUT_SHOWN]}\n[{len(text) - _OUTPUT_SHOWN:,} characters more]"
    )
