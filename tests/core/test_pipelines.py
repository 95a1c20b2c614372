from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.core.agent.hooks import hooks_of
from tests.waiting import run_ready
from ua_tui.core.agent.permissions.gate import PermissionGate
from ua_tui.core.agent.permissions.policy import PermissionPolicy
from ua_tui.core.agent.query import QueryPath
from ua_tui.core.errors import AgentError, Denied, PipelineError, UniversalAgentError
from ua_tui.core.events.types import PipelineFailed
from ua_tui.core.observation import NativeObservation, TextContent
from ua_tui.core.pipelines import (
    AfterExecute,
    AfterTool,
    AgentContext,
    AgentErrored,
    AgentResponse,
    BeforeExecute,
    BeforeTool,
    Payload,
    Pipelines,
    ToolErrored,
)
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.workspace import Workspace


def call(**changes: Any) -> BeforeTool:
    return replace(
        BeforeTool(tool_use_id="t1", name="Read", input={"path": "a", "deep": {"n": 1}}), **changes
    )


def failed_query() -> AgentErrored:
    return AgentErrored(agent="main", input="hello", exception=ValueError("the first error"))


class Reports(list[PipelineFailed]):
    def __call__(self, event: PipelineFailed) -> None:
        self.append(event)


def fail(payload: Any) -> None:
    raise RuntimeError("lost my way")


@pytest.fixture
def reports() -> Reports:
    return Reports()


@pytest.fixture
def pipelines(reports: Reports) -> Pipelines:
    return Pipelines(reports)


async def test_highest_priority_first_and_registration_order_between_equals(pipelines: Pipelines) -> None:
    order: list[str] = []

    def note(name: str) -> Any:
        return lambda payload: order.append(name)

    for name, priority in [("a", 0), ("b", 10), ("c", 0), ("d", -5), ("e", 10)]:
        pipelines.register("tool.before_execute", note(name), priority)
    await pipelines.run("tool.before_execute", call())
    assert order == ["b", "e", "a", "c", "d"]


async def test_sync_and_async_handlers_pass_the_payload_on(pipelines: Pipelines) -> None:
    def plain(payload: BeforeTool) -> BeforeTool:
        return replace(payload, input={**payload.input, "plain": True})

    async def later(payload: BeforeTool) -> BeforeTool:
        await run_ready()
        return replace(payload, input={**payload.input, "saw": sorted(payload.input)})

    class Callable:
        async def __call__(self, payload: BeforeTool) -> None:
            assert "saw" in payload.input

    for handler in (plain, later, Callable()):
        pipelines.register("tool.before_execute", handler)
    result = await pipelines.run("tool.before_execute", call())
    assert result.input["plain"] is True
    assert result.input["saw"] == ["deep", "path", "plain"]
    assert result.tool_use_id == "t1"


async def test_a_raising_handler_is_reported_and_left_out(pipelines: Pipelines, reports: Reports) -> None:
    def half_done(payload: BeforeTool) -> BeforeTool:
        payload.input["path"] = "spoilt"
        raise RuntimeError("lost my way")

    seen: list[str] = []
    pipelines.register("tool.before_execute", lambda payload: replace(payload, input={"path": "b"}))
    pipelines.register("tool.before_execute", half_done)
    pipelines.register("tool.before_execute", lambda payload: seen.append(payload.input["path"]))
    result = await pipelines.run("tool.before_execute", call())
    assert (result.input, seen) == ({"path": "b"}, ["b"])
    (report,) = reports
    assert (report.pipeline, report.error) == ("tool.before_execute", "RuntimeError: lost my way")
    assert "half_done" in report.handler


async def test_changes_in_place_count_only_when_the_payload_is_returned(pipelines: Pipelines) -> None:
    def openly(payload: BeforeTool) -> BeforeTool:
        payload.input["deep"]["n"] += 10
        return payload

    original = call()
    pipelines.register("tool.before_execute", lambda payload: payload.input["deep"].clear())
    pipelines.register("tool.before_execute", openly)
    result = await pipelines.run("tool.before_execute", original)
    assert (result.input["deep"]["n"], original.input["deep"]["n"]) == (11, 1)


