from __future__ import annotations

import os
import re
from itertools import pairwise
from pathlib import Path

from tests.core.cases import cases_of
from tests.permissions import permissions_obeyed
from tests.trusted import TRUSTED
from ua_tui.core.agent.definitions.files import (
    LARGEST,
    MAX_FILES,
    DefinitionFolder,
    FoundDefinitions,
    definition_folders,
)
from ua_tui.core.agent.definitions.subagents import (
    SubagentDefinition,
    check_tools,
    find_subagents,
    read_subagent,
)
from ua_tui.core.agent.options import BASE_TOOLS
from ua_tui.core.events.types import McpServer
from ua_tui.core.settings.model import EXTRA_TOOLS

CASES = cases_of(__file__)

SERVERS = [
    McpServer(name="local_toolkit", status="connected", tool_names=["crawl_parallel", "save_corpus"]),
    McpServer(name="composio", status="off", error="there is no COMPOSIO_API_KEY"),
]


def places(base: Path) -> tuple[DefinitionFolder, ...]:
    return definition_folders(
        "agents", cwd=base / "project", home=base / "home", config_dir=base / "config", trust=TRUSTED
    )


def write(place: DefinitionFolder, file: str, text: str) -> Path:
    place.folder.mkdir(parents=True, exist_ok=True)
    (place.folder / file).write_text(text)
    return place.folder / file


def agent(name: str, description: str = "d", more: str = "") -> str:
    return f"---\nname: {name}\ndescription: {description}\n{more}---\nYou are {name}.\n"


def reported(found: FoundDefinitions[SubagentDefinition]) -> str:
    (unusable,) = found.unusable
    return unusable.problem


def test_the_project_counts_before_the_user_and_both_before_what_ships(tmp_path: Path) -> None:
    project, config, home = places(tmp_path)
    write(project, "a.md", agent("reviewer", "the project's"))
    write(home, "a.md", agent("reviewer", "the user's"))
    write(config, "b.md", agent("email-writer", "mine"))
    # Two files of one folder with one name: the second is replaced as others are.
    write(project, "b.md", agent("reviewer", "second"))
    found = find_subagents(places(tmp_path))
    by_name = {each.name: each for each in found.definitions}
    assert (by_name["reviewer"].description, by_name["reviewer"].source) == ("the project's", "project")
    assert (by_name["email-writer"].description, by_name["email-writer"].source) == ("mine", "user")
    assert by_name["report-creation-expert"].source == "shipped"
    assert {(each.name, each.source) for each in found.replaced} == {
        ("reviewer", "project"),
        ("reviewer", "user"),
        ("email-writer", "shipped"),
    }
    assert not found.unusable
    # Whoever starts at home has no project there.
    at_home = definition_folders(
        "agents", cwd=tmp_path, home=tmp_path, config_dir=tmp_path / "config", trust=TRUSTED
    )
    assert [each.source for each in at_home] == ["user", "user"]


BOMB = "a: &a [x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in pairwise("abcdefghijkl")
)
"""A few lines that stand for thousands of millions of texts."""
HUGE = "0x" + "f" * 9_000
"""A number that Python refuses to write in decimals."""


def test_a_file_that_is_wrong_is_reported_and_the_others_count(tmp_path: Path) -> None:
    for text, load_failure_events in (
        *CASES["a_file_that_is_wrong_is_reported"],
        *((agent("a", more=field), problem) for field, problem in CASES["a_field_that_is_wrong_is_reported"]),
        (agent("a", more=f"model: {HUGE}\n"), "Expected `str`"),
        (agent("a", more=f"compliance:\n  - ? {HUGE}\n    : x\n"), "compliance of "),
        (agent("a", more=BOMB), "has a [*] before a name"),
        (agent("a", more=f"deep: {'[' * 1000}\n"), "is not valid YAML"),
        ("---\nname: a\ndescription: " + "b" * 6_000 + "\n---\n", "length <= 5000"),
        (agent("a") + "x" * LARGEST, "larger than 128 KiB"),
        (agent("a") + "x" * 110_000, "has more than 100,000 characters"),
    ):  # fmt: skip
        project, *_ = places(tmp_path)
        path = write(project, "wrong.md", text)
        write(project, "right.md", agent("right"))
        found = find_subagents(places(tmp_path), any_model=False)
        assert "right" in {each.name for each in found.definitions}
        assert "a" not in {each.name for each in found.definitions}
        assert str(path) in reported(found)
        assert re.search(load_failure_events, reported(found)), reported(found)
        assert "\n" not in reported(found)


