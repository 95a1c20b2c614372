from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from core.agent.permissions.gate import REASON_LIMIT, PermissionGate, PermissionReply
from core.agent.permissions.policy import PermissionPolicy
from core.events.types import Event, PermissionAnswered, PermissionAsked, PermissionModeChanged
from core.redaction.redactor import Redactor

NOTION = "mcp__composio__NOTION_GET_PAGE"


def gate_of(tmp_path: Path, events: list[Event]) -> PermissionGate:
    def publish(event: Event) -> Event:
        events.append(event)
        return event

    return PermissionGate(PermissionPolicy(tmp_path), publish, interactive=True, redactor=Redactor([]))


async def asked(
    gate: PermissionGate, events: list[Event], tool: str, answer: PermissionReply
) -> PermissionReply:
    """Ask for a call, answer it, and give what came of that."""
    arguments: dict[str, Any] = {}
    waiting = asyncio.ensure_future(gate.ask(tool, arguments, "t1"))
    await asyncio.sleep(0)
    question = next(event for event in reversed(events) if isinstance(event, PermissionAsked))
    assert gate.answer(question.request_id, answer)
    return await waiting


def last_answer(events: list[Event]) -> PermissionAnswered:
    return next(event for event in reversed(events) if isinstance(event, PermissionAnswered))


async def test_a_pattern_for_the_session_is_reported_and_holds(tmp_path: Path) -> None:
    events: list[Event] = []
    gate = gate_of(tmp_path, events)
    answer = await asked(gate, events, NOTION, PermissionReply(True, "session", patterns=("NOTION_GET_*",)))
    assert (answer.allow, answer.scope) == (True, "session")
    assert last_answer(events).patterns == ["NOTION_GET_*"]
    again = await gate.ask("mcp__composio__NOTION_GET_BLOCK", {}, "t2")
    assert (again.allow, again.scope) == (True, "policy")


async def test_a_yes_for_the_session_without_a_pattern_means_the_tool_alone(tmp_path: Path) -> None:
    events: list[Event] = []
    gate = gate_of(tmp_path, events)
    await asked(gate, events, NOTION, PermissionReply(True, "session"))
    assert last_answer(events).patterns == ["NOTION_GET_PAGE"]


async def test_a_pattern_that_is_too_wide_is_a_yes_for_once(tmp_path: Path) -> None:
    events: list[Event] = []
    gate = gate_of(tmp_path, events)
    answer = await asked(gate, events, NOTION, PermissionReply(True, "session", patterns=("*",)))
    assert (answer.allow, answer.scope) == (True, "once")
    assert "too wide" in last_answer(events).reason
    assert last_answer(events).patterns == []


async def test_a_reason_for_a_no_is_cleaned_bounded_and_sent_to_the_model(tmp_path: Path) -> None:
    events: list[Event] = []
    gate = gate_of(tmp_path, events)
    reason = "  Use the \x1b[31mother\x07 account. " + "x" * 5_000
    answer = await asked(gate, events, NOTION, PermissionReply(False, reason=reason))
    assert "Use the" in answer.reason
    assert "\x1b" not in answer.reason
    assert len(answer.reason) <= REASON_LIMIT
    assert last_answer(events).reason == answer.reason
    assert gate.denial_of("t1") == answer.reason


async def test_a_changed_mode_answers_the_calls_that_no_longer_ask(tmp_path: Path) -> None:
    events: list[Event] = []
    gate = gate_of(tmp_path, events)
    edit = asyncio.ensure_future(gate.ask("Write", {"file_path": "a.txt"}, "t1"))
    send = asyncio.ensure_future(gate.ask("mcp__composio__GMAIL_SEND_EMAIL", {}, "t2"))
    await asyncio.sleep(0)
    assert gate.change_mode("acceptEdits")
    assert (await edit).allow
    assert not send.done()
    assert gate.change_mode("plan")
    denied = await send
    assert (denied.allow, denied.scope) == (False, "mode")
    assert "plan mode" in (gate.denial_of("t2") or "")
    assert not gate.change_mode("plan")
    changes = [each for each in events if isinstance(each, PermissionModeChanged)]
    assert [(each.previous, each.mode, each.by) for each in changes] == [
        ("default", "acceptEdits", "person"),
        ("acceptEdits", "plan", "person"),
    ]
    answers = [each.decision for each in events if isinstance(each, PermissionAnswered)]
    assert answers == ["allow", "deny"]


async def test_a_call_that_the_policy_denies_meanwhile_is_not_asked_about(tmp_path: Path) -> None:
    events: list[Event] = []
    gate = gate_of(tmp_path, events)
    gate.change_mode("plan")
    answer = await gate.ask("Bash", {"command": "ls"}, "t1")
    assert not answer.allow
    assert "plan mode" in (gate.denial_of("t1") or "")
    assert not any(isinstance(each, PermissionAsked) for each in events)


async def test_an_approved_plan_ends_plan_mode(tmp_path: Path) -> None:
    events: list[Event] = []
    gate = gate_of(tmp_path, events)
    gate.change_mode("plan")
    kept = await asked(gate, events, "ExitPlanMode", PermissionReply(False, reason="Add a step."))
    assert (kept.allow, kept.reason, gate.mode) == (False, "Add a step.", "plan")
    approved = await asked(gate, events, "ExitPlanMode", PermissionReply(True))
    assert (approved.allow, gate.mode) == (True, "default")
    last = events[-1]
    assert isinstance(last, PermissionModeChanged)
    assert (last.previous, last.mode, last.by) == ("plan", "default", "plan")


async def test_another_mode_approves_the_plan_that_waits(tmp_path: Path) -> None:
    events: list[Event] = []
    gate = gate_of(tmp_path, events)
    gate.change_mode("plan")
    waiting = asyncio.ensure_future(gate.ask("ExitPlanMode", {"plan": "# Plan"}, "t1"))
    await asyncio.sleep(0)
    gate.change_mode("acceptEdits")
    assert (await waiting).allow
    assert gate.mode == "acceptEdits"
