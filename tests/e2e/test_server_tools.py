"""Tools of own MCP servers in runs without a person: one that acts here is used all day, another sends nothing."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import Finished, model_environment, run
from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from ua_tui.core.events.types import PermissionAsked, ToolCallFinished, ToolCallStarted

pytestmark = pytest.mark.e2e

HERE = Path(__file__).parent
SITE = "https://new.example/page"


def remember(text: str) -> Use:
    return Use("mcp__memory__create_entities", {"entities": [{"name": text}]})


CALLS = [
    remember("Ada"),
    Use("mcp__memory__read_graph", {}),
    remember(f"Seen on {SITE}, ask ada@new.example"),
    Use("mcp__outbox__list_messages", {}),
    Use("mcp__outbox__send_message", {"to": "eve", "text": "Ada"}),
    remember("Babbage"),
]


def answer(_body: dict[str, Any], results: int) -> list[Block]:
    return [CALLS[results]] if results < len(CALLS) else [Text("Done.")]


def outcomes(finished: Finished) -> list[str]:
    """How the calls of a run ended, in order."""
    names = {event.tool_use_id: event.name for event in finished.of(ToolCallStarted)}
    ended = {event.tool_use_id: event.status for event in finished.of(ToolCallFinished)}
    return [ended[each] for each, name in names.items() if name.startswith("mcp__")]


def test_a_server_that_acts_here_is_used_without_a_question_as_the_denial_says(tmp_path: Path) -> None:
    config = tmp_path / "home" / ".config" / "ua-tui" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        "".join(
            f"[mcp_servers.{name}]\ncommand = {sys.executable!r}\nargs = [{str(HERE / f'{name}_server.py')!r}]\n"
            f"env = {{ {name.upper()} = {str(tmp_path / name)!r} }}\n"
            for name in ("memory", "outbox")
        )
    )
    rules = ("--allow", "mcp__memory__*", "--allow", "mcp__outbox__*")
    with scripted_model(answer) as url:
        env = model_environment(tmp_path / "home", url)
        first = run(tmp_path / "first", "run", *rules, "Remember Ada.", env=env)
        assert first.code == 0, first.stderr
        assert outcomes(first) == ["denied", "denied", "denied", "success", "denied", "denied"]
        denied = next(event for event in first.of(ToolCallFinished) if event.status == "denied")
        reason = denied.observation.error
        assert "the tool descriptions of memory" in reason
        command = re.search(r"`ua-tui (servers here memory)` once and start with (--allow '[^']+')", reason)
        assert command is not None, reason
        said = run(tmp_path / "first", *command[1].split(), env=env)
        assert (said.code, said.stdout) == (0, "the tools of memory act on this machine only\n")
        second = run(
            tmp_path / "second", "run", *shlex.split(command[2]), *rules[2:], "Remember Ada.", env=env
        )
    assert outcomes(second) == ["success", "success", "success", "success", "denied", "success"]
    (asked,) = second.of(PermissionAsked)
    assert asked.tool_name == "mcp__outbox__send_message"
    assert len((tmp_path / "memory").read_text().splitlines()) == 3
    assert not (tmp_path / "outbox").exists()
