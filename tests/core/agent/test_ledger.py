from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.core.agent.hooks import hooks_of, never_read_only
from tests.core.cases import cases_of
from ua_tui.core.agent.bounds import LONGEST_TEXT
from ua_tui.core.agent.ledger import (
    ActionRecorder,
    EarlierAction,
    LedgerRefusal,
    acting,
    key_of,
)
from ua_tui.core.agent.mcp.states import ServerStates
from ua_tui.core.agent.messages.subagents import SubagentTask
from ua_tui.core.agent.permissions.actions import Action
from ua_tui.core.agent.permissions.gate import PermissionGate, PermissionReply
from ua_tui.core.agent.permissions.policy import PermissionPolicy
from ua_tui.core.agent.permissions.rules import Rule
from ua_tui.core.events.types import Event, PermissionAsked
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.workspace import Workspace

CASES = cases_of(__file__)

STARTED = datetime(2026, 11, 24, tzinfo=UTC)
MULTI = "mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL"
SECRET = "hunter2hunter2hunter2"


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    workspace = Workspace.create(tmp_path, STARTED)
    yield workspace
    workspace.close()


class NoteLedger:
    """Notes what it is given; `earlier_ones` are those of earlier attempts, by key."""

    def __init__(self) -> None:
        self.begun: list[dict[str, str]] = []
        self.finished: list[tuple[str, bool, str]] = []
        self.earlier_ones: dict[str, EarlierAction] = {}
        self.refusal = ""

    async def earlier(self, keys: Sequence[str]) -> Sequence[EarlierAction]:
        if self.refusal:
            raise LedgerRefusal(self.refusal)
        return [self.earlier_ones[key] for key in keys if key in self.earlier_ones]

    async def begin(
        self, actions: Mapping[str, str], _tool_use_id: str, _stopping: Callable[[], bool]
    ) -> Sequence[EarlierAction]:
        if found := await self.earlier(list(actions)):
            return found
        self.begun.append(dict(actions))
        return []

    async def finish(self, tool_use_id: str, *, ok: bool, result: str) -> None:
        self.finished.append((tool_use_id, ok, result))


def test_what_acts_outside_is_recorded() -> None:
    for tool, given, expected in CASES["what_acts_outside_is_recorded"]:
        found = acting(tool, given, lambda server, name: (server, name) == ("notes", "list_notes"))
        assert [action.tool for action in found] == expected, tool


def test_equal_actions_have_equal_keys_whatever_their_order_and_folder() -> None:
    one = Action("Bash", {"command": "cp /a/session_1/b /tmp", "x": {"p": 1, "q": [2]}})
    two = Action("Bash", {"x": {"q": [2], "p": 1}, "command": "cp /c/session_1-2/b /tmp"}, wrapped=True)
    assert key_of(one, Path("/a/session_1")) == key_of(two, Path("/c/session_1-2"))
    assert key_of(one) != key_of(two)
    assert key_of(one) != key_of(Action("Bash", {"command": "cp /a/session_1/b /tmp"}))
    assert key_of(Action("x", {"a": 1})) != key_of(Action("x", {"a": "1"}))
    assert key_of(Action("x", None)) != key_of(Action("x", {}))
    # Half a character is none that UTF-8 has.
    assert len(key_of(Action("x", {"a": "\ud800"}))) == 64


async def test_secrets_are_masked_before_anything_is_compared_or_stored(tmp_path: Path) -> None:
    ledger = NoteLedger()
    recorder = ActionRecorder(ledger, Redactor([SECRET]), tmp_path, never_read_only)
    assert await recorder.begin("Bash", {"command": f"curl -H {SECRET}"}, "t1", lambda: False) is None
    # In a conversation that is resumed the secret is masked.
    assert await recorder.begin("Bash", {"command": "curl -H [redacted]"}, "t2", lambda: False) is None
    assert ledger.begun[0] == ledger.begun[1]
    await recorder.finish(
        "t1", ok=True, result=[{"type": "text", "text": f"{SECRET} \x1b[31m" + "x" * 9_000}]
    )
    await recorder.finish("t2", ok=True, result={"odd": object(), SECRET: "x"})
    await recorder.finish("t3", ok=True, result="of a call that is not recorded")
    assert [each[0] for each in ledger.finished] == ["t1", "t2"]
    for _, _, text in ledger.finished:
        assert SECRET not in text
        assert "\x1b" not in text
        assert len(text) <= LONGEST_TEXT + 100


