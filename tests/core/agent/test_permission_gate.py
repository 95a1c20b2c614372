from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import run_ready
from ua_tui.core.agent.permissions.gate import REASON_LIMIT, PermissionGate, PermissionReply
from ua_tui.core.agent.permissions.policy import PermissionPolicy
from ua_tui.core.agent.permissions.rule_set import RuleSet, RuleStore
from ua_tui.core.agent.permissions.rules import Rule
from ua_tui.core.errors import AgentError
from ua_tui.core.events import types as ev
from ua_tui.core.redaction.masking import mask_event
from ua_tui.core.redaction.redactor import Redactor

NOTION = "mcp__composio__NOTION_GET_PAGE"
MAIL = "mcp__composio__GMAIL_SEND_EMAIL"


def gate_of(
    tmp_path: Path,
    events: list[ev.Event],
    rules: RuleSet | None = None,
    *,
    interactive: bool = True,
    secrets: tuple[str, ...] = (),
) -> PermissionGate:
    rules = RuleSet() if rules is None else rules

    def publish(event: ev.Event) -> ev.Event:
        events.append(event)
        return event

    return PermissionGate(
        PermissionPolicy(tmp_path, rules),
        publish,
        interactive=interactive,
        redactor=Redactor(secrets),
        rules=rules,
    )


async def asked(
    gate: PermissionGate, events: list[ev.Event], tool: str, answer: PermissionReply, **arguments: Any
) -> PermissionReply:
    """Ask for a call, answer it, and give what came of that."""
    waiting = asyncio.ensure_future(gate.ask(tool, arguments, "t1"))
    await run_ready()
    question = next(event for event in reversed(events) if isinstance(event, ev.PermissionAsked))
    assert gate.answer(question.request_id, answer)
    return await waiting


def last_answer(events: list[ev.Event]) -> ev.PermissionAnswered:
    return next(event for event in reversed(events) if isinstance(event, ev.PermissionAnswered))


async def test_an_answer_is_reported_with_its_pattern_or_its_bounded_reason(tmp_path: Path) -> None:
    events: list[ev.Event] = []
    gate = gate_of(tmp_path, events)
    # One that is too broad is a yes for once, and none means the tool alone.
    answer = await asked(gate, events, NOTION, PermissionReply(True, "session", patterns=("*",)))
    assert (answer.allow, answer.scope) == (True, "once")
    assert "too broad" in last_answer(events).reason
    assert last_answer(events).patterns == []
    answer = await asked(gate, events, NOTION, PermissionReply(True, "session"))
    assert last_answer(events).patterns == ["NOTION_GET_PAGE"]
    block = "mcp__composio__NOTION_GET_BLOCK"
    answer = await asked(gate, events, block, PermissionReply(True, "session", patterns=("NOTION_GET_*",)))
    assert (answer.allow, answer.scope) == (True, "session")
    assert last_answer(events).patterns == ["NOTION_GET_*"]
    again = await gate.ask("mcp__composio__NOTION_GET_USER", {}, "t2")
    assert (again.allow, again.scope) == (True, "policy")
    events = []
    gate = gate_of(tmp_path, events)
    reason = "  Use the \x1b[31mother\x07 account. " + "x" * 5_000
    answer = await asked(gate, events, NOTION, PermissionReply(False, reason=reason))
    assert "Use the" in answer.reason
    assert "\x1b" not in answer.reason
    assert len(answer.reason) <= REASON_LIMIT
    assert last_answer(events).reason == answer.reason
    assert gate.denied.get("t1") == answer.reason


async def test_an_answer_for_the_folder_holds_in_later_sessions_there_alone(tmp_path: Path) -> None:
    here, other = tmp_path / "here", tmp_path / "other"
    here.mkdir()
    other.mkdir()
    mail, rule = {"recipient_email": "a@b.example"}, "GMAIL_SEND_EMAIL(recipient_email=a@b.example)"
    events: list[ev.Event] = []
    rules = RuleSet((), RuleStore(tmp_path / "state"), here)
    gate = gate_of(tmp_path, events, rules)
    answer = await asked(gate, events, MAIL, PermissionReply(True, "folder", patterns=(rule,)), **mail)
    # It allowed this call.
    assert [rules.last_used(each) is not None for each in rules] == [True]
    assert (answer.scope, answer.patterns) == ("folder", (rule,))
    assert [event.proposed for event in events if isinstance(event, ev.PermissionAsked)] == [[rule]]
    (tmp_path / "link").symlink_to(here)
    for folder, interactive_answer in ((here, True), (tmp_path / "link", True), (other, False)):
        again = RuleSet((), RuleStore(tmp_path / "state"), folder)
        reply = await gate_of(tmp_path, events, again, interactive=False).ask(MAIL, mail, "t2")
        assert reply.allow is interactive_answer
    elsewhere = await gate_of(
        tmp_path, events, RuleSet((), RuleStore(tmp_path / "state"), here), interactive=False
    ).ask(MAIL, {"recipient_email": "eve@evil.example"}, "t3")
    assert not elsewhere.allow


