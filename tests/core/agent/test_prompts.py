from __future__ import annotations

from datetime import UTC, datetime

import pytest

from core.agent.definitions.prompts import fill_prompt, read_prompt, read_subagent, shipped_subagents
from core.agent.options import write_briefing
from core.agent.permissions.policy import PermissionPolicy, Verdict
from core.errors import SettingsError

VALUES = {"today": "Friday", "workspace": "/ws", "tools": "- none", "knowledge": ""}


def test_the_shipped_prompts_are_whole_and_filled() -> None:
    text = read_prompt("system", VALUES)
    assert "Friday" in text
    assert "/ws" in text
    assert "{" not in text
    expert = next(d for d in shipped_subagents() if d.name == "report-creation-expert")
    expert = fill_prompt(expert, VALUES)
    assert "save_corpus" in expert.prompt
    assert "{workspace}" not in expert.prompt


def test_no_tool_of_a_shipped_subagent_is_refused_and_those_that_act_outside_are_asked_about(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    policy = PermissionPolicy(workspace=tmp_path_factory.mktemp("ws"))
    asked = set()
    for definition in shipped_subagents():
        assert definition.tools
        for tool in definition.tools:
            verdict = policy.judge(tool, {}).verdict
            assert verdict is not Verdict.DENY, tool
            if verdict is Verdict.ASK:
                asked.add(tool.removeprefix("mcp__composio__"))
    assert {
        "COMPOSIO_MULTI_EXECUTE_TOOL",
        "COMPOSIO_REMOTE_WORKBENCH",
        "COMPOSIO_REMOTE_BASH_TOOL",
    } <= asked


def test_the_shipped_subagents_are_of_a_sane_size_and_filled() -> None:
    shipped = {each.name: fill_prompt(each, VALUES) for each in shipped_subagents()}
    assert set(shipped) == {"data-analyst", "email-writer", "report-creation-expert"}
    for each in shipped.values():
        assert len(each.description) < 400, each.name
        assert len(each.prompt) < 3_500, each.name
        assert "{" not in each.prompt, each.name


def test_a_mail_must_be_saved_and_a_chart_fetched() -> None:
    (draft,) = [rule for each in shipped_subagents() for rule in each.rules if rule.agent == "email-writer"]
    assert draft.holds("email-writer", "Tell Ann that the meeting moves")
    (chart,) = [rule for each in shipped_subagents() for rule in each.rules if rule.agent == "data-analyst"]
    assert chart.holds("data-analyst", "Draw a chart of revenue")
    assert not chart.holds("data-analyst", "How many rows are there?")


def test_a_definition_takes_tools_as_a_list_or_a_line() -> None:
    listed = read_subagent(
        "---\nname: a\ndescription: b\ntools: [X, Y]\n---\nGo to {workspace}.", origin="a.md"
    )
    line = read_subagent("---\nname: a\ndescription: b\ntools: X, Y\nmodel: haiku\n---\n", origin="a.md")
    assert listed.tools == line.tools == ("X", "Y")
    assert fill_prompt(listed, VALUES).prompt == "Go to /ws.\n"
    assert (listed.model, line.model) == ("inherit", "haiku")


@pytest.mark.parametrize(
    "text",
    ["no front matter", "---\nname: a\n---\nx", "---\nname: [\n---\n", "---\n- a\n---\n", "---\nname: a"],
)
def test_a_broken_definition_names_its_file(text: str) -> None:
    with pytest.raises(SettingsError, match=r"broken\.md"):
        read_subagent(text, origin="broken.md")


@pytest.mark.parametrize("knowledge", [True, False])
def test_the_prompt_says_when_to_ask_the_knowledge_base_if_there_is_one(
    tmp_path_factory: pytest.TempPathFactory, *, knowledge: bool
) -> None:
    workspace = tmp_path_factory.mktemp("ws")
    now = datetime(2026, 11, 23, tzinfo=UTC)
    prompt = write_briefing(workspace, now, {"local_toolkit": "files"}, knowledge=knowledge).system_prompt
    assert prompt.count("knowledge_search") == knowledge
    assert "{" not in prompt
    assert "- `local_toolkit`: files\n- " in prompt