async def test_the_end_of_a_call_is_recorded_whatever_its_result_is(tmp_path: Path) -> None:
    deep: dict[str, Any] = {}
    for _ in range(5_000):
        deep = {"a": deep}
    ledger = NoteLedger()
    recorder = ActionRecorder(ledger, Redactor(), tmp_path, never_read_only)
    results = [deep, {"structuredContent": deep}, {"structuredContent": {"a": "\ud800"}}]
    for number, result in enumerate(results):
        assert (
            await recorder.begin("Bash", {"command": f"curl {number}"}, f"t{number}", lambda: False) is None
        )
        await recorder.finish(f"t{number}", ok=True, result=result)
    assert ledger.finished == [(f"t{number}", True, "dict") for number in range(3)]


class Hooked:
    """The hooks of a session with a ledger, in which some tools are allowed."""

    def __init__(self, workspace: Workspace, *allowed: str) -> None:
        self.ledger = NoteLedger()
        self.events: list[Event] = []
        policy = PermissionPolicy(workspace.path, rules=[Rule("allow", each) for each in allowed])
        self.gate = PermissionGate(policy, self._publish, interactive=True, redactor=Redactor())
        task = SubagentTask(call="t1", request="", started_at=STARTED, open_calls=0)
        recorder = ActionRecorder(self.ledger, Redactor(), workspace.path, never_read_only)
        tasks = SimpleNamespace(was_stopped=lambda _call: False)
        translator = SimpleNamespace(task_of=lambda _task: task, tasks=tasks)
        more = {"translator": translator, "recorder": recorder}
        self.hooks = hooks_of(workspace, self.gate, self._publish, **more)

    def _publish(self, event: Event) -> Event:
        self.events.append(event)
        return event

    async def before(self, tool: str, given: dict[str, Any], call: str = "t1") -> tuple[str, str]:
        """What the hook decides about a call, and why."""
        data = {"tool_name": tool, "tool_use_id": call, "tool_input": given}
        output = (await self.hooks._before(data, None, None))["hookSpecificOutput"]
        return output["permissionDecision"], output["permissionDecisionReason"]

    async def after(self, tool: str, given: dict[str, Any], response: Any, call: str = "t1") -> None:
        data = {"tool_name": tool, "tool_use_id": call, "tool_input": given, "tool_response": response}
        await self.hooks._after(data, None, None)

    async def failed(self, tool: str, error: str, call: str = "t1", **more: Any) -> None:
        data = {"tool_name": tool, "tool_use_id": call, "tool_input": {}, "error": error, **more}
        await self.hooks._failed(data, None, None)


async def test_a_call_is_recorded_before_it_runs_and_its_end_after(workspace: Workspace) -> None:
    hooked = Hooked(workspace, "take_note")
    given = {"text": "milk"}
    assert (await hooked.before("mcp__notes__take_note", given))[0] == "allow"
    assert list(hooked.ledger.begun[0].values()) == ["mcp__notes__take_note"]
    await hooked.after("mcp__notes__take_note", given, [{"type": "text", "text": "noted"}])
    assert hooked.ledger.finished == [("t1", True, "noted")]
    assert (await hooked.before("mcp__notes__take_note", given, "t2"))[0] == "allow"
    await hooked.failed("mcp__notes__take_note", "no paper", "t2")
    assert hooked.ledger.finished[1:] == [("t2", False, "no paper")]
    # Whether an interrupted call succeeded nobody knows.
    assert (await hooked.before("mcp__notes__take_note", given, "t3"))[0] == "allow"
    await hooked.failed("mcp__notes__take_note", "interrupted", "t3", is_interrupt=True)
    assert len(hooked.ledger.finished) == 2
    assert (await hooked.before("Read", {"file_path": "a.md"}, "t4"))[0] == "allow"
    assert len(hooked.ledger.begun) == 3


