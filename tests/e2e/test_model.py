from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.scripted_model import Block, Text, Use, scripted_model
from ua_tui.api import open_session
from ua_tui.core.agent.classifier import Classifier
from ua_tui.core.events.types import QueryClassified, QueryFinished, TokensSpent
from ua_tui.core.provider.claude_login import claude_program
from ua_tui.core.settings.loading import load_settings

MANY_TOOLS = """
import json, sys
schema = {"type": "object", "properties": {"what": {"type": "string", "description": "word " * 150}}}
tools = [{"name": f"tool_{n}", "description": f"Does thing {n}.", "inputSchema": schema} for n in range(60)]
for line in sys.stdin:
    request = json.loads(line)
    results = {
        "initialize": {"capabilities": {"tools": {}}, "serverInfo": {"name": "many", "version": "1"},
                       "protocolVersion": request.get("params", {}).get("protocolVersion")},
        "tools/list": {"tools": tools},
        "tools/call": {"content": [{"type": "text", "text": "tool called"}]},
    }
    if "id" in request:
        answer = {"jsonrpc": "2.0", "id": request["id"], "result": results.get(request["method"], {})}
        print(json.dumps(answer), flush=True)
"""


async def test_with_a_claude_login_alone_queries_are_classified_and_many_tools_are_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # On a busy machine the command line takes longer to start than anybody is to wait.
    monkeypatch.setattr(Classifier.__init__, "__kwdefaults__", {"deadline": 60.0})
    token = "sk-ant-oat01-test-0123456789"
    login = {
        "accessToken": token,
        "expiresAt": int((time.time() + 86_400) * 1000),
        "scopes": ["user:inference"],
    }
    home = tmp_path / ".claude"
    home.mkdir()
    (home / ".credentials.json").write_text(json.dumps({"claudeAiOauth": login}), encoding="utf-8")
    (tmp_path / "many.py").write_text(MANY_TOOLS, encoding="utf-8")
    many = {"command": sys.executable, "args": [str(tmp_path / "many.py")], "acts": "here"}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"many": many}}), encoding="utf-8")
    asked: list[dict[str, Any]] = []
    authorized: list[str] = []
    tool = "mcp__many__tool_7"

    def model(body: dict[str, Any], results: int) -> list[Block]:
        asked.append(body)
        if "You sort questions" in str(body["system"]):
            return [Text("SIMPLE")]
        steps: list[Block] = [Use("ToolSearch", {"query": f"select:{tool}"}), Use(tool, {"what": "x"})]
        return [steps[results]] if results < len(steps) else [Text("It is Ada.")]

    with scripted_model(model, requested=lambda h: authorized.append(h.get("Authorization", ""))) as url:
        # An address of our own would be a setting, with which the program asks the model itself.
        wrapper = tmp_path / "claude"
        program = claude_program(load_settings())
        wrapper.write_text(
            f'#!/bin/sh\necho "$@" >> {tmp_path}/lines\nANTHROPIC_BASE_URL={url} exec "{program}" "$@"\n',
            encoding="utf-8",
        )
        wrapper.chmod(0o700)
        opened = open_session(
            cli_path=wrapper,
            workspace_base=tmp_path,
            model="claude-sonnet-5",
            allow=("mcp__many__*",),
            trust_folder=True,
        )
        async with opened as session:
            events = [event async for event in session.ask("Who is the CEO of Northwind Silicon?")]
    (classified,) = (event for event in events if isinstance(event, QueryClassified))
    assert (classified.decision, classified.source, classified.raw_response) == ("SIMPLE", "model", "SIMPLE")
    question, first, found, answer = asked
    assert "haiku" in question["model"]
    assert question["tools"] == []
    assert set(authorized) == {f"Bearer {token}"}
    # Only the tools of other servers are searched for, and only those found are sent.
    offered, after = ([each["name"] for each in body["tools"]] for body in (first, found))
    assert {"ToolSearch", "mcp__local_toolkit__save_corpus"} <= set(offered)
    assert [name for name in offered if name.startswith("mcp__many")] == []
    assert [name for name in after if name.startswith("mcp__many")] == [tool]
    assert "tool called" in str(answer["messages"])
    finished = events[-1]
    assert isinstance(finished, QueryFinished)
    assert finished.text == "It is Ada."
    answered = sum(event.cost_usd or 0 for event in events if isinstance(event, TokensSpent))
    assert finished.cost_usd is not None
    assert 0 < finished.cost_usd - answered < 0.01
    # Neither run has the text, or the login, on its command line, which every user of the machine sees.
    lines = (tmp_path / "lines").read_text(encoding="utf-8")
    assert "You sort questions" in lines
    assert "Northwind" not in lines
    assert token not in lines
    # Of the small request there is no conversation that could be resumed.
    assert len(list(home.glob("projects/*/*.jsonl"))) == 1
