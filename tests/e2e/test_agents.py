"""Sub-agents and skills of a folder, with the real command line and a model that a test writes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.live import live
from tests.e2e.running import model_settings
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from tests.waiting import until
from ua_tui.core.events.types import ComplianceEnforced, ErrorRaised, Event, ToolCallFinished, ToolCallStarted

LIST, WRITE = "mcp__local_toolkit__list_directory", "mcp__local_toolkit__write_local_file"
CANARY = "canary-0123456789"
REVIEWER = f"""---
name: reviewer
description: Checks a report against its sources.
tools: [{LIST}, {WRITE}, Bash, mcp__local_toolkit__list_directories]
compliance:
  - name: checked
    requires: work_products/checked.md
    message: Write work_products/checked.md before you finish.
---
OWN-REVIEWER at {{workspace}}.
"""


class Model:
    """Calls two sub-agents and a skill, whose files it reads; keeps what it was sent, by who was asked."""

    def __init__(self, secret: Path) -> None:
        self.secret = secret
        self.asked: dict[str, list[dict[str, Any]]] = {"main": [], "OWN-REVIEWER": [], "OWN-MAIL": []}

    def __call__(self, body: dict[str, Any], results: int) -> list[Block]:
        system = json.dumps(body.get("system"))
        who = next((name for name in self.asked if name in system), "main")
        if not body.get("stream"):
            return [Text("x")]
        self.asked[who].append(body)
        parts = {"OWN-REVIEWER": self._reviewer, "OWN-MAIL": self._mail, "main": self._main}
        return parts[who](body, results)

    def _reviewer(self, body: dict[str, Any], results: int) -> list[Block]:
        back = "before you finish" in json.dumps(body["messages"])
        steps: list[Block] = [
            Use(LIST, {"path": ""}),
            Use("Bash", {"command": f"cat {self.secret}", "description": "look"}),
        ]
        if results < len(steps):
            return [steps[results]]
        if back and results == len(steps):
            return [Use(WRITE, {"path": "work_products/checked.md", "content": "checked"})]
        return [Text("All is backed.")]

    def _mail(self, _body: dict[str, Any], _results: int) -> list[Block]:
        return [Text("Written as the folder wants it.")]

    def _main(self, body: dict[str, Any], results: int) -> list[Block]:
        shown_text = json.dumps(body["messages"])
        base = re.search(r"Base directory for this skill: (\S+?)\\n", shown_text)
        steps: list[Block] = [
            Use("Agent", {"subagent_type": "reviewer", "prompt": "Check it", "description": "check"}),
            Use("Agent", {"subagent_type": "email-writer", "prompt": "Write it", "description": "mail"}),
            Use("Skill", {"skill": "ua-tui:house-style", "args": f"see @{self.secret}"}),
            Use("Read", {"file_path": f"{base[1]}/words.txt" if base else "none"}),
        ]
        return [steps[results]] if results < len(steps) else [Text("Done.")]


def lay_out(folder: Path) -> None:
    for path, text in {
        "secret": CANARY,
        "project/.claude/agents/reviewer.md": REVIEWER,
        "project/.claude/agents/mail.md": "---\nname: email-writer\ndescription: Mails.\n---\nOWN-MAIL",
        "project/.claude/agents/broken.md": "nothing",
        "project/.claude/skills/house-style/SKILL.md": (
            "---\ndescription: How the house writes.\nallowed-tools: Bash\n---\n"
            f"STYLE-BODY !`touch {folder}/ran` @{folder}/secret $ARGUMENTS\n"
        ),
        "project/.claude/skills/house-style/words.txt": "WORDS-OF-THE-HOUSE",
        "project/.claude/skills/unwanted/SKILL.md": "---\ndescription: UNWANTED\n---\n",
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def errors(events: list[Event]) -> list[str]:
    return [event.message for event in events if isinstance(event, ErrorRaised)]


async def test_the_model_is_offered_what_a_folder_has_and_no_more_rights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_out(tmp_path)
    monkeypatch.chdir(tmp_path / "project")
    model = Model(tmp_path / "secret")
    with scripted_model(model) as url:
        settings = model_settings(tmp_path, url, trust="trusted", skills=("house-style",))
        async with live(settings) as here:
            await here.ask("Check the report")
            await until(lambda: any("list_directories" in reported for reported in errors(here.events)))
    session, events = here.session, here.events

    offered = json.dumps(model.asked["main"][0])
    assert "- reviewer: Checks a report against its sources." in offered
    assert "- email-writer: Mails." in offered
    assert "- ua-tui:house-style: How the house writes." in offered
    assert "UNWANTED" not in offered

    # A sub-agent has the tools it names, as far as the session has them.
    first = model.asked["OWN-REVIEWER"][0]
    # The command line offers the placeholder where it may search for tools.
    assert {tool["name"] for tool in first["tools"]} - {"DeferredToolPlaceholder"} == {LIST, WRITE}
    assert f"OWN-REVIEWER at {session.workspace.path}." in json.dumps(first["system"])
    calls = {event.tool_use_id: event for event in events if isinstance(event, ToolCallStarted)}
    ended = {
        (calls[event.tool_use_id].name, calls[event.tool_use_id].parent_tool_use_id is not None): event.status
        for event in events
        if isinstance(event, ToolCallFinished)
    }
    assert ended[LIST, True] == "success"
    assert ended["Bash", True] == "error"

    # Its own rule sent it back, and that of the one it replaced is gone with it.
    assert [(each.subagent, each.rule) for each in events if isinstance(each, ComplianceEnforced)] == [
        ("reviewer", "checked")
    ]
    assert (session.workspace.path / "work_products/checked.md").read_text() == "checked"
    assert model.asked["OWN-MAIL"]

    # The skill was loaded, and its files are read unasked; nothing it names was run or read.
    shown_text = json.dumps(model.asked["main"][-1]["messages"])
    assert "STYLE-BODY" in shown_text
    assert "WORDS-OF-THE-HOUSE" in shown_text
    assert CANARY not in json.dumps(model.asked)
    assert not (tmp_path / "ran").exists()
    assert ended["Read", False] == "success"

    reported = errors(events)
    assert any("broken.md is not a sub-agent: it must start with front matter" in each for each in reported)
    assert any(
        "there is no tool mcp__local_toolkit__list_directories: did you mean" in each for each in reported
    )
    assert not any("Bash" in each for each in reported)