@pytest.mark.parametrize(
    ("handler", "message"),
    [
        (lambda payload: "text", "returned a str"),
        (lambda payload: failed_query(), "returned a AgentErrored"),
        (lambda payload: replace(payload, tool_use_id="t2"), "changed tool_use_id"),
        (lambda payload: replace(payload, name="Write"), "changed name"),
        (lambda payload: replace(payload, input=["no"]), "input of BeforeTool is a list"),
        (lambda payload: replace(payload, denied=True), "denied of BeforeTool is a bool"),
    ],
)
async def test_a_broken_contract_is_a_pipeline_error_and_changes_nothing(
    pipelines: Pipelines, reports: Reports, handler: Any, message: str
) -> None:
    pipelines.register("tool.before_execute", handler)
    payload = call()
    assert await pipelines.run("tool.before_execute", payload) == payload
    assert reports[0].error.startswith("PipelineError: ")
    assert message in reports[0].error


async def test_a_denial_reaches_later_handlers_for_good(pipelines: Pipelines, reports: Reports) -> None:
    seen: list[str | None] = []
    pipelines.register("tool.before_execute", lambda payload: replace(payload, denied="not today"), 10)
    pipelines.register("tool.before_execute", lambda payload: replace(payload, denied=None))
    pipelines.register("tool.before_execute", lambda payload: seen.append(payload.denied), -10)
    result = await pipelines.run("tool.before_execute", call())
    assert result.denied == "not today"
    assert seen == ["not today"]
    assert "reversed the denial" in reports[0].error


async def test_a_query_and_its_response_can_be_changed(pipelines: Pipelines, reports: Reports) -> None:
    def shout(payload: BeforeExecute) -> BeforeExecute:
        return replace(payload, input=payload.input.upper(), denied="too loud")

    def audit(payload: AfterExecute) -> AfterExecute:
        return replace(payload, response=replace(payload.response, text=f"{payload.system_prompt} checked"))

    pipelines.register("agent.before_execute", shout)
    result = await pipelines.run("agent.before_execute", BeforeExecute(agent="main", input="hi"))
    assert (result.input, result.denied) == ("HI", "too loud")
    pipelines.register("agent.after_execute", audit)
    given = AfterExecute(
        agent="main", input="hi", system_prompt="Be kind.", response=AgentResponse(text="hello")
    )
    after = await pipelines.run("agent.after_execute", given)
    assert (after.response.text, reports) == ("Be kind. checked", [])


async def test_an_error_handler_may_recover_with_a_text_only(pipelines: Pipelines, reports: Reports) -> None:
    pipelines.register("agent.on_error", lambda payload: replace(payload, recovery="Sorry."))
    pipelines.register("agent.on_error", lambda payload: replace(payload, recovery={"text": "Sorry."}))
    payload = await pipelines.run("agent.on_error", failed_query())
    assert (payload.recovery, payload.system_prompt) == ("Sorry.", None)
    assert "recovery of AgentErrored is a dict, but must be str or None" in reports[0].error


async def test_a_raising_error_handler_never_hides_the_first_error(
    pipelines: Pipelines, reports: Reports, caplog: pytest.LogCaptureFixture
) -> None:
    second = RuntimeError("the second error")

    def raising(payload: AgentErrored) -> None:
        raise second

    def swapping(payload: AgentErrored) -> AgentErrored:
        return replace(payload, exception=second)

    pipelines.register("agent.on_error", raising)
    pipelines.register("agent.on_error", swapping)
    original = failed_query()
    with caplog.at_level(logging.ERROR):
        payload = await pipelines.run("agent.on_error", original)
    assert payload.exception is original.exception
    assert [report.pipeline for report in reports] == ["agent.on_error", "agent.on_error"]
    logged = caplog.records[0].exc_info
    assert logged is not None
    failure = logged[1]
    assert isinstance(failure, PipelineError)
    assert failure.__cause__ is original.exception
    assert failure.__context__ is second


async def test_tool_handlers_see_id_input_and_outcome(pipelines: Pipelines) -> None:
    seen: list[ToolErrored] = []
    observation = NativeObservation(tool_name="Read", tool_use_id="t1", content=(TextContent("x"),))
    pipelines.register("tool.after_execute", lambda payload: replace(payload, additional_context="note"))
    pipelines.register("tool.on_error", seen.append)
    given = AfterTool(tool_use_id="t1", name="Read", input={}, observation=observation)
    after = await pipelines.run("tool.after_execute", given)
    assert (after.tool_use_id, after.additional_context) == ("t1", "note")
    failed = ToolErrored(tool_use_id="t1", name="Read", input={"path": "b"}, exception=OSError())
    await pipelines.run("tool.on_error", failed)
    assert (seen[0].tool_use_id, seen[0].input) == ("t1", {"path": "b"})


