from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.core.agent.hooks import hooks_of
from tests.waiting import until
from ua_tui.core.agent.definitions.rules import UnmetRule
from ua_tui.core.agent.hooks import SubagentCheck
from ua_tui.core.agent.messages.subagents import SubagentTask
from ua_tui.core.agent.permissions.gate import PermissionGate
from ua_tui.core.agent.permissions.policy import PermissionPolicy
from ua_tui.core.events.describe import describe
from ua_tui.core.events.types import ComplianceEnforced, ComplianceFailed, Event
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.workspace import Workspace

STARTED = datetime(2026, 11, 24, tzinfo=UTC)
STOP = {"agent_type": "expert", "agent_id": "a1"}


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    workspace = Workspace.create(tmp_path, STARTED)
    yield workspace
    workspace.close()


class Stopping:
    """A sub-agent that wants to stop; `open_calls` are its calls without a result."""

    def __init__(self, workspace: Workspace, check: SubagentCheck) -> None:
        self.events: list[Event] = []
        self.open_calls = 0
        self.polls = 0
        policy = PermissionPolicy(workspace.path)
        gate = PermissionGate(policy, self._publish, interactive=False, redactor=Redactor())
        more = {"translator": SimpleNamespace(task_of=self._task), "check_subagent": check}
        self.hooks = hooks_of(workspace, gate, self._publish, **more)

    def _task(self, _task: str) -> SubagentTask:
        self.polls += 1
        return SubagentTask(call="t1", request="a report", started_at=STARTED, open_calls=self.open_calls)

    def _publish(self, event: Event) -> Event:
        self.events.append(event)
        return event

    async def answer(self, **more: Any) -> dict[str, Any]:
        (matcher,) = self.hooks.matchers()["SubagentStop"]
        (hook,) = matcher.hooks
        return dict(await hook({**STOP, **more}, None, {"signal": None}))  # type: ignore[arg-type]


def finds(*broken: UnmetRule, asked: list[Any] | None = None) -> SubagentCheck:
    """A check that finds these rules broken, and notes what it is asked."""

    async def check(agent: str, request: str, since: datetime | None) -> Sequence[UnmetRule]:
        if asked is not None:
            asked.append((agent, request, since))
        return broken

    return check


async def test_all_rules_that_are_not_met_are_one_message(workspace: Workspace) -> None:
    asked: list[Any] = []
    broken = (UnmetRule("corpus", "Save it."), UnmetRule("claims", "Correct it.\n\n- figure '12'"))
    stopping = Stopping(workspace, finds(*broken, asked=asked))
    answer = await stopping.answer()
    assert answer == {"decision": "block", "reason": "Save it.\n\nCorrect it.\n\n- figure '12'"}
    assert asked == [("expert", "a report", STARTED)]
    # It is reported once the sub-agent works again.
    assert stopping.events == []
    stopping.hooks.note_subagent_active("t1")
    assert [(type(event), getattr(event, "rule", "")) for event in stopping.events] == [
        (ComplianceEnforced, "corpus"),
        (ComplianceEnforced, "claims"),
    ]


async def test_what_was_found_is_one_line_for_the_person(workspace: Workspace) -> None:
    finding = '"23 percent" differs from the source, which has nine percent'
    stopping = Stopping(
        workspace, finds(UnmetRule("claims", "Correct it.\n\n- figure '23 percent'", finding))
    )
    assert (await stopping.answer())["reason"] == "Correct it.\n\n- figure '23 percent'"
    stopping.hooks.note_subagent_active("t1")
    assert await stopping.answer(stop_hook_active=True) == {}
    assert [(type(event), describe(event).sentence) for event in stopping.events] == [
        (ComplianceEnforced, f"Draft sent back: {finding}"),
        (ComplianceFailed, f"Draft not corrected: {finding}"),
    ]


async def test_a_sub_agent_is_sent_back_once(workspace: Workspace) -> None:
    stopping = Stopping(workspace, finds(UnmetRule("claims", "Correct it.")))
    assert await stopping.answer(stop_hook_active=True) == {}
    assert [type(event) for event in stopping.events] == [ComplianceFailed]


async def test_the_rules_are_checked_when_all_results_have_come(workspace: Workspace) -> None:
    checked: list[Any] = []
    stopping = Stopping(workspace, finds(asked=checked))
    stopping.open_calls = 1
    answering = asyncio.create_task(stopping.answer())
    await until(lambda: stopping.polls > 2)
    assert not checked
    stopping.open_calls = 0
    assert await answering == {}
    assert len(checked) == 1


@pytest.mark.parametrize("stops", [True, False])
async def test_a_check_that_fails_or_comes_too_late_stops_nobody(workspace: Workspace, stops: bool) -> None:
    async def check(_agent: str, _request: str, _since: datetime | None) -> Sequence[UnmetRule]:
        if not stops:
            raise RuntimeError("no")
        stopping.hooks.stopping = True
        return [UnmetRule("claims", "Correct it.")]

    stopping = Stopping(workspace, check)
    assert await stopping.answer() == {}
    assert stopping.events == []


async def test_a_subagent_works_in_the_session_whatever_it_is_asked_for(workspace: Workspace) -> None:
    stopping = Stopping(workspace, finds())
    (matcher,) = stopping.hooks.matchers()["PreToolUse"]
    (hook,) = matcher.hooks
    given = {"subagent_type": "expert", "description": "A report", "prompt": "Write it"}
    asked = {**given, "isolation": "worktree", "cwd": "/etc", "run_in_background": True}
    data = {"tool_name": "Agent", "tool_use_id": "t1", "tool_input": asked}
    answer: Any = await hook(data, None, {"signal": None})  # type: ignore[arg-type]
    assert answer["hookSpecificOutput"]["updatedInput"] == {**given, "run_in_background": False}
