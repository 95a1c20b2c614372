from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest

from core.agent.permissions.actions import Action, actions_of, is_outbound, server_of, subjects_of
from core.agent.permissions.policy import PermissionPolicy, Verdict, is_search
from core.agent.permissions.proposals import exact_pattern, proposal, rules_problem, split_rules
from core.agent.permissions.rule_set import RuleSet
from core.agent.permissions.rules import Effect, Rule

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


def test_tools_of_the_toolkit_and_the_web_reader_run_on_their_own_servers(tmp_path: Path) -> None:
    names = ("crawl_parallel", "save_corpus", "write_local_file", "list_directory", "knowledge_search")
    for name in names:
        assert policy(tmp_path).judge(f"mcp__local_toolkit__{name}", {}).verdict is Verdict.ALLOW
    assert policy(tmp_path).judge("mcp__elsewhere__write_local_file", {}).verdict is Verdict.ASK
    page = {"url": "https://papers.example/1"}
    for mode, others in (("default", Verdict.ASK), ("plan", Verdict.DENY)):
        rules = PermissionPolicy(workspace=tmp_path, mode=mode)
        assert rules.judge("mcp__web_reader__webReader", page).verdict is Verdict.ALLOW
        assert rules.judge("mcp__elsewhere__webReader", page).verdict is others
        assert rules.judge("mcp__web_reader__something_else", page).verdict is others


@pytest.mark.parametrize("mode", ["default", "plan"])
def test_a_resource_is_read_by_the_rules_of_its_server(tmp_path: Path, mode: str) -> None:
    def judged(rule: str, server: object, effect: Effect = "allow") -> Verdict:
        rules = (Rule(effect, rule), Rule("allow", "mcp__tickets__*"))
        given = {"server": server, "uri": "notes://day/1"}
        return PermissionPolicy(tmp_path, rules, mode=mode).judge("ReadMcpResourceTool", given).verdict

    assert judged("mcp__notes__*", "notes") is Verdict.ALLOW
    assert judged("ReadMcpResourceTool(uri=notes://day/*)", "notes") is Verdict.ALLOW
    assert judged("mcp__notes__*", "chat") is judged("mcp__notes__*", ["notes"]) is Verdict.ASK
    assert judged("mcp__*", "composio__COMPOSIO_SEARCH_NEWS", "deny") is Verdict.ASK
    assert judged("mcp__tickets__*", "tickets", "deny") is Verdict.DENY
    assert judged("ReadMcpResourceTool", "tickets", "deny") is Verdict.DENY
    listed = PermissionPolicy(tmp_path, mode=mode).judge("ListMcpResourcesTool", {})
    assert listed.verdict is Verdict.ALLOW


def test_the_rule_that_is_proposed_for_a_resource_names_it(tmp_path: Path) -> None:
    actions = actions_of("ReadMcpResourceTool", {"server": "notes", "uri": "notes://day/1"})
    assert proposal(actions, tmp_path) == ("ReadMcpResourceTool(uri=notes://day/1)",)
    assert rules_problem(("ReadMcpResourceTool(uri=notes://day/*)",), actions, tmp_path) is None


def test_searches_run_alone_and_inside_the_wrapper(tmp_path: Path) -> None:
    rules = policy(tmp_path)
    assert rules.judge("mcp__composio__COMPOSIO_SEARCH_NEWS", {}).verdict is Verdict.ALLOW
    judged = rules.judge(MULTI, multi("COMPOSIO_SEARCH_NEWS", "TAVILY_SEARCH"))
    assert judged.verdict is Verdict.ALLOW
    assert judged.subjects == ("COMPOSIO_SEARCH_NEWS", "TAVILY_SEARCH")
    # One outbound tool inside asks for all.
    judged = rules.judge(MULTI, multi("COMPOSIO_SEARCH_NEWS", "GMAIL_SEND_EMAIL"))
    assert judged.verdict is Verdict.ASK
    assert "outside" in judged.reason


def test_the_name_of_a_search_on_another_server_asks(tmp_path: Path) -> None:
    for tool in ("TAVILY_SEARCH", "you_search_and_run", "COMPOSIO_MANAGE_CONNECTIONS", "MULTI_EXECUTE"):
        judged = policy(tmp_path).judge(f"mcp__notes__{tool}", multi("COMPOSIO_SEARCH_NEWS"))
        assert judged.verdict is Verdict.ASK, tool


