from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.core.cases import cases_of
from ua_tui.core.agent.permissions.actions import Action
from ua_tui.core.agent.permissions.conditions import command_words
from ua_tui.core.agent.permissions.policy import PermissionPolicy
from ua_tui.core.agent.permissions.proposals import advice, proposal, rules_problem
from ua_tui.core.agent.permissions.rules import Effect, Rule, check, rule_for

CASES = cases_of(__file__)

SEND = "mcp__composio__GMAIL_SEND_EMAIL"
MULTI = "mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL"
CRAWL = "mcp__local_toolkit__crawl_parallel"
HERE = Path("/work/here")


def allows(text: str, tool: str, arguments: dict[str, Any]) -> bool:
    return Rule("allow", text).matches(Action(tool, arguments), HERE)


def test_a_rule_that_cannot_be_used_says_why() -> None:
    for text in (
        "GMAIL_SEND_EMAIL", "NOTION_GET_*", "mcp__notes__*", "Bash(git diff:*)", "Read(~/notes/**)",
        "Write(out (1)/a,b.txt)", 'T(subject="a, b", to=x|y)', "T(message.to=a@b.example)", "T(url=https://a.example/*)",
    ):  # fmt: skip
        assert check(text) is None
    for text, problem in (*CASES["a_rule_that_cannot_be_used_says_why"], ("T" * 2_000, "characters")):
        assert problem in (check(text) or ""), text


@pytest.mark.parametrize("what", CASES["matches"])
def test_a_rule_matches_what_it_names_and_nothing_else(tmp_path: Path, what: str) -> None:
    for folder in ("notes", ".git"):
        (tmp_path / folder).mkdir()
    (tmp_path / ".git" / "config").touch()
    (tmp_path / "notes" / "link").symlink_to("/etc")
    rows = json.loads(json.dumps(CASES["matches"][what]).replace("{folder}", str(tmp_path)))
    for effect, text, tool, arguments, expected in rows:
        found = Rule(effect, text).matches(Action(tool, arguments), tmp_path)
        assert found is expected, (effect, text, arguments)


def test_a_compound_command_does_not_pass_a_prefix() -> None:
    for tail in (
        "; rm -rf x", "&& rm x", "& rm x", "| sh", "|| rm x", "> /etc/passwd", ">> x", "< x", "$(rm x)", "`rm x`",
        "\nrm x", "\r\nrm x", '"$(rm x)"', '"`rm x`"', "<(rm x)", "\\\nrm x", "${IFS}", "'unclosed", "\u2028rm x",
    ):  # fmt: skip
        for command in (f"git diff {tail}", f"git diff{tail}"):
            assert not allows("Bash(git diff:*)", "Bash", {"command": command})
            assert not allows("*BASH*(command=git diff:*)", "mcp__x__REMOTE_BASH", {"command": command})


@given(st.text(), st.sampled_from(";&|<>()$`\\\n\r"), st.text())
def test_no_unquoted_operator_is_part_of_an_allowed_command(before: str, operator: str, after: str) -> None:
    bare = before.replace("'", "").replace('"', "")
    assert command_words(f"git diff {bare}{operator}{after}") is None


_FRAGMENTS = [
    "; cd no", "&& cd no", "& cd no", "|| cd no", "| cd no", "\ncd no", "$(cd no)", "${no?}", "`cd no`", "> x", "2> x",
    "<(cd no)", "a", " ", "'", '"', "\\", "\t", "${", "{", ",", "}", "(", ")", "*", "?", "#", "!", "~", "=", "$'", "--",
]  # fmt: skip


