from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from ua_tui.core.agent.definitions.subagents import fill_prompt, read_subagent, shipped_subagents
from ua_tui.core.agent.options import write_briefing
from ua_tui.core.agent.permissions.policy import PermissionPolicy
from ua_tui.core.errors import SettingsError

VALUES = {"today": "Friday", "workspace": "/ws", "tools": "- none", "knowledge": ""}


def test_no_tool_of_a_shipped_subagent_is_denied_and_what_acts_outside_is_asked_about(tmp_path: Path) -> None:
    policy = PermissionPolicy(workspace=tmp_path)
    asked = set()
    for definition in shipped_subagents():
        assert definition.tools
        for tool in definition.tools:
            verdict = policy.judge(tool, {}).verdict
            assert verdict != "deny", tool
            if verdict == "ask":
                asked.add(tool.removeprefix("mcp__composio__"))
    assert {
        "COMPOSIO_MULTI_EXECUTE_TOOL", "COMPOSIO_REMOTE_WORKBENCH", "COMPOSIO_REMOTE_BASH_TOOL",
    } <= asked  # fmt: skip


def test_shipped_subagents_are_of_a_sane_size_filled_and_have_their_rules() -> None:
    shipped = {each.name: fill_prompt(each, VALUES) for each in shipped_subagents()}
    assert set(shipped) == {"data-analyst", "email-writer", "report-creation-expert"}
    for each in shipped.values():
        assert len(each.description) < 400, each.name
        assert len(each.prompt) < 3_500, each.name
        assert "{" not in each.prompt, each.name
    tools = {each.name: {tool.rpartition("__")[2] for tool in each.tools or ()} for each in shipped.values()}
    assert {
        "crawl_parallel", "save_corpus", "write_local_file", "workbench_download", "workbench_upload",
    } <= tools["report-creation-expert"]  # fmt: skip
    assert "workbench_upload" in tools["email-writer"]
    (draft,) = [rule for each in shipped_subagents() for rule in each.rules if rule.agent == "email-writer"]
    assert draft.holds("email-writer", "Tell Ann that the meeting moves")
    (chart,) = [rule for each in shipped_subagents() for rule in each.rules if rule.agent == "data-analyst"]
    assert chart.holds("data-analyst", "Draw a chart of revenue")
    assert not chart.holds("data-analyst", "How many rows are there?")


def test_a_definition_takes_tools_as_a_list_or_a_line_and_a_broken_one_names_its_file() -> None:
    head = "---\nname: a\ndescription: b\n"
    listed = read_subagent(f"{head}tools: [X, Y]\n---\nGo to {{workspace}}.", origin="a.md")
    line = read_subagent(f"{head}tools: X, Y\nmodel: haiku\n---\n", origin="a.md")
    assert listed.tools == line.tools == ("X", "Y")
    assert fill_prompt(listed, VALUES).prompt == "Go to /ws.\n"
    assert (listed.model, line.model) == ("inherit", "haiku")
    for text in ("no front matter", "---\nname: a\n---\nx", "---\n- a\n---\n", "---\nname: a"):
        with pytest.raises(SettingsError, match=r"broken\.md"):
            read_subagent(text, origin="broken.md")


def test_the_prompt_is_filled_and_says_when_to_ask_the_knowledge_base_if_there_is_one(tmp_path: Path) -> None:
    now = datetime(2026, 11, 23, tzinfo=UTC)
    for knowledge in (True, False):
        prompt = write_briefing(
            tmp_path, now, {"local_toolkit": "files"}, shipped_subagents(), knowledge=knowledge
        ).system_prompt
        assert prompt.count("knowledge_search") == knowledge
        assert "{" not in prompt
        assert str(tmp_path) in prompt
        assert "- `local_toolkit`: files\n- " in prompt