def test_a_pattern_on_the_wrapper_lets_nothing_through(tmp_path: Path) -> None:
    rules = policy(tmp_path, MULTI, "COMPOSIO_MULTI_EXECUTE_TOOL", "mcp__composio__*")
    assert rules.judge(MULTI, multi("GMAIL_SEND_EMAIL")).verdict is Verdict.ASK
    named = policy(tmp_path, "GMAIL_SEND_*")
    assert named.judge(MULTI, multi("GMAIL_SEND_EMAIL")).verdict is Verdict.ALLOW
    assert named.judge(MULTI, multi("GMAIL_SEND_EMAIL", "SLACK_SEND_MESSAGE")).verdict is Verdict.ASK


def test_reading_is_free_only_inside_the_workspace(tmp_path: Path) -> None:
    rules = policy(tmp_path)
    (tmp_path / "link").symlink_to("/etc")
    assert rules.judge("Read", {"file_path": str(tmp_path / "a.txt")}).verdict is Verdict.ALLOW
    assert rules.judge("Grep", {"pattern": "x"}).verdict is Verdict.ALLOW
    for path in ("/etc/passwd", "../other", str(tmp_path / "link" / "passwd"), f"{tmp_path}_evil/x"):
        assert rules.judge("Read", {"file_path": path}).verdict is Verdict.ASK, path
    assert rules.judge("Glob", {"pattern": "/etc/*"}).verdict is Verdict.ASK
    assert rules.judge("Glob", {"pattern": "../*"}).verdict is Verdict.ASK


def test_everything_else_asks(tmp_path: Path) -> None:
    for tool in ("Bash", "Write", "Edit", "WebFetch", "mcp__other__anything"):
        assert policy(tmp_path).judge(tool, {"command": "ls"}).verdict is Verdict.ASK, tool


def test_a_path_the_agent_reads_differently_is_not_inside(tmp_path: Path) -> None:
    rules = policy(tmp_path)
    for path in ("~/.ssh", "~", " /etc", "/etc ", "\t../x", 3, {"a": 1}):
        for tool, name in (("Grep", "path"), ("Glob", "path"), ("Read", "file_path")):
            assert rules.judge(tool, {"pattern": "x", name: path}).verdict is Verdict.ASK, (tool, path)


def test_no_pattern_opens_a_wrapper_that_cannot_be_read(tmp_path: Path) -> None:
    hidden: list[object] = [
        None, "GMAIL", [], ["x"], [{"tool_slug": 3}], [{"arguments": {}}], '[{"tool_slug": "GMAIL_SEND_EMAIL"}]',
        [{"tool_slug": MULTI}],
    ]  # fmt: skip
    for tools in hidden:
        assert policy(tmp_path).judge(MULTI, {"tools": tools}).verdict is Verdict.ASK, tools
        open_ = policy(tmp_path, "*", "mcp__composio__*")
        assert open_.judge(MULTI, {"tools": tools}).verdict is Verdict.ASK, tools


def test_one_yes_is_never_a_yes_to_everything(tmp_path: Path) -> None:
    wrappers = ("COMPOSIO_REMOTE_BASH_TOOL", "COMPOSIO_PROXY_EXECUTE", "COMPOSIO_MULTI_EXECUTE_TOOL")
    for name in ("Bash", "Edit", "Read", *wrappers):
        rules = policy(tmp_path)
        assert remember(rules, name, [name]) is not None
        asked = rules.judge(name, {"command": "ls", "file_path": "/etc/passwd"})
        assert asked.verdict is Verdict.ASK, name


def test_modes_change_what_may_be_written(tmp_path: Path) -> None:
    plan = PermissionPolicy(workspace=tmp_path, mode="plan", rules=(Rule("allow", "*"),))
    assert plan.judge("mcp__local_toolkit__write_local_file", {"path": "a"}).verdict is Verdict.DENY
    assert plan.judge("mcp__local_toolkit__read_local_file", {"path": "a"}).verdict is Verdict.ALLOW
    edits = PermissionPolicy(workspace=tmp_path, mode="acceptEdits")
    assert edits.judge("Write", {"file_path": str(tmp_path / "a.md")}).verdict is Verdict.ALLOW
    records = ("journal.jsonl", "x/../Journal.jsonl", ".conversation/1/x")
    for other in (*records, "/etc/passwd", ".git/hooks/pre-commit", "CLAUDE.md"):
        assert edits.judge("Write", {"file_path": other}).verdict is Verdict.ASK, other
    assert edits.judge("Bash", {"command": "ls"}).verdict is Verdict.ASK