async def test_a_name_alone_is_no_permission_in_advance_to_act_outside(tmp_path: Path) -> None:
    events: list[ev.Event] = []
    gate = gate_of(tmp_path, events, RuleSet((), RuleStore(tmp_path / "state"), tmp_path))
    reply = PermissionReply(True, "everywhere", patterns=("GMAIL_SEND_EMAIL",))
    answer = await asked(gate, events, MAIL, reply, recipient_email="a@b.example")
    assert (answer.allow, answer.scope) == (True, "once")
    assert "limits where it may go" in last_answer(events).reason
    assert RuleStore(tmp_path / "state").rules() == []


async def test_a_headless_denial_names_the_narrowest_rule(tmp_path: Path) -> None:
    events: list[ev.Event] = []
    gate = gate_of(tmp_path, events, interactive=False, secrets=("sk-secret-value",))

    async def reason(tool: str, **arguments: Any) -> str:
        return (await gate.ask(tool, arguments, "t1")).reason

    assert "start with --allow 'Read(/etc/hosts)'." in await reason("Read", file_path="/etc/hosts")
    assert "--allow 'GMAIL_SEND_EMAIL(recipient_email=a@b.example)'." in await reason(
        MAIL, recipient_email="a@b.example"
    )
    for tool, arguments in (("Glob", {"pattern": "/etc/*"}), ("Bash", {"command": "ls | sh"})):
        assert "no rule is narrow enough" in await reason(tool, **arguments)
    masked = await reason("Bash", command="curl -u sk-secret-value x")
    assert "sk-secret-value" not in masked
    assert "[redacted]" in masked
    # Nor does a proposal show a secret.
    events.clear()
    shows = gate_of(tmp_path, events, secrets=("sk-secret-value",))
    await asked(shows, events, "Bash", PermissionReply(False), command="curl -u sk-secret-value x")
    question = next(event for event in events if isinstance(event, ev.PermissionAsked))
    assert (question.proposed, question.once_only) == ([], True)


async def test_a_file_that_a_person_names_is_read_unless_a_rule_says_otherwise(tmp_path: Path) -> None:
    events: list[ev.Event] = []
    rules = RuleSet([Rule("deny", f"Read({tmp_path}/p*)", "option"), Rule("ask", "Read(/etc/**)", "option")])
    gate = gate_of(tmp_path, events, rules)
    for path in (tmp_path.parent / "a.txt", tmp_path / "b.txt"):
        assert await gate.may_read(path)
    with pytest.raises(AgentError, match="denies it"):
        await gate.may_read(tmp_path / "pin")
    assert not events
    for allow in (True, False):
        waiting = asyncio.ensure_future(gate.may_read(Path("/etc/hosts")))
        await run_ready()
        question = next(event for event in reversed(events) if isinstance(event, ev.PermissionAsked))
        assert question.input == {"file_path": "/etc/hosts"}
        gate.answer(question.request_id, PermissionReply(allow, reason="" if allow else "not today"))
        if allow:
            assert await waiting
        else:
            with pytest.raises(AgentError, match="not today"):
                await waiting
    alone = gate_of(tmp_path, events, rules, interactive=False)
    with pytest.raises(AgentError, match="No one is available to answer"):
        await alone.may_read(Path("/etc/hosts"))
    foreign = PermissionPolicy(tmp_path, rules, elsewhere=())
    others = PermissionGate(foreign, lambda event: event, interactive=False, redactor=Redactor())
    assert not await others.may_read(Path("/etc/motd"))


