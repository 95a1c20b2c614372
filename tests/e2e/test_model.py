from __future__ import annotations

import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import NOWHERE, command, environment, model_environment, run
from tests.e2e.scripted_model import Block, Text, Use, events_of, scripted_model
from tests.loopback import Handler, serving_http
from ua_tui.api import open_session
from ua_tui.core.agent.query import Classifier
from ua_tui.core.events.types import QueryClassified, QueryFinished, TokensSpent
from ua_tui.core.provider.credentials import claude_program
from ua_tui.core.settings.loading import load_settings

MANY_TOOLS = """
import json, sys
schema = {"type": "object", "properties": {"what": {"type": "string", "description": "word " * 150}}}
tools = [{"name": f"tool_{n}", "description": f"Does thing {n}.", "inputSchema": schema} for n in range(200)]
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


def write_many_tools(folder: Path, **more: Any) -> None:
    """Name a server with two hundred tools in the `.mcp.json` of a folder."""
    (folder / "many.py").write_text(MANY_TOOLS, encoding="utf-8")
    many = {"command": sys.executable, "args": [str(folder / "many.py")], "acts": "here"} | more
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"many": many}}), encoding="utf-8")


async def test_with_a_claude_login_alone_queries_are_classified_and_many_tools_are_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # On a busy machine the command line takes longer to start than anybody is to wait.
    monkeypatch.setattr("ua_tui.core.session.session.Classifier", partial(Classifier, deadline=60.0))
    token = "sk-ant-oat01-test-0123456789"
    login = {
        "accessToken": token,
        "expiresAt": int((time.time() + 86_400) * 1000),
        "scopes": ["user:inference"],
    }
    home = tmp_path / ".claude"
    home.mkdir()
    (home / ".credentials.json").write_text(json.dumps({"claudeAiOauth": login}), encoding="utf-8")
    write_many_tools(tmp_path)
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


@pytest.mark.parametrize(
    ("knows", "chosen", "sent"), [(True, [], 0), (False, [], 200), (False, ["tool_19[01]", "tool_7"], 3)]
)
async def test_tools_are_searched_behind_a_base_url_unless_the_service_refuses_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, knows: bool, chosen: list[str], sent: int
) -> None:
    monkeypatch.chdir(tmp_path)
    write_many_tools(tmp_path, tools=chosen)
    offered: list[list[str]] = []
    rejected = 0

    def model(body: dict[str, Any], _results: int) -> list[Block]:
        offered.append([each["name"] for each in body["tools"] if each["name"].startswith("mcp__many__")])
        return [Text("It is Ada.")]

    def rejects(body: dict[str, Any]) -> bool:
        nonlocal rejected
        refused = not knows and "defer_loading" in json.dumps(body["tools"])
        rejected += refused
        return refused

    with scripted_model(model, rejects=rejects) as url:
        opened = open_session(
            base_url=url,
            workspace_base=tmp_path,
            model="qwen3:14b",
            context_window=32_000,
            classifier="off",
            trust_folder=True,
        )
        async with opened as session:
            for query in ("Who is the CEO?", "And who was it?"):
                events = [event async for event in session.ask(query)]
                finished = events[-1]
                assert isinstance(finished, QueryFinished)
                assert finished.text == "It is Ada."
                if query == "Who is the CEO?":
                    tried = rejected
    assert list(map(len, offered)) == [sent] * 2
    # It is tried once, and remembered; so few tools are sent in any case.
    assert (tried > 0, rejected) == (sent == 200, tried)


def test_a_model_of_this_machine_is_asked_without_the_proxy_that_doctor_names(tmp_path: Path) -> None:
    proxies = dict.fromkeys(("HTTP_PROXY", "https_proxy", "ALL_PROXY"), NOWHERE)

    def model(body: dict[str, Any], _results: int) -> list[Block]:
        return [Text("SIMPLE" if "You sort questions" in str(body.get("system")) else "It is Ada.")]

    with scripted_model(model) as url:
        settings = {"UA_CLASSIFIER": "rules+model", "UA_MODEL": "m"}
        env = model_environment(tmp_path, url, **proxies, **settings)
        finished = run(tmp_path, "run", "Who is the CEO of Northwind Silicon?", env=env)
        found = command(tmp_path, "doctor", "--json", **env)
    assert (finished.code, finished.stdout) == (0, "It is Ada.\n"), finished.stderr
    # Both the command line and our own client reached it.
    (classified,) = finished.of(QueryClassified)
    assert (classified.decision, classified.source) == ("SIMPLE", "model")
    checks = {check["name"]: check for check in json.loads(found.stdout)["checks"]}
    assert checks["model"]["status"] == "ok"
    assert checks["proxy"]["status"] == "failed"
    assert f"the proxy {NOWHERE} (HTTPS_PROXY) cannot be reached" in checks["proxy"]["found"]


@pytest.mark.parametrize(
    ("cloud", "path", "variables"),
    [
        ("foundry", "/v1/messages", {"ANTHROPIC_FOUNDRY_API_KEY": "key-of-the-cloud"}),
        (
            "vertex",
            "/projects/p1/locations/here/publishers/anthropic/models/claude-sonnet-5:streamRawPredict",
            {
                "CLOUD_ML_REGION": "here",
                "ANTHROPIC_VERTEX_PROJECT_ID": "p1",
                "CLAUDE_CODE_SKIP_VERTEX_AUTH": "1",
            },
        ),
        (
            "bedrock",
            "/model/eu.anthropic.claude-sonnet-5/invoke-with-response-stream",
            {
                "AWS_REGION": "here",
                "AWS_BEARER_TOKEN_BEDROCK": "key-of-the-cloud",
                "UA_MODEL": "eu.anthropic.claude-sonnet-5",
            },
        ),
    ],
)
def test_the_models_of_a_cloud_are_asked_with_the_variables_of_the_environment(
    tmp_path: Path, cloud: str, path: str, variables: dict[str, str]
) -> None:
    asked: dict[str, dict[str, str]] = {}

    class Service(Handler):
        def do_POST(self) -> None:
            self.body()
            asked[self.path.partition("?")[0]] = {name.lower(): value for name, value in self.headers.items()}
            if cloud == "bedrock":
                # Its streams have a form of their own.
                self.answer_json(403, {"message": "not in your country"})
                return
            events = events_of([Text("It is Ada.")], "claude-sonnet-5", 1)
            lines = (
                f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n" for name, data in events
            )
            self.answer(200, "".join(lines).encode(), "text/event-stream")

    with serving_http(Service) as url:
        given = {f"ANTHROPIC_{cloud.upper()}_BASE_URL": url, f"CLAUDE_CODE_USE_{cloud.upper()}": "1"}
        settings = {"UA_CLASSIFIER": "off", "UA_MODEL": "claude-sonnet-5"}
        env = environment(tmp_path, **given, **settings | variables)
        finished = run(tmp_path, "run", "List the files.", env=env)
        found = command(tmp_path, "doctor", "--json", **env)
    if cloud == "bedrock":
        assert "not in your country" in finished.stderr
    else:
        assert (finished.code, finished.stdout) == (0, "It is Ada.\n"), finished.stderr
    keys = [value for value in variables.values() if value == "key-of-the-cloud"]
    assert [key for key in keys if key not in str(asked[path])] == []
    (check,) = (each for each in json.loads(found.stdout)["checks"] if each["name"] == "model")
    # Those of Vertex would be in a file.
    assert check["status"] == ("warning" if cloud == "vertex" else "ok"), check
