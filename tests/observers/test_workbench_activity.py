from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from ua_tui.core.observation import ToolResult
from ua_tui.observers.base import ObserverContext, Outcome
from ua_tui.observers.workbench_activity import WorkbenchActivity

Make = Callable[..., ToolResult]
WORKBENCH = "mcp__composio__COMPOSIO_REMOTE_WORKBENCH"
SEVERAL = "mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL"


def run(context: ObserverContext, call: ToolResult) -> tuple[Outcome, Any]:
    outcome = WorkbenchActivity().observe(call, context)
    return outcome, json.loads(context.workspace.read(outcome.artifacts[0].path))["output"]


def test_a_run_wrapped_twice_is_read_and_its_failure_believed(context: ObserverContext, result: Make) -> None:
    inner = {
        "stdout": "half", "stderr": "", "results": {"rows": 1}, "successful": False, "error": "NameError: x",
    }  # fmt: skip
    _, output = run(context, result(WORKBENCH, {"successful": True, "data": {"data": inner}, "error": None}))
    assert (output["stdout"], output["results"], output["error"]) == ("half", {"rows": 1}, "NameError: x")
    assert output["successful"] is False


@pytest.mark.parametrize(
    ("line", "flagged"),
    [
        ("Upload error: no such file", True), ("ValueError: bad", True),
        ("pandas.errors.ParserError: bad", True), ("Error: no access", True),
        ("Mean squared error: 0.05", False), ("Standard error: 12 %", False),
        ("no errors: all is well", False), ("errors were found and mended", False),
    ],
)  # fmt: skip
def test_lines_that_are_errors_and_lines_that_are_figures(
    context: ObserverContext, result: Make, line: str, flagged: bool
) -> None:
    body = {"successful": True, "data": {"stdout": f"begun\n{line}\ndone\n", "stderr": "", "error": ""}}
    outcome, output = run(context, result(WORKBENCH, body))
    assert output["helper_errors"] == ([line] if flagged else [])
    assert bool(outcome.note) is flagged


def test_an_answer_that_breaks_off_is_kept_as_it_came(context: ObserverContext, result: Make) -> None:
    text = '{"successful":true,"data":{"results":"","stdout":"first\\nsecond\\nthi'
    _, output = run(context, result(WORKBENCH, text))
    assert output["truncated"] is True
    assert output["raw"] == text
    assert output["successful"] in (True, None)


def test_an_answer_of_another_shape_is_kept_as_it_came(context: ObserverContext, result: Make) -> None:
    _, output = run(context, result(WORKBENCH, {"message": "queued"}))
    assert json.loads(output["raw"]) == {"message": "queued"}


def test_other_fields_and_long_results_are_kept(context: ObserverContext, result: Make) -> None:
    data = {
        "stdout": "x" * 70_000, "results": [{"n": n} for n in range(20_000)],
        "stdout_file_path": "/mnt/out.txt", "session": {"id": "calm"},
    }  # fmt: skip
    _, output = run(context, result(WORKBENCH, {"successful": True, "data": data}))
    assert output["extra"] == {"stdout_file_path": "/mnt/out.txt", "session": {"id": "calm"}}
    assert output["stdout"].endswith("[6,000 characters more]")
    assert len(output["results"]) < 65_000
    assert output["results"].startswith('[{"n": 0}')


def test_answers_go_to_their_runs_by_number(context: ObserverContext, result: Make) -> None:
    tools = [
        {"tool_slug": "COMPOSIO_REMOTE_BASH_TOOL", "arguments": {"command": command}}
        for command in ("ls", "pwd")
    ]
    results = [
        {"index": 1, "response": {"successful": True, "data": {"stdout": "/home"}}},
        {"index": 0, "response": {"successful": False, "data": {"stdout": "a b", "stderr": "err"}}},
    ]
    call = result(SEVERAL, {"data": {"results": results}}, tools=tools)
    assert WorkbenchActivity().wants(call.call)
    outcome = WorkbenchActivity().observe(call, context)
    saved = [json.loads(context.workspace.read(one.path)) for one in outcome.artifacts]
    assert [(one["input"]["code"], one["output"]["stdout"], one["output"]["successful"]) for one in saved] == [
        ("ls", "a b", False), ("pwd", "/home", True)
    ]  # fmt: skip


def test_the_code_and_output_of_a_run_are_saved_once(context: ObserverContext, result: Make) -> None:
    body = {
        "successful": True,
        "data": {"results": "5", "stdout": "five\n", "stderr": "", "error": ""},
        "error": None,
    }
    code = {
        "code_to_execute": "print(5)\n" * 500, "session_id": "calm", "current_step": "COUNT",
        "thought": "why",
    }  # fmt: skip
    call = result(WORKBENCH, body, **code)
    outcome = WorkbenchActivity().observe(call, context)
    assert outcome.note is None
    saved = json.loads(context.workspace.read(outcome.artifacts[0].path))
    assert (len(saved["input"]["code"]), saved["input"]["code_length"]) == (1_000, 4_500)
    assert (saved["input"]["session_id"], saved["output"]["successful"]) == ("calm", True)
    assert (saved["output"]["stdout"], saved["output"]["results"]) == ("five\n", "5")
    assert WorkbenchActivity().observe(call, context).artifacts == ()


def test_a_failed_call_keeps_its_words(context: ObserverContext, result: Make) -> None:
    _, output = run(context, result(WORKBENCH, "gateway timed out", error="gateway timed out"))
    assert (output["raw"], output["successful"]) == ("gateway timed out", False)