@example("`cd no`", "bash")
@example("${no?}", "dash")
@example("; cd no", "bash")
@example("& cd no", "dash")
@example("| cd no", "bash")
@example("> x", "dash")
@example("< x", "bash")
@given(st.lists(st.sampled_from(_FRAGMENTS), max_size=5).map("".join), st.sampled_from(["bash", "dash"]))
def test_a_shell_runs_nothing_but_the_allowed_command(tail: str, shell: str) -> None:
    command = f"probe diff {tail}"
    program = shutil.which(shell)
    if program is None or not allows("Bash(probe diff:*)", "Bash", {"command": command}):
        return
    with TemporaryDirectory() as folder:
        # Whatever else runs prints, or leaves a file.
        text = f'probe() {{ printf "[%s]" "$1"; }}\n{command}'
        ran = subprocess.run(
            [program, "-c", text], cwd=folder, env={"PATH": ""}, capture_output=True, check=False
        )
        assert (ran.stdout, ran.stderr, os.listdir(folder)) == (b"[diff]", b"", []), command


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=20)
    | st.sampled_from(["a@x.example", "rm x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_CALLS = st.tuples(
    st.sampled_from(["Bash", "Read", SEND, CRAWL, MULTI, "mcp__notes__list"]),
    st.fixed_dictionaries(
        {},
        optional={
            "command": _VALUES, "file_path": _VALUES, "to": _VALUES, "urls": _VALUES,
            "tools": st.lists(st.fixed_dictionaries({"tool_slug": st.sampled_from(["GMAIL_SEND_EMAIL", "X_GET"]),
                                                     "arguments": _VALUES}), max_size=2),
        },
    ),
)  # fmt: skip
_RULES = st.sampled_from(
    ["*", "Bash", "Bash(rm:*)", "Read", "Read(/etc/**)", "GMAIL_*", "GMAIL_SEND_EMAIL(to=*@x.example)", "*(host=*.gov)",
     "crawl_parallel(host=*.gov)", "X_GET", "mcp__composio__*", "*(to=*)", "Bash(*)"]
)  # fmt: skip
_MODES = st.sampled_from(["default", "acceptEdits", "plan", "bypassPermissions"])


@given(_CALLS, st.lists(st.tuples(st.sampled_from(["deny", "ask"]), _RULES), max_size=3), _RULES, _MODES)
def test_no_allow_rule_and_no_mode_weakens_what_is_denied_or_asked(
    call: tuple[str, dict[str, Any]], strict: list[tuple[Effect, str]], allowed: str, mode: str
) -> None:
    rules = tuple(Rule(*each) for each in strict)
    named = [rule for rule in rules if rule.effect == "deny"]
    alone = PermissionPolicy(HERE, rules=named, mode="default").judge(*call)
    with_allow = PermissionPolicy(HERE, rules=(Rule("allow", allowed), *rules), mode=mode).judge(*call)
    if alone.rule is not None:
        assert with_allow.verdict == "deny"
    elif PermissionPolicy(HERE, rules=rules, mode="default").judge(*call).rule in rules:
        assert with_allow.verdict != "allow"


@given(_CALLS)
def test_what_is_proposed_allows_the_call_and_no_bare_outbound_name(call: tuple[str, dict[str, Any]]) -> None:
    action = Action(*call)
    for text in proposal([action], PermissionPolicy(HERE)):
        assert Rule("allow", text, "everywhere").matches(action, HERE)
        assert rules_problem([text], [action], HERE) is None


def test_proposals_are_narrow() -> None:
    def proposed(tool: str, **arguments: Any) -> tuple[str, ...]:
        return proposal([Action(tool, arguments)], PermissionPolicy(HERE))

    assert proposed("Bash", command="ls -l") == ("Bash(ls -l)",)
    for command in ("ls; id", "rm *", "git push"):
        assert proposed("Bash", command=command) == ()
    push = [Action("Bash", {"command": "git push"})]
    assert "No rule covers this command" in (rules_problem(["Bash(git push:*)"], push, HERE) or "")
    assert proposed("Read", file_path="/etc/hosts") == ("Read(/etc/hosts)",)
    assert proposed("Read", file_path="../x") == ("Read(/work/x)",)
    assert proposed("Grep", pattern="x", path="/etc") == ("Grep(/etc)",)
    assert proposed(SEND, recipient_email="a@b.example", body="x") == (
        "GMAIL_SEND_EMAIL(recipient_email=a@b.example)",
    )
    assert proposed(SEND, to=["a@b.example", "c@d.example"]) == (
        "GMAIL_SEND_EMAIL(to=a@b.example|c@d.example)",
    )
    assert proposed(SEND, body="x") == ()
    assert proposed(CRAWL, urls=["https://a.gov/1", "https://b.gov/2"]) == (
        "crawl_parallel(host=a.gov|b.gov)",
    )
    assert proposed("mcp__notes__list", limit=3) == ("list()",)
    assert proposed("mcp__composio__X_CREATE", channel="#a, b") == ('X_CREATE(channel="#a, b")',)


def test_the_option_that_a_denial_names() -> None:
    for tool, arguments, option in CASES["the_option_that_a_denial_names"]:
        found = advice([Action(tool, arguments)], PermissionPolicy(HERE))
        wanted = [] if option is None else [f"to allow it, start with --allow {shlex.quote(option)}"]
        assert found == wanted


def test_what_a_dialog_accepts_for_a_tool_that_acts_outside() -> None:
    for text, problem in CASES["what_a_dialog_accepts_for_a_tool_that_acts_outside"]:
        found = rules_problem([text], [Action(SEND, {"to": "a@b.example", "subject": "Hi"})], HERE)
        assert found is None if problem is None else problem in (found or "")


def test_a_long_text_is_compared_at_once() -> None:
    long = Action("Bash", {"command": f"git diff {'{' * 300_000}"})
    assert rule_for([Rule("allow", "Bash(git diff:*)")], "allow", long, HERE) is None
    data = Action("mcp__notes__send", {"url": "https://a.gov/", "attachment": "QUFB" * 100_000})
    rule = Rule("allow", "send(host=*.gov)")
    assert rule_for([rule], "allow", data, HERE) == rule
