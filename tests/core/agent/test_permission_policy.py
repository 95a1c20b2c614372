from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest

from tests.core.cases import cases_of
from ua_tui.core.agent.permissions.actions import Action, actions_of, is_outbound, server_of, subjects_of
from ua_tui.core.agent.permissions.policy import PermissionPolicy, is_search
from ua_tui.core.agent.permissions.proposals import exact_pattern, proposal, rules_problem, split_rules
from ua_tui.core.agent.permissions.rule_set import RuleSet
from ua_tui.core.agent.permissions.rules import Effect, Rule

CASES = cases_of(__file__)

MULTI = "mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL"


def policy(tmp_path: Path, *allow: str) -> PermissionPolicy:
    return PermissionPolicy(workspace=tmp_path, rules=RuleSet(Rule("allow", text) for text in allow))


def remember(
    policy: PermissionPolicy, tool: str, subjects: list[str], patterns: Sequence[str] = ()
) -> str | None:
    """Allow tools of the server of `tool` for the session, as an answer in a dialog does."""
    assert isinstance(policy.rules, RuleSet)
    server = server_of(tool)
    actions = [Action(f"mcp__{server}__{name}" if server else name, {}) for name in subjects]
    written = patterns or [exact_pattern(name) for name in subjects]
    return policy.rules.remember(actions, "session", written, policy.workspace)


def multi(*slugs: str) -> dict[str, object]:
    return {"tools": [{"tool_slug": slug, "arguments": {}} for slug in slugs]}


@pytest.mark.parametrize("what", CASES["judged"])
def test_a_call_is_judged_by_the_mode_the_rules_and_its_arguments(tmp_path: Path, what: str) -> None:
    (tmp_path / "link").symlink_to("/etc")
    case = json.loads(json.dumps(CASES["judged"][what]).replace("{workspace}", str(tmp_path)))
    rules = PermissionPolicy(tmp_path, tuple(Rule(*each) for each in case["rules"]), mode=case["mode"])
    for tool, given, verdict in case["calls"]:
        assert rules.judge(tool, given).verdict == verdict, (tool, given)


def test_a_wrapper_is_judged_by_what_it_runs(tmp_path: Path) -> None:
    judged = policy(tmp_path).judge(MULTI, multi("COMPOSIO_SEARCH_NEWS", "TAVILY_SEARCH"))
    assert judged.subjects == ("COMPOSIO_SEARCH_NEWS", "TAVILY_SEARCH")
    assert "outside" in policy(tmp_path).judge(MULTI, multi("GMAIL_SEND_EMAIL")).reason


def test_the_rule_that_is_proposed_for_a_resource_names_it(tmp_path: Path) -> None:
    actions = actions_of("ReadMcpResourceTool", {"server": "notes", "uri": "notes://day/1"})
    assert proposal(actions, policy(tmp_path)) == ("ReadMcpResourceTool(uri=notes://day/1)",)
    assert rules_problem(("ReadMcpResourceTool(uri=notes://day/*)",), actions, tmp_path) is None


def test_one_yes_is_never_a_yes_to_everything(tmp_path: Path) -> None:
    wrappers = ("COMPOSIO_REMOTE_BASH_TOOL", "COMPOSIO_PROXY_EXECUTE", "COMPOSIO_MULTI_EXECUTE_TOOL")
    for name in ("Bash", "Edit", "Read", *wrappers):
        rules = policy(tmp_path)
        assert remember(rules, name, [name]) is not None
        asked = rules.judge(name, {"command": "ls", "file_path": "/etc/passwd"})
        assert asked.verdict == "ask", name


def test_a_pattern_of_the_session_holds_for_its_server_and_not_for_what_acts_outside(tmp_path: Path) -> None:
    rules = policy(tmp_path)
    assert remember(rules, MULTI, ["GMAIL_SEND_EMAIL"]) is not None
    assert rules.judge(MULTI, multi("GMAIL_SEND_EMAIL")).verdict == "ask"
    assert remember(rules, MULTI, ["NOTION_GET_PAGE"], ["NOTION_*"]) is None
    assert rules.judge(MULTI, multi("NOTION_GET_PAGE", "NOTION_LIST_USERS")).verdict == "allow"
    assert rules.judge("mcp__composio__NOTION_LIST_USERS", {}).verdict == "allow"
    assert rules.judge("mcp__elsewhere__NOTION_LIST_USERS", {}).verdict == "ask"
    assert rules.judge("NOTION_LIST_USERS", {}).verdict == "ask"
    for slug in ("NOTION_CREATE_PAGE", "NOTION_PROXY_EXECUTE", "NOTION_REMOTE_BASH", "SLACK_LIST"):
        assert rules.judge(MULTI, multi("NOTION_GET_PAGE", slug)).verdict == "ask", slug