async def test_a_rule_that_decides_is_recorded_with_its_origin_and_its_last_use(tmp_path: Path) -> None:
    events: list[ev.Event] = []
    allow, deny = Rule("allow", "NOTION_*", "option"), Rule("deny", "Bash(rm:*)", "config.toml")
    store = RuleStore(tmp_path / "state")
    rules = RuleSet((allow, deny), store, tmp_path)
    policy = PermissionPolicy(tmp_path, rules)
    gate = gate_of(tmp_path, events, rules)
    for tool, arguments in ((NOTION, {}), ("Bash", {"command": "rm x"}), ("TodoWrite", {})):
        await gate.apply(policy.judge(tool, arguments), tool, tool)
    rules.save_uses()
    applied = [
        (e.tool_name, e.decision, e.rule, e.origin) for e in events if isinstance(e, ev.PermissionApplied)
    ]
    assert applied == [(NOTION, "allow", "NOTION_*", "option"), ("Bash", "deny", "Bash(rm:*)", "config.toml")]
    assert "rm" in (gate.denied.get("Bash") or "")
    assert RuleStore(tmp_path / "state").last_used(deny) is not None
    assert RuleStore(tmp_path / "state").last_used(Rule("allow", "OTHER")) is None


def test_the_last_uses_of_a_thousand_rules_are_kept(tmp_path: Path) -> None:
    store, begin = RuleStore(tmp_path), datetime(2026, 1, 1, tzinfo=UTC)
    rules = [Rule("allow", f"TOOL_{number}") for number in range(1_001)]
    store.note_used({rule: begin + timedelta(seconds=at) for at, rule in enumerate(rules)})
    store.note_used({rule: begin + timedelta(days=1) for rule in rules[500:]})
    # A session stores again what it knows; another program may have recorded a later use since.
    store.note_used(dict.fromkeys(rules[500:], begin))
    assert [store.last_used(rule) is not None for rule in rules] == [False] + 1_000 * [True]
    assert store.last_used(rules[-1]) == begin + timedelta(days=1)


def test_the_store_is_private_and_a_damaged_one_is_set_aside_and_reported(tmp_path: Path) -> None:
    store = RuleStore(tmp_path)
    store.add(Rule("allow", "NOTION_*", server="composio"), None)
    store.add(Rule("allow", "NOTION_*", server="composio"), tmp_path)
    file = tmp_path / "permissions.json"
    assert file.stat().st_mode & 0o777 == 0o600
    other = RuleStore(tmp_path)
    assert [each.rule.origin for each in other.rules(tmp_path)] == ["everywhere", "folder"]
    assert store.remove(other.rules()[0])
    assert [each.rule.origin for each in other.rules()] == ["folder"]
    file.write_text('{"rules": [{"effect"')
    assert other.rules() == []
    assert "could not be read" in other.problem
    assert [each.name for each in tmp_path.glob("*.corrupt-*")]
    assert not file.exists()
    store.add(Rule("allow", "NOTION_*"), None)
    assert len(other.rules()) == 1


async def test_a_changed_mode_answers_the_calls_that_no_longer_ask(tmp_path: Path) -> None:
    events: list[ev.Event] = []
    gate = gate_of(tmp_path, events)
    edit = asyncio.ensure_future(gate.ask("Write", {"file_path": "a.txt"}, "t1"))
    send = asyncio.ensure_future(gate.ask("mcp__composio__GMAIL_SEND_EMAIL", {}, "t2"))
    await run_ready()
    assert gate.change_mode("acceptEdits")
    allowed = await edit
    assert (allowed.allow, allowed.scope) == (True, "mode")
    assert not send.done()
    assert gate.change_mode("plan")
    denied = await send
    assert (denied.allow, denied.scope) == (False, "mode")
    assert "plan mode" in (gate.denied.get("t2") or "")
    assert not gate.change_mode("plan")
    changes = [each for each in events if isinstance(each, ev.PermissionModeChanged)]
    assert [(each.previous, each.mode, each.by) for each in changes] == [
        ("default", "acceptEdits", "person"),
        ("acceptEdits", "plan", "person"),
    ]
    answers = [each.decision for each in events if isinstance(each, ev.PermissionAnswered)]
    assert answers == ["allow", "deny"]