async def test_what_an_earlier_attempt_did_is_denied_and_nobody_is_asked(workspace: Workspace) -> None:
    hooked = Hooked(workspace, "take_note")
    milk, bread = {"text": "milk"}, {"text": "bread"}
    hooked.ledger.earlier_ones = {
        key_of(Action("mcp__notes__take_note", milk)): EarlierAction(
            tool="mcp__notes__take_note", state="done", result="noted milk"
        ),
        key_of(Action("mcp__notes__send_note", bread)): EarlierAction(
            tool="mcp__notes__send_note", state="running"
        ),
    }
    decision, reason = await hooked.before("mcp__notes__take_note", milk)
    assert decision == "deny"
    assert "and succeeded" in reason
    assert "noted milk" in reason
    assert hooked.gate.denied.get("t1") == reason
    decision, reason = await hooked.before("mcp__notes__send_note", bread, "t2")
    assert decision == "deny"
    assert "not known" in reason
    # A call that asks is asked about if it is another one.
    assert (await hooked.before("mcp__notes__send_note", milk, "t3"))[0] == "ask"
    assert hooked.ledger.begun == []
    assert not any(isinstance(each, PermissionAsked) for each in hooked.events)


async def test_a_wrapper_names_the_action_that_ran_already(workspace: Workspace) -> None:
    hooked = Hooked(workspace, "GMAIL_*")
    sent = {"tool_slug": "GMAIL_SEND_EMAIL", "arguments": {"to": "ann"}}
    hooked.ledger.earlier_ones = {
        key_of(Action("mcp__composio__GMAIL_SEND_EMAIL", {"to": "ann"})): EarlierAction(
            tool="mcp__composio__GMAIL_SEND_EMAIL", state="done", result="id 7"
        )
    }
    both = {"tools": [sent, {"tool_slug": "GMAIL_SEND_EMAIL", "arguments": {"to": "bob"}}]}
    decision, reason = await hooked.before(MULTI, both)
    assert decision == "deny"
    assert "GMAIL_SEND_EMAIL ran" in reason
    assert "Nothing in this call ran" in reason
    assert hooked.ledger.begun == []
    assert (await hooked.before(MULTI, {"tools": both["tools"][1:]}))[0] == "allow"


async def test_what_a_person_allowed_is_recorded_with_its_final_arguments(workspace: Workspace) -> None:
    # What cannot be recorded does not run, whoever allowed it.
    bread = f"bread{', bread' * 100} and jam"
    for refusal in ("", "This was not run: no database."):
        hooked = Hooked(workspace)
        assert (await hooked.before("mcp__notes__take_note", {"text": "milk"}))[0] == "ask"
        hooked.ledger.refusal = refusal

        def answer(event: Event, gate: PermissionGate = hooked.gate) -> Event:
            if isinstance(event, PermissionAsked):
                reply = PermissionReply(True, input={"text": bread})
                asyncio.get_running_loop().call_soon(gate.answer, event.request_id, reply)
            return event

        hooked.gate.publish = answer
        context: Any = SimpleNamespace(tool_use_id="t1")
        given = {"text": "milk", "for": "ann"}
        result: Any = await hooked.hooks.may_use("mcp__notes__take_note", given, context)
        if refusal:
            assert (result.behavior, result.message) == ("deny", refusal)
            assert hooked.gate.denied.get("t1") == refusal
            assert (await Hooked(workspace, "take_note").before("Read", {"file_path": "a.md"}))[0] == "allow"
            allowed = Hooked(workspace, "take_note")
            allowed.ledger.refusal = refusal
            assert await allowed.before("mcp__notes__take_note", {}) == ("deny", refusal)
        else:
            assert (result.behavior, result.updated_input) == ("allow", {"text": bread})
            begun = [key_of(Action("mcp__notes__take_note", {"text": bread}))]
            assert list(hooked.ledger.begun[0]) == begun
            # The agent reads all of it.
            assert hooked.hooks.copies["t1"].note.endswith(f'ran with: {{"text": "{bread}"}} Without: for.')


def test_a_server_declares_which_of_its_tools_only_read() -> None:
    states = ServerStates()
    tools = CASES["a_server_declares_which_of_its_tools_only_read.tools"]
    states.update([{"name": "notes", "status": "connected", "tools": tools}])
    assert states.is_read_only("notes", "list_notes")
    # The list at the beginning of a query has no tools.
    states.update(json.loads('[{"name": "notes", "status": "connected"}]'))
    assert states.is_read_only("notes", "list_notes")
    for server, tool in (("notes", "take_note"), ("notes", "crash"), ("other", "list_notes"), ("", "Bash")):
        assert not states.is_read_only(server, tool)