def test_a_pattern_of_the_session_holds_for_its_server_and_not_for_what_acts_outside(tmp_path: Path) -> None:
    rules = policy(tmp_path)
    assert remember(rules, MULTI, ["GMAIL_SEND_EMAIL"]) is not None
    assert rules.judge(MULTI, multi("GMAIL_SEND_EMAIL")).verdict is Verdict.ASK
    assert remember(rules, MULTI, ["NOTION_GET_PAGE"], ["NOTION_*"]) is None
    assert rules.judge(MULTI, multi("NOTION_GET_PAGE", "NOTION_LIST_USERS")).verdict is Verdict.ALLOW
    assert rules.judge("mcp__composio__NOTION_LIST_USERS", {}).verdict is Verdict.ALLOW
    assert rules.judge("mcp__elsewhere__NOTION_LIST_USERS", {}).verdict is Verdict.ASK
    assert rules.judge("NOTION_LIST_USERS", {}).verdict is Verdict.ASK
    for slug in ("NOTION_CREATE_PAGE", "NOTION_PROXY_EXECUTE", "NOTION_REMOTE_BASH", "SLACK_LIST"):
        assert rules.judge(MULTI, multi("NOTION_GET_PAGE", slug)).verdict is Verdict.ASK, slug


def test_a_pattern_that_says_too_much_or_not_what_was_asked_is_not_taken(tmp_path: Path) -> None:
    for pattern in ("*", "N*", "?OTION_*", "[N]OTION_*", "NOTION*", "NOTION_LIST_*", "* NOTION_GET_PAGE"):
        rules = policy(tmp_path)
        assert remember(rules, MULTI, ["NOTION_GET_PAGE"], pattern.split()) is not None
        assert rules.judge(MULTI, multi("NOTION_GET_PAGE")).verdict is Verdict.ASK, pattern


def test_a_tool_whose_name_looks_like_a_pattern_is_no_pattern(tmp_path: Path) -> None:
    rules = policy(tmp_path)
    remember(rules, MULTI, ["NOTION_*"])
    assert rules.judge(MULTI, multi("NOTION_*")).verdict is Verdict.ALLOW
    assert rules.judge(MULTI, multi("NOTION_GET_PAGE")).verdict is Verdict.ASK


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


def test_plan_mode_runs_only_what_reads_whatever_is_allowed(tmp_path: Path) -> None:
    for tool, arguments, verdict in (
        ("mcp__local_toolkit__write_local_file", {"path": "a"}, Verdict.DENY),
        ("mcp__local_toolkit__crawl_parallel", {"urls": []}, Verdict.DENY),
        ("mcp__local_toolkit__read_local_file", {"path": "a"}, Verdict.ALLOW),
        ("mcp__local_toolkit__knowledge_search", {"query": "x"}, Verdict.ALLOW),
        ("mcp__elsewhere__knowledge_search", {"query": "x"}, Verdict.DENY),
        ("Write", {"file_path": "a"}, Verdict.DENY),
        ("Bash", {"command": "ls"}, Verdict.DENY),
        ("Read", {"file_path": "a"}, Verdict.ALLOW),
        ("Read", {"file_path": "/etc/passwd"}, Verdict.ASK),
        ("WebFetch", {"url": "https://a.example"}, Verdict.ASK),
        ("WebSearch", {"query": "x"}, Verdict.ALLOW),
        ("Agent", {"prompt": "x"}, Verdict.ALLOW),
        ("mcp__composio__COMPOSIO_SEARCH_NEWS", {}, Verdict.ALLOW),
        ("mcp__composio__COMPOSIO_MANAGE_CONNECTIONS", {}, Verdict.DENY),
        ("mcp__composio__GMAIL_SEND_EMAIL", {}, Verdict.DENY),
        ("mcp__composio__NOTION_GET_PAGE", {}, Verdict.DENY),
        (MULTI, multi("COMPOSIO_SEARCH_NEWS", "TAVILY_SEARCH"), Verdict.ALLOW),
        (MULTI, multi("COMPOSIO_SEARCH_NEWS", "GMAIL_SEND_EMAIL"), Verdict.DENY),
        (MULTI, {"tools": "hidden"}, Verdict.DENY),
        ("mcp__notes__read_note", {}, Verdict.DENY),
        ("ExitPlanMode", {}, Verdict.ASK),
    ):  # fmt: skip
        rules = (Rule("allow", "mcp__*"), Rule("allow", "Bash"), Rule("allow", "GMAIL_*"))
        judged = PermissionPolicy(workspace=tmp_path, mode="plan", rules=rules).judge(tool, arguments)
        assert judged.verdict is verdict, tool