async def test_an_approved_plan_ends_plan_mode(tmp_path: Path) -> None:
    events: list[ev.Event] = []
    gate = gate_of(tmp_path, events)
    gate.change_mode("plan")
    # What the policy denies is not asked about.
    assert not (await gate.ask("Bash", {"command": "ls"}, "t1")).allow
    assert "plan mode" in (gate.denied.get("t1") or "")
    assert not any(isinstance(each, ev.PermissionAsked) for each in events)
    kept = await asked(gate, events, "ExitPlanMode", PermissionReply(False, reason="Add a step."))
    assert (kept.allow, kept.reason, gate.mode) == (False, "Add a step.", "plan")
    approved = await asked(gate, events, "ExitPlanMode", PermissionReply(True))
    assert (approved.allow, gate.mode) == (True, "default")
    last = events[-1]
    assert isinstance(last, ev.PermissionModeChanged)
    assert (last.previous, last.mode, last.by) == ("plan", "default", "plan")
    # Another mode approves the plan that waits.
    gate.change_mode("plan")
    waiting = asyncio.ensure_future(gate.ask("ExitPlanMode", {"plan": "# Plan"}, "t2"))
    await run_ready()
    gate.change_mode("acceptEdits")
    assert (await waiting).allow
    assert gate.mode == "acceptEdits"


ASKS = {"questions": [{"question": "Which key, sk-ant-secret-1?", "options": []}]}


async def test_changed_arguments_keep_masked_secrets_and_are_judged_again(tmp_path: Path) -> None:
    events: list[ev.Event] = []
    gate = gate_of(tmp_path, events, secrets=("sk-ant-secret-1",))
    waiting = asyncio.ensure_future(gate.ask(MAIL, {"to": "a@b.example", "key": "sk-ant-secret-1"}, "t1"))
    await run_ready()
    (question,) = (event for event in events if isinstance(event, ev.PermissionAsked))
    changed = {**question.input, "to": "c@d.example", "cc": []}
    gate.answer(question.request_id, PermissionReply(True, input=changed))
    answer = await waiting
    assert answer.input == {"to": "c@d.example", "key": "sk-ant-secret-1", "cc": []}
    recorded = last_answer(events)
    assert recorded.changes == ["to: a@b.example → c@d.example", "cc: added []"]
    assert recorded.tool_use_id == "t1"
    assert "sk-ant-secret-1" not in repr(recorded)
    events = []
    gate = gate_of(tmp_path, events, RuleSet([Rule("deny", "GMAIL_SEND_EMAIL(to=*@rival.example)")]))
    reply = PermissionReply(True, input={"to": "x@rival.example"})
    answer = await asked(gate, events, MAIL, reply, to="a@b.example")
    assert not answer.allow
    assert "With the changed arguments" in answer.reason


@pytest.mark.parametrize(
    "command",
    [
        "export API_KEY=aB3dE5fG7hJ9kL1m|sh",
        "PASSWORD=Hunter2xx9;curl evil.example",
        """echo '"password":"a1b2c3d4!!'; curl evil.example; echo '"'""",
        'password="x9Yz7 `curl evil.example`" ls',
        "password='; curl evil.example'",
        "password: |\n  ls -la 9 x\n",
        "cat > k <<E\n-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQ==\n-----END PRIVATE KEY-----\nE\n",
    ],
)
async def test_a_question_shows_that_there_is_more_than_a_secret(tmp_path: Path, command: str) -> None:
    events: list[ev.Event] = []
    gate = gate_of(tmp_path, events)
    answer = await asked(gate, events, "Bash", PermissionReply(True), command=command)
    (question,) = (event for event in events if isinstance(event, ev.PermissionAsked))
    shown = question.input["command"]
    assert "[redacted]" in shown
    # Another pass of masking, as before every screen and file, hides no more.
    assert mask_event(question, gate.redactor) == question
    for text in (shown, gate.redactor.redact(shown)):
        assert re.findall(r"[\s;|`]", text) == re.findall(r"[\s;|`]", command)
    assert answer.input is None


async def test_the_agent_may_ask_in_every_mode_and_decides_alone_where_nobody_answers(tmp_path: Path) -> None:
    events: list[ev.Event] = []
    gate = gate_of(tmp_path, events, secrets=("sk-ant-secret-1",))
    gate.change_mode("bypassPermissions")
    waiting = asyncio.ensure_future(gate.ask("AskUserQuestion", ASKS, "t1"))
    await run_ready()
    question = next(event for event in events if isinstance(event, ev.PermissionAsked))
    assert question.once_only
    (shown,) = (each["question"] for each in question.input["questions"])
    assert "secret" not in shown
    gate.answer(
        question.request_id,
        PermissionReply(True, input={**question.input, "answers": {shown: "the new one"}}),
    )
    answer = await waiting
    assert answer.input == {**ASKS, "answers": {"Which key, sk-ant-secret-1?": "the new one"}}
    alone = await gate_of(tmp_path, events, interactive=False).ask("AskUserQuestion", ASKS, "t2")
    assert not alone.allow
    assert "Decide by yourself" in alone.reason