def test_what_is_no_plain_file_of_the_project_is_not_read(tmp_path: Path) -> None:
    project, _, home = places(tmp_path)
    secret = tmp_path / "secret.md"
    secret.write_text(agent("stolen", "canary-0123"))
    project.folder.mkdir(parents=True)
    (project.folder / "link.md").symlink_to(secret)
    os.mkfifo(project.folder / "pipe.md")
    (project.folder / "folder.md").mkdir()
    (project.folder / "latin.md").write_bytes(b"---\nname: \xff\n---\n")
    home.folder.mkdir(parents=True)
    # One's own folder may well be links to where one keeps such files.
    (home.folder / "kept.md").symlink_to(secret)
    found = find_subagents(places(tmp_path))
    problems = {Path(each.origin).name: each.problem for each in found.unusable}
    assert set(problems) == {"link.md", "pipe.md", "folder.md", "latin.md"}
    assert "leads out of its folder" in problems["link.md"]
    assert "is not a regular file" in problems["pipe.md"]
    assert "is not a regular file" in problems["folder.md"]
    assert "not UTF-8" in problems["latin.md"]
    assert "canary" not in "".join(problems.values())
    assert next(each for each in found.definitions if each.name == "stolen").source == "user"


def test_a_folder_that_is_full_or_closed_is_reported(tmp_path: Path) -> None:
    project, config, _ = places(tmp_path)
    for number in range(MAX_FILES + 2):
        write(project, f"{number:03}.md", agent(f"a{number}"))
    found = find_subagents([project])
    assert "more than 100" in reported(found)
    assert len(found.definitions) == MAX_FILES + len(find_subagents(()).definitions)
    config.folder.mkdir(parents=True)
    config.folder.chmod(0)
    with permissions_obeyed():
        assert "cannot be read: Permission denied" in reported(find_subagents([config]))
    config.folder.chmod(0o700)


def test_a_folder_that_links_to_the_users_own_definitions_takes_none_of_them_away(tmp_path: Path) -> None:
    cwd, home = tmp_path / "project", tmp_path / "home"
    where = {"cwd": cwd, "home": home, "config_dir": tmp_path / "config"}
    *_, own = definition_folders("agents", trust=TRUSTED, **where)
    write(own, "mine.md", agent("mine"))
    (cwd / ".claude").mkdir(parents=True)
    (cwd / ".claude" / "agents").symlink_to(own.folder)
    found = find_subagents(definition_folders("agents", trust=TRUSTED, **where))
    assert {each.name: each.source for each in found.definitions}["mine"] == "user"
    assert not found.unusable


def test_what_a_file_would_give_itself_has_no_effect_and_hidden_characters_are_seen() -> None:
    text = agent("a", more="permissionMode: bypassPermissions\nhooks: {}\nmcpServers: {}\ntools: Read\n")
    found = read_subagent(text + "\u202egnp.exe \x1b[2J", origin="a.md", source="project")
    assert found.ignored_fields == ("hooks", "mcpServers", "permissionMode")
    assert found.tools == ("Read",)
    assert not {"\u202e", "\x1b"} & set(found.prompt)


def test_a_tool_that_nobody_has_is_named_with_what_may_have_been_meant() -> None:
    for tools, wrong, noted in CASES["a_tool_that_nobody_has_is_named_with_what_may_have_been_meant"]:
        found = check_tools(
            read_subagent(agent("a", more=f"tools: {tools}\n"), origin="a.md"),
            offered=BASE_TOOLS,
            can_be_offered=EXTRA_TOOLS,
            servers=SERVERS,
        )
        assert [each.is_problem for each in found] == [True] * len(wrong) + [False] * len(noted)
        for each, text in zip(found, [*wrong, *noted], strict=True):
            assert text in each.message
    # Of a server that says nothing every tool is taken to exist.
    unknown = [McpServer(name="notes", status="unknown")]
    definition = read_subagent(agent("a", more="tools: mcp__notes__x\n"), origin="a.md")
    assert not check_tools(definition, offered=(), can_be_offered=(), servers=unknown)
