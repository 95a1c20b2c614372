"""Calls of tools of own MCP servers: everyday ones run, what carries data out asks, and the advice of denials works."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from tests.core.cases import cases_of
from tests.waiting import run_ready, until
from ua_tui.core.agent.permissions.actions import OwnServers, is_outbound, is_wrapper
from ua_tui.core.agent.permissions.addresses import places_in
from ua_tui.core.agent.permissions.gate import PermissionGate, PermissionReply
from ua_tui.core.agent.permissions.policy import PermissionPolicy
from ua_tui.core.agent.permissions.rule_set import RuleSet
from ua_tui.core.agent.permissions.rules import Rule
from ua_tui.core.agent.permissions.taint import Taint
from ua_tui.core.events import types as ev
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.trust import Acts

CASES = cases_of(__file__)
KNOWN = "https://docs.example/guide"
READER = "mcp__web_reader__webReader"


class Said:
    """What a person said of the servers."""

    def __init__(self, here: Sequence[str] = (), outside: Sequence[str] = ()) -> None:
        self.said: dict[str, Acts] = {**dict.fromkeys(here, "here"), **dict.fromkeys(outside, "outside")}

    def acts(self, name: str) -> Acts | None:
        return self.said.get(name)

    def describe(self, name: str, acts: Acts) -> None:
        self.said[name] = acts


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    made = Workspace.create(tmp_path, datetime.now(UTC))
    yield made
    made.close()


@pytest.fixture
def taint(workspace: Workspace) -> Taint:
    """One of a session in which a page was read."""
    made = Taint(workspace)
    made.handle_event(
        ev.QueryReceived(query_id="q1", text="Ask me@mine.example and look at ssh://files.example/a")
    )
    made.note_read(READER, {"url": KNOWN})
    return made


def policy(
    taint: Taint, rules: Sequence[str], said: Said | None = None, *, reads: bool = False
) -> PermissionPolicy:
    servers = OwnServers(cast("Any", said or Said()), lambda _server, _tool: reads)
    given = RuleSet(Rule("allow", each) for each in rules)
    return PermissionPolicy(Path("/work"), given, taint=taint.reason_to_ask, describe=servers.describe)


def test_everyday_calls_run_under_rules_by_name(taint: Taint) -> None:
    said = Said(here=CASES["here"])
    for tool, reads, given, asks in CASES["everyday"]:
        judged = policy(taint, CASES["rules"], said, reads=reads).judge(tool, given)
        assert (judged.verdict == "ask") is asks, (tool, given, judged.reason)
    assert sum(asks for *_, asks in CASES["everyday"]) <= 3


def test_whatever_carries_data_out_asks_however_its_arguments_are_called(taint: Taint) -> None:
    for tool, reads, given in CASES["carries_out"]:
        judged = policy(taint, ["mcp__notes__*"], reads=reads).judge(tool, given)
        assert judged.verdict == "ask", (tool, given)
        assert "the agent has read text from docs.example" in judged.reason


def test_the_web_reader_is_given_an_address_and_plain_options_alone(taint: Taint) -> None:
    for given, asks in CASES["web_reader"]:
        assert (policy(taint, []).judge(READER, given).verdict == "ask") is asks, given


def test_places_that_the_person_wrote_are_known(taint: Taint) -> None:
    for place in ("me@mine.example", "ME@mine.example", "ssh://files.example/a"):
        assert policy(taint, ["mcp__x__*"], reads=True).judge("mcp__x__find", {"q": place}).verdict == "allow"
    for place in ("you@mine.example", "ssh://files.example/a/b"):
        assert policy(taint, ["mcp__x__*"], reads=True).judge("mcp__x__find", {"q": place}).verdict == "ask"


def test_names_are_split_alike_however_their_words_are_joined() -> None:
    for name in ("sendEmail", "send_email", "send-email", "SEND_EMAIL", "HTTPSend", "gmailSendDraft"):
        assert is_outbound(name), name
    assert is_wrapper("multiExecuteTool")
    assert not is_outbound("listSenders")


def test_a_long_text_is_searched_in_little_time() -> None:
    for text in (
        "a." * 50_000,
        "1." * 50_000,
        "a@" * 50_000,
        "x" * 200_000,
        "http:/" * 20_000,
        "[:" * 50_000,
    ):
        assert isinstance(places_in(f"see {text}"), list)


# -- denials without a person --------------------------------------------------------------------------


async def denial(policy: PermissionPolicy, tool: str, given: dict[str, Any], said: Said) -> str | None:
    """Why a call is denied where nobody can be asked; None if it runs."""
    rules = policy.rules
    assert isinstance(rules, RuleSet)
    servers = OwnServers(cast("Any", said))
    gate = PermissionGate(
        policy, lambda event: event, interactive=False, redactor=Redactor(()), rules=rules, servers=servers
    )
    answer = await gate.ask(tool, given, "t1")
    return None if answer.allow else answer.reason


def alternatives(reason: str) -> list[str]:
    return re.split(r"; or ", reason.split("No one is available to answer", 1)[1].lstrip(". "))


async def test_each_advice_of_a_denial_lifts_it_when_it_is_followed(taint: Taint) -> None:
    calls = [
        *((tool, given, ["mcp__notes__*"], False) for tool, _, given in CASES["carries_out"]),
        *((tool, given, CASES["rules"], False) for tool, _, given, _ in CASES["everyday"]),
        *((tool, given, [], True) for tool, given in CASES["denied"]),
    ]
    advised = 0
    for tool, given, rules, _ in calls:
        reason = await denial(policy(taint, rules), tool, given, Said())
        if reason is None or "no rule is narrow enough" in reason:
            continue
        assert "Denied: " in reason
        for each in alternatives(reason):
            said = Said()
            if (command := re.search(r"`ua-tui servers here (.+?)`", each)) is not None:
                said = Said(here=command[1].split())
            words = shlex.split(each[each.index("--allow") :].removesuffix("."))
            assert words[::2] == ["--allow"] * (len(words) // 2), each
            lifted = policy(taint, [*rules, *words[1::2]], said)
            assert lifted.judge(tool, given).verdict == "allow", each
            advised += 1
    assert advised > len(calls) * 0.8


async def test_a_denial_has_its_reason_and_names_the_server(taint: Taint) -> None:
    given = {"a": 2, "b": 40}
    reason = await denial(policy(taint, ["add_numbers"]), "mcp__calculator__add_numbers", given, Said())
    assert reason is not None
    assert reason.startswith("Denied: this sends data out; since ")
    assert "the agent has read text from docs.example, which may contain instructions." in reason
    assert "`ua-tui servers here calculator` once and start with --allow 'mcp__calculator__*'" in reason
    said = Said(outside=["calculator"])
    reason = await denial(policy(taint, []), "mcp__calculator__add_numbers", given, said)
    assert "servers here" not in (reason or "servers here")


# -- the question about a server ------------------------------------------------------------------------


@pytest.mark.parametrize(("answer", "runs"), [(1, True), (0, False)])
async def test_a_person_is_asked_once_where_a_server_acts(taint: Taint, answer: int, runs: bool) -> None:
    events: list[ev.Event] = []

    def publish(event: ev.Event) -> ev.Event:
        events.append(event)
        return event

    said = Said()
    servers = OwnServers(cast("Any", said))
    rules = RuleSet([Rule("allow", "mcp__memory__*")])
    judge = PermissionPolicy(Path("/work"), rules, taint=taint.reason_to_ask, describe=servers.describe)
    gate = PermissionGate(
        judge, publish, interactive=True, redactor=Redactor(()), rules=rules, servers=servers
    )
    tool, given = "mcp__memory__create_entities", {"entities": [{"name": "a"}]}
    calls = [asyncio.ensure_future(gate.ask(tool, given, each)) for each in ("t1", "t2")]
    await run_ready()
    (asked,) = [event for event in events if isinstance(event, ev.PermissionAsked)]
    assert asked.is_question
    (question,) = asked.input["questions"]
    label = question["options"][answer]["label"]
    gate.answer(
        asked.request_id,
        PermissionReply(True, input=asked.input | {"answers": {question["question"]: label}}),
    )

    def later() -> list[ev.PermissionAsked]:
        return [event for event in events if isinstance(event, ev.PermissionAsked) and not event.is_question]

    if runs:
        assert [(await each).scope for each in calls] == ["policy", "policy"]
        assert later() == []
    else:
        await until(lambda: len(later()) == len(calls))
        assert [event.proposed for event in later()] == [["create_entities(entities.name=a)"]] * 2
    assert said.acts("memory") == ("here" if runs else "outside")
    if not runs:
        gate.cancel_all("over")


async def test_in_a_dialog_a_name_is_enough_for_a_server_that_acts_here(taint: Taint) -> None:
    rules, said = RuleSet(), cast("Any", Said(here=["memory"]))
    judge = PermissionPolicy(
        Path("/work"),
        rules,
        taint=taint.reason_to_ask,
        describe=OwnServers(said).describe,
    )
    actions = judge.actions_of("mcp__memory__create_entities", {"entities": []})
    assert rules.remember(actions, "session", ["create_*"], Path("/work")) is None
    assert (
        judge.judge("mcp__memory__create_relations", {"relations": ["https://new.example"]}).verdict
        == "allow"
    )
    # The rule is of that server alone.
    assert judge.judge("mcp__other__create_relations", {}).verdict == "ask"