def test_a_pattern_that_says_too_much_or_only_looks_like_one_is_not_taken(tmp_path: Path) -> None:
    for pattern in ("*", "N*", "?OTION_*", "[N]OTION_*", "NOTION*", "NOTION_LIST_*", "* NOTION_GET_PAGE"):
        rules = policy(tmp_path)
        assert remember(rules, MULTI, ["NOTION_GET_PAGE"], pattern.split()) is not None
        assert rules.judge(MULTI, multi("NOTION_GET_PAGE")).verdict == "ask", pattern
    rules = policy(tmp_path)
    remember(rules, MULTI, ["NOTION_*"])
    assert rules.judge(MULTI, multi("NOTION_*")).verdict == "allow"
    assert rules.judge(MULTI, multi("NOTION_GET_PAGE")).verdict == "ask"


def test_patterns_are_written_in_one_line() -> None:
    assert split_rules(" A_*, B_C\tA_* ") == ("A_*", "B_C")
    assert split_rules("A(to=x, cc=y) Bash(git diff:*)") == ("A(to=x, cc=y)", "Bash(git diff:*)")
    assert rules_problem((), [Action("mcp__a__A_B", {})], Path()) is not None


def test_words_decide_what_is_outbound_and_what_is_search() -> None:
    assert is_outbound("GMAIL_SEND_EMAIL")
    assert is_outbound("NOTION_CREATE_PAGE")
    assert not is_outbound("COMPOSIO_SEARCH_SENDERS")
    assert is_search("SERPAPI_GOOGLE_SEARCH")
    assert not is_search("GMAIL_SEARCH_PEOPLE")
    assert not is_search("EXA_CREATE_WEBSET")
    assert subjects_of("mcp__a__B", {}) == ("B",)


def test_a_rule_that_denies_or_asks_holds_in_every_mode(tmp_path: Path) -> None:
    modes = ("default", "acceptEdits", "bypassPermissions")
    effects: tuple[Effect, ...] = ("deny", "ask")
    for mode, effect in (*product(modes, effects), ("plan", effects[0])):
        rules = (Rule("allow", "*"), Rule("ask", "COMPOSIO_*"), Rule(effect, "GMAIL_SEND_*"))
        judged = PermissionPolicy(workspace=tmp_path, mode=mode, rules=rules).judge(
            MULTI, multi("NOTION_GET_PAGE", "GMAIL_SEND_EMAIL")
        )
        assert (judged.verdict, judged.rule) == (effect, rules[2]), mode
    # A rule that denies comes before one that asks.
    both = (Rule("ask", "Bash"), Rule("deny", "Bash"))
    assert PermissionPolicy(workspace=tmp_path, rules=both).judge("Bash", {}).verdict == "deny"


def test_taint_asks_about_each_action_with_its_own_arguments(tmp_path: Path) -> None:
    seen: list[tuple[str, object]] = []

    def taint(action: Action, /) -> str | None:
        seen.append((action.tool, action.arguments))
        return "it sends what it read" if action.name == "GMAIL_SEND_EMAIL" else None

    rules = PermissionPolicy(workspace=tmp_path, taint=taint, rules=(Rule("allow", "GMAIL_*"),))
    judged = rules.judge(MULTI, multi("COMPOSIO_SEARCH_NEWS", "GMAIL_SEND_EMAIL"))
    assert (judged.verdict, judged.reason) == ("ask", "it sends what it read")
    assert seen == [("mcp__composio__COMPOSIO_SEARCH_NEWS", {}), ("mcp__composio__GMAIL_SEND_EMAIL", {})]
    rules.mode = "bypassPermissions"
    assert rules.judge(MULTI, multi("GMAIL_SEND_EMAIL")).verdict == "allow"


def test_files_of_the_machine_are_not_for_others_to_allow(tmp_path: Path) -> None:
    for tool, given in CASES["files_of_the_machine_are_not_for_others_to_allow"]:
        rules = RuleSet([Rule("allow", f"{tool}(/**)"), Rule("allow", tool)])
        own = (Rule("allow", "Read(/data/**)"),)
        confined = PermissionPolicy(workspace=tmp_path, rules=rules, elsewhere=own)
        assert confined.judge(tool, given).verdict == "deny"
        assert PermissionPolicy(workspace=tmp_path, rules=rules).judge(tool, given).verdict != "deny"
        assert confined.judge("Read", {"file_path": "/data/a"}).verdict != "deny"
        assert confined.judge("Read", {"file_path": "notes.md"}).verdict == "allow"
        skipping = PermissionPolicy(workspace=tmp_path, elsewhere=(), mode="bypassPermissions")
        assert skipping.judge(tool, given).verdict == "allow"


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions"])
def test_what_was_done_before_the_fork_asks_in_every_mode_and_under_rules_that_allow_it(
    tmp_path: Path, mode: str
) -> None:
    allowing = policy(tmp_path, "GMAIL_SEND_EMAIL")
    allowing.mode = mode
    allowing.repeats = lambda action: "done already" if action.arguments == {"to": "ann"} else None
    mail = "mcp__composio__GMAIL_SEND_EMAIL"
    verdicts = [allowing.judge(mail, {"to": to}).verdict for to in ("ann", "bob")]
    assert verdicts == ["ask", "allow"]