def test_a_rule_that_denies_or_asks_holds_in_every_mode(tmp_path: Path) -> None:
    modes = ("default", "acceptEdits", "bypassPermissions")
    effects: tuple[tuple[Effect, Verdict], ...] = (("deny", Verdict.DENY), ("ask", Verdict.ASK))
    for mode, (effect, verdict) in (*product(modes, effects), ("plan", effects[0])):
        rules = (Rule("allow", "*"), Rule("ask", "COMPOSIO_*"), Rule(effect, "GMAIL_SEND_*"))
        judged = PermissionPolicy(workspace=tmp_path, mode=mode, rules=rules).judge(
            MULTI, multi("NOTION_GET_PAGE", "GMAIL_SEND_EMAIL")
        )
        assert (judged.verdict, judged.rule) == (verdict, rules[2]), mode
    # A rule that denies comes before one that asks.
    both = (Rule("ask", "Bash"), Rule("deny", "Bash"))
    assert PermissionPolicy(workspace=tmp_path, rules=both).judge("Bash", {}).verdict is Verdict.DENY


def test_taint_asks_about_each_action_with_its_own_arguments(tmp_path: Path) -> None:
    seen: list[tuple[str, object]] = []

    def taint(action: Action, /) -> str | None:
        seen.append((action.tool, action.arguments))
        return "it sends what it read" if action.name == "GMAIL_SEND_EMAIL" else None

    rules = PermissionPolicy(workspace=tmp_path, taint=taint, rules=(Rule("allow", "GMAIL_*"),))
    judged = rules.judge(MULTI, multi("COMPOSIO_SEARCH_NEWS", "GMAIL_SEND_EMAIL"))
    assert (judged.verdict, judged.reason) == (Verdict.ASK, "it sends what it read")
    assert seen == [("mcp__composio__COMPOSIO_SEARCH_NEWS", {}), ("mcp__composio__GMAIL_SEND_EMAIL", {})]
    rules.mode = "bypassPermissions"
    assert rules.judge(MULTI, multi("GMAIL_SEND_EMAIL")).verdict is Verdict.ALLOW


def test_files_of_the_machine_are_not_for_others_to_allow(tmp_path: Path) -> None:
    for tool, given in (
        ("Read", {"file_path": "/etc/passwd"}),
        ("Read", {"file_path": "~/.pgpass"}),
        ("Read", {"file_path": "../other/journal.jsonl"}),
        ("Glob", {"pattern": "/etc/*"}),
        ("Grep", {"pattern": "x", "path": "/etc"}),
        ("Write", {"file_path": "/tmp/x", "content": ""}),
        ("Edit", {"file_path": "~/.profile"}),
    ):  # fmt: skip
        rules = RuleSet([Rule("allow", f"{tool}(/**)"), Rule("allow", tool)])
        own = (Rule("allow", "Read(/data/**)"),)
        confined = PermissionPolicy(workspace=tmp_path, rules=rules, elsewhere=own)
        assert confined.judge(tool, given).verdict is Verdict.DENY
        assert (
            PermissionPolicy(workspace=tmp_path, rules=rules).judge(tool, given).verdict is not Verdict.DENY
        )
        assert confined.judge("Read", {"file_path": "/data/a"}).verdict is not Verdict.DENY
        assert confined.judge("Read", {"file_path": "notes.md"}).verdict is Verdict.ALLOW
        skipping = PermissionPolicy(workspace=tmp_path, elsewhere=(), mode="bypassPermissions")
        assert skipping.judge(tool, given).verdict is Verdict.ALLOW
