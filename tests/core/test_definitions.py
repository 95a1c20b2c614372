from __future__ import annotations

import pytest

from core.agent.definitions import read_prompt, read_subagent, shipped_subagents
from core.agent.permissions import PermissionPolicy, Verdict
from core.errors import SettingsError

VALUES = {"today": "Friday", "workspace": "/ws", "tools": "- none"}


def test_the_shipped_prompts_are_whole_and_filled() -> None:
    text = read_prompt("system", VALUES)
    assert "Friday" in text
    assert "/ws" in text
    assert "{" not in text
    expert = next(d for d in shipped_subagents(VALUES) if d.name == "report-creation-expert")
    assert "save_corpus" in expert.prompt
    assert "{workspace}" not in expert.prompt


def test_every_tool_a_shipped_subagent_names_is_a_contained_one(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    policy = PermissionPolicy(workspace=tmp_path_factory.mktemp("ws"))
    for definition in shipped_subagents(VALUES):
        for tool in definition.tools:
            assert policy.judge(tool, {}).verdict is Verdict.ALLOW, tool


def test_a_definition_takes_tools_as_a_list_or_a_line() -> None:
    listed = read_subagent(
        "---\nname: a\ndescription: b\ntools: [X, Y]\n---\nGo to {workspace}.", VALUES, origin="a.md"
    )
    line = read_subagent(
        "---\nname: a\ndescription: b\ntools: X, Y\nmodel: haiku\n---\n", VALUES, origin="a.md"
    )
    assert listed.tools == line.tools == ("X", "Y")
    assert listed.prompt == "Go to /ws.\n"
    assert (listed.model, line.model) == ("inherit", "haiku")


@pytest.mark.parametrize(
    "text",
    ["no front matter", "---\nname: a\n---\nx", "---\nname: [\n---\n", "---\n- a\n---\n", "---\nname: a"],
)
def test_a_broken_definition_names_its_file(text: str) -> None:
    with pytest.raises(SettingsError, match=r"broken\.md"):
        read_subagent(text, VALUES, origin="broken.md")
