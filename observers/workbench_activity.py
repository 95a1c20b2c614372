"""Records every run in the remote sandbox: its code and its output."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from ua_tui.core.json_values import JsonMapping, JsonObject
from ua_tui.core.observation import ToolCall, ToolResult
from ua_tui.observers.base import (
    ObserverContext,
    ObserverSpec,
    Outcome,
    already_saved,
    input_text,
    moment_of,
    texts_of,
    total_of,
)
from ua_tui.observers.decoding.decode import decode_texts
from ua_tui.observers.decoding.truncated_json import CUT_OFF
from ua_tui.observers.output.saving import save_once
from ua_tui.observers.search.sanitise import plain_value
from ua_tui.observers.search.tool_names import answer_of, is_multi_execute, is_sandbox, runs_of

FOLDER = "workbench_activity"
_CODE_SHOWN = 1_000
_OUTPUT_SHOWN = 64_000
_DEEPEST = 4
_KNOWN = frozenset({"stdout", "stderr", "results", "successful", "error", "data"})
# "Upload error: no such file" is one, "Mean squared error: 0.05" is a figure.
_HELPER_ERROR = re.compile(
    r"^(?:Helper Function Error\b.*|Traceback \(most recent call last\):.*|(?:\w+\.)*\w*(?:Error|Exception): .+"
    r"|(?:[A-Za-z]+ ){0,3}[Ee]rror: *(?![-+.\d]+ *%?$)\S.*)$",
    re.MULTILINE,
)


class WorkbenchActivity:
    """Observer of the remote workbench and the remote shell, also when they run inside a call of several tools."""

    name = "workbench_activity"

    def wants(self, call: ToolCall) -> bool:
        """The sandbox tools by name, or a call of several tools that includes one of them."""
        return any(is_sandbox(name) for name, _ in runs_of(call))

    def observe(self, result: ToolResult, context: ObserverContext) -> Outcome:
        """Save one artifact for each run in `result`."""
        decoded = decode_texts(texts_of(result, context.workspace))
        whole = next((value for value in decoded.values if isinstance(value, dict)), None)
        is_cut = decoded.truncated or decoded.problem is not None
        outcomes = []
        for index, (name, arguments) in enumerate(runs_of(result.call)):
            if is_sandbox(name):
                answer = answer_of(whole, index) if is_multi_execute(result.call.name) else whole
                # What could not be parsed into fields is stored unchanged.
                is_read = answer is not None and not is_cut and not _fields(answer).keys().isdisjoint(_KNOWN)
                raw = "" if is_read else "\n".join(texts_of(result, context.workspace)).strip()
                outcomes.append(
                    _save(
                        result,
                        context,
                        name=name,
                        index=index,
                        arguments=arguments,
                        answer=answer,
                        raw=raw,
                        is_cut=is_cut,
                    )
                )
        return total_of(outcomes)


def _levels(answer: JsonMapping) -> list[JsonMapping]:
    """An answer and the objects in its `data`, which may be nested."""
    levels = [answer]
    while isinstance(inner := levels[-1].get("data"), dict) and len(levels) < _DEEPEST:
        levels.append(inner)
    return levels


def _fields(answer: JsonMapping) -> JsonObject:
    """The fields of a run's answer from all levels; inner ones take precedence."""
    return {
        key: value
        for level in _levels(answer)
        for key, value in level.items()
        if not (key == "data" and isinstance(value, dict))
    }


def _save(
    result: ToolResult,
    context: ObserverContext,
    *,
    name: str,
    index: int,
    arguments: JsonMapping,
    answer: JsonMapping | None,
    raw: str,
    is_cut: bool,
) -> Outcome:
    # Masked before anything is cut: half a secret would not be known for one.
    masked = context.workspace.redactor.redact
    code = masked(input_text(arguments, "code_to_execute", "code", "command", "commands", "script") or "")
    output = _output(answer or {}, masked(raw), result.observation.error, masked)
    if is_cut:
        output["truncated"] = True
    artifact: JsonObject = {
        "type": "workbench",
        "tool": name,
        "timestamp": moment_of(result, context).isoformat(timespec="microseconds"),
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
    saved, path = save_once(
        result,
        context,
        plain_value(artifact),
        code,
        output,
        folder=FOLDER,
        stem="workbench",
        kind=FOLDER,
        run=index,
    )
    if saved is None:
        return already_saved(path)
    note = None
    if output["helper_errors"] and output["successful"] is not False:
        note = "errors in the output although the service reports success"
    return Outcome((saved,), items=1, note=note)


def _output(answer: JsonMapping, raw: str, error: str | None, masked: Callable[[str], str]) -> JsonObject:
    """The output of a run; `successful` is None if the service does not report it."""
    fields, levels = _fields(answer), _levels(answer)
    stdout, stderr = (masked(_text(fields.get(stream))) for stream in ("stdout", "stderr"))
    results = fields.get("results")
    printed = "\n".join((stdout, masked(results) if isinstance(results, str) else "", raw))
    states = [level["successful"] for level in levels if isinstance(level.get("successful"), bool)]
    if error is not None:
        states = states or [False]
    errors = [masked(_text(level["error"])) for level in reversed(levels) if level.get("error")]
    errors += [masked(error)] if error else []
    extra = {
        key: _bounded(value, masked) for key, value in fields.items() if key not in _KNOWN and key != CUT_OFF
    }
    output: JsonObject = {
        "stdout": _cut(stdout),
        "stderr": _cut(stderr),
        "results": _bounded(results, masked),
        # A failure at one level is not undone by another level.
        "successful": all(states) if states else None,
        "error": _cut(errors[0]) if errors else None,
        "helper_errors": list(dict.fromkeys(found[0][:500] for found in _HELPER_ERROR.finditer(printed)))[
            :20
        ],
    }
    if extra:
        output["extra"] = extra
    if raw:
        output["raw"] = _cut(raw)
    return output


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else _encoded(value)


def _encoded(value: Any) -> str:
    return json.dumps(plain_value(value), ensure_ascii=False, default=str)


def _bounded(value: Any, masked: Callable[[str], str]) -> Any:
    """The value, or shortened text if it is long."""
    if isinstance(value, str):
        return _cut(masked(value))
    text = _encoded(value)
    return plain_value(value) if len(text) <= _OUTPUT_SHOWN else _cut(masked(text))


def _cut(text: str) -> str:
    return (
        text
        if len(text) <= _OUTPUT_SHOWN
        else f"{text[:_OUTPUT_SHOWN]}\n[{len(text) - _OUTPUT_SHOWN:,} characters more]"
    )


OBSERVER = ObserverSpec(lambda _rules: WorkbenchActivity(), order=20)