async def test_cancelling_a_run_is_not_a_handler_failure(pipelines: Pipelines, reports: Reports) -> None:
    async def forever(payload: BeforeTool) -> None:
        await asyncio.Event().wait()

    pipelines.register("tool.before_execute", forever)
    task = asyncio.ensure_future(pipelines.run("tool.before_execute", call()))
    await run_ready()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert reports == []


async def test_a_report_that_fails_does_not_stop_the_run() -> None:
    def broken(event: PipelineFailed) -> None:
        raise OSError("nobody listens")

    pipelines = Pipelines(broken)
    pipelines.register("tool.before_execute", fail)
    assert await pipelines.run("tool.before_execute", call()) == call()


async def test_misuse_is_a_pipeline_error(pipelines: Pipelines) -> None:
    with pytest.raises(PipelineError, match=r"no pipeline 'tool\.before'"):
        pipelines.register("tool.before", print)
    with pytest.raises(PipelineError, match="takes a BeforeTool"):
        await pipelines.run("tool.before_execute", failed_query())
    with pytest.raises(PipelineError, match="already"):
        pipelines.define("tool.on_error")
    with pytest.raises(PipelineError, match="callable"):
        pipelines.register("tool.on_error", None)  # type: ignore[arg-type]  # what a plug-in may do


async def test_own_pipelines_and_leaving(pipelines: Pipelines) -> None:
    pipelines.define("report.written")
    seen: list[Payload] = []
    leave = pipelines.register("report.written", seen.append)
    assert pipelines.has_handlers("report.written")
    await pipelines.run("report.written", Payload())
    leave()
    await pipelines.run("report.written", Payload())
    assert len(seen) == 1
    assert not pipelines.has_handlers("report.written")


async def test_copying_keeps_handlers_and_reports_elsewhere(pipelines: Pipelines, reports: Reports) -> None:
    pipelines.register("tool.before_execute", fail)
    elsewhere = Reports()
    bound = pipelines.copy(elsewhere)
    pipelines.register("tool.before_execute", fail)
    await bound.run("tool.before_execute", call())
    assert (len(reports), len(elsewhere)) == (0, 1)


async def test_a_query_that_failed_keeps_its_cause(pipelines: Pipelines) -> None:
    seen: list[AgentErrored] = []
    pipelines.register("agent.on_error", seen.append)
    path = QueryPath(pipelines=pipelines, classifier=None, publish=lambda event: event, simple_model=None)
    for error in (KeyError("lost"), AgentError("it is gone"), Denied("no")):
        outcome = await path.recover("Hello", AgentContext(query_id="q1"), None, error)
        given = seen.pop().exception
        assert outcome.exception is given
        assert isinstance(given, UniversalAgentError)
        assert error in (given, given.__cause__)
        assert isinstance(given, Denied) is isinstance(error, Denied)


async def test_a_call_that_a_handler_denied_is_told_apart_from_one_that_failed(
    tmp_path: Path, pipelines: Pipelines
) -> None:
    workspace = Workspace.create(tmp_path, datetime.now(UTC))
    seen: list[ToolErrored] = []

    def note(call: ToolErrored) -> ToolErrored:
        seen.append(call)
        return replace(call, additional_context="Ask me first.")

    pipelines.register("tool.before_execute", lambda call: replace(call, denied="not here"))
    pipelines.register("tool.on_error", note)
    policy = PermissionPolicy(workspace.path)
    gate = PermissionGate(policy, lambda event: event, interactive=False, redactor=Redactor())
    hooks = hooks_of(workspace, gate, lambda event: event, pipelines=pipelines)
    data = {"tool_name": "Read", "tool_use_id": "t1", "tool_input": {"file_path": "a"}, "error": "no file"}
    answers = [await hooks._before(data, None, None), await hooks._failed(data, None, None)]
    denied, failed = (each["hookSpecificOutput"] for each in answers)
    assert denied["permissionDecision"] == "deny"
    assert denied["permissionDecisionReason"] == "not here\nAsk me first."
    assert failed["additionalContext"] == "Ask me first."
    assert [(type(each.exception), str(each.exception), each.error) for each in seen] == [
        (Denied, "not here", ""),
        (AgentError, "Read failed: no file", "no file"),
    ]
    assert seen[0].input == {"file_path": "a"}
    workspace.close()
