"""The trace of real sessions: its spans and their parents, its tokens, and the places that spans are sent to."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.collector import Collector, Span, collector
from tests.composio_server import KEY, stand_in
from tests.e2e.running import environment, model_environment, run
from tests.e2e.scripted_model import Block, Text, Thinking, Use, scripted_model
from tests.waiting import wait_until
from ua_tui.core.demo.composio.services import DemoRemoteSession, ToolAnswer
from ua_tui.core.events.types import QueryFinished, TracingFailed

QUERY = "Search the folder for reports and list it"
WRITE, DOWNLOAD = "mcp__local_toolkit__write_local_file", "mcp__local_toolkit__workbench_download"
MULTI = "mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL"
SEARCH = {"tools": [{"tool_slug": "COMPOSIO_SEARCH_NEWS", "arguments": {"query": "memory"}}]}
CANARY = "canary-0123456789"
TOKEN = f"pylf_v1_local_{CANARY}"
READ, WROTE = 100, 9
"""The tokens of each message of the scripted model."""


class Model:
    """Calls several tools at once, one of them a sub-agent, which calls two more; counts its messages.

    `last` is what it was sent last. It ends once `collectors` have the first spans: at its end a session waits for what
    sends them no longer than a person does, and on a busy machine that takes a while to start.
    """

    def __init__(self) -> None:
        self.messages = 0
        self.last = ""
        self.collectors: Sequence[Collector] = ()

    def __call__(self, body: dict[str, Any], results: int) -> list[Block]:
        self.messages += bool(body.get("stream"))
        self.last = json.dumps(body)
        if "cc_is_subagent=true" in json.dumps(body.get("system")):
            steps: list[list[Block]] = [
                [Use(DOWNLOAD, {"path": "c.csv"}), Use(DOWNLOAD, {"path": "gone.csv"}), Use("Nothing", {})]
            ]
        else:
            files = [Use(DOWNLOAD, {"path": path}) for path in ("a.csv", "missing.csv")]
            start = {
                "subagent_type": "report-creation-expert",
                "description": "r",
                "prompt": "Fetch two files",
            }
            search = Use(MULTI, {**SEARCH, "sync_response_to_workbench": True})
            written = Use(WRITE, {"path": "work_products/a.csv", "content": "a,b\n1,2\n"})
            steps = [
                [Thinking("What is there?"), Text("I look."), written, *files, search, Use("Agent", start)]
            ]
        if not results:
            return steps[0]
        wait_until(lambda: all(each.spans for each in self.collectors))
        return [Text("Done.")]


def check(found: Collector, trace_id: str, messages: int) -> None:
    """Whether a place has the whole trace, and nothing else."""
    assert {(span.trace_id, span.service) for span in found.spans} == {(trace_id, "mine")}
    spans = {
        span.span_id: span
        for span in found.spans
        if span.attributes.get("logfire.span_type") != "pending_span"
    }
    parent = {span.span_id: spans.get(span.parent_id) for span in spans.values()}
    named: dict[str, list[Span]] = {}
    for span in spans.values():
        named.setdefault(span.name, []).append(span)

    def parents(name: str) -> set[str]:
        return {above.name if (above := parent[span.span_id]) else "" for span in named[name]}

    assert parents("session") == {""}
    assert parents("query") == {"session"}
    assert parents("query_started") == parents("query_classification") == {"query"}
    assert parents("conversation_iteration_1") == {"query"}
    assert parents("thinking") == parents("reasoning") - {"conversation_iteration_2", "tool_call"}
    assert parents("tool_result") == parents("observer_error") == parents("mcp.request") == {"tool_call"}
    assert parents("session_complete") == {"session"}
    assert "subagent_compliance_enforced" in named
    (failed,) = named["observer_error"]
    assert failed.attributes["observer"] == "work_products"

    # Each request is below the request to the server, below the very call that made it: several ran at once.
    made: dict[str, list[int]] = {}
    for request in named["httpx.request"]:
        above = parent[request.span_id]
        assert above is not None
        if above.name == "mcp.request":
            call = parent[above.span_id]
            assert call is not None
            path = json.loads(call.attributes["input.value"])["path"]
            made.setdefault(path, []).append(request.attributes["http.response.status_code"])
    assert made == {"a.csv": [200, 200], "missing.csv": [404], "c.csv": [200, 200], "gone.csv": [404]}
    calls = {call.attributes["tool_id"]: call for call in named["tool_call"]}
    (started,) = (call for call in calls.values() if call.attributes["tool_name"] == "Agent")
    inner = [call for call in calls.values() if parent[call.span_id] is started]
    assert len(inner) == 3
    # A tool of the agent itself, or one that there is not, is no request to a server.
    assert len(named["mcp.request"]) == len(calls) - 2
    assert {span.attributes["server"] for span in named["mcp.request"]} == {"local_toolkit", "composio"}

    (query,) = named["query"]
    spent = query.attributes["input_tokens"], query.attributes["output_tokens"]
    assert spent == (messages * READ, messages * WROTE)
    (turn,) = named["conversation_iteration_1"]
    tokens = turn.attributes["gen_ai.usage.input_tokens"], turn.attributes["llm.token_count.completion"]
    assert (*tokens, turn.attributes["input.value"]) == (READ, WROTE, QUERY)
    assert {span.attributes.get("user.id") for span in spans.values()} == {"local-user"}
    session_id = named["session"][0].attributes["session_id"]
    assert {span.attributes.get("session.id") for span in spans.values()} == {session_id}


def test_one_trace_reaches_the_collector_and_logfire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What observers copy has no place.
    (tmp_path / "SAVED_REPORTS").write_text("in the way")
    model = Model()
    asked: dict[str, Any] = {}
    with (
        stand_in({"a.csv": b"a", "c.csv": b"c"}) as service,
        scripted_model(model) as url,
        collector() as mine,
        collector(project="https://l.example/p") as logfire,
    ):
        model.collectors = mine, logfire
        services = type(service.services)
        run_tool = services.call

        async def call(
            self: Any, session: DemoRemoteSession, name: str, arguments: dict[str, Any]
        ) -> ToolAnswer:
            asked[name] = arguments
            return await run_tool(self, session, name, arguments)

        monkeypatch.setattr(services, "call", call)
        env = environment(
            tmp_path,
            ANTHROPIC_API_KEY="sk-ant-test-0123456789",
            ANTHROPIC_BASE_URL=url,
            COMPOSIO_API_KEY=KEY,
            UA_COMPOSIO_BASE_URL=service.url,
            UA_CLASSIFIER="rules",
            LOGFIRE_TOKEN=TOKEN,
            LOGFIRE_BASE_URL=logfire.url,
            OTEL_EXPORTER_OTLP_ENDPOINT=mine.url,
            OTEL_EXPORTER_OTLP_HEADERS=f"x-key={CANARY}%20%21",
            OTEL_SERVICE_NAME="mine",
            OTEL_TRACES_SAMPLER="always_off",
        )
        done = run(tmp_path, "run", QUERY, env=env)
    assert done.code == 0, done.stderr
    assert done.of(TracingFailed) == []
    # The result of a search is not left in the workbench, and the model learns that.
    assert asked[MULTI.rpartition("__")[2]] == {**SEARCH, "sync_response_to_workbench": False}
    assert "sync_response_to_workbench was set to false" in model.last
    trace = done.json("trace.json")
    for found in (mine, logfire):
        check(found, trace["trace_id"], model.messages)
    assert trace["logfire_enabled"] is True
    # The tokens of the query are those that the model sent, also to the sub-agent.
    read, wrote = model.messages * READ, model.messages * WROTE
    (ended,) = done.of(QueryFinished)
    assert (ended.usage.input_tokens, ended.usage.output_tokens) == (read, wrote)
    assert trace["token_usage"] == {"input": read, "output": wrote, "total": read + wrote}
    assert f"Tokens    {read + wrote}\n" in (done.session / "summary.txt").read_text()
    assert {headers.get("x-key") for _, headers in mine.asked} == {f"{CANARY} !"}
    # Each gets its own headers and never the other's.
    assert {headers.get("authorization") for _, headers in mine.asked} == {None}
    assert {headers.get("x-key") for _, headers in logfire.asked} == {None}
    assert {headers.get("authorization") for _, headers in logfire.asked} == {TOKEN}
    assert f"0x{trace['trace_id']}" in (done.session / "spans.jsonl").read_text()
    leaks = subprocess.run(["grep", "-rlF", CANARY, str(tmp_path)], capture_output=True, check=False)
    assert leaks.stdout == b""


def test_the_spans_of_the_command_line_join_the_trace_if_they_are_wanted(tmp_path: Path) -> None:
    def model(_body: dict[str, Any], results: int) -> list[Block]:
        if not results:
            return [Use(WRITE, {"path": "a.txt", "content": "a"})]
        wait_until(lambda: "claude_code.tool" in found.of("claude-code"))
        return [Text("Done.")]

    with scripted_model(model) as url, collector() as found:
        env = model_environment(tmp_path, url, UA_TRACE_AGENT="true", OTEL_EXPORTER_OTLP_ENDPOINT=found.url)
        done = run(tmp_path, "run", "Write it", env=env)
    assert done.code == 0, done.stderr
    ours, theirs = found.of("ua-tui"), found.of("claude-code")
    assert len({span.trace_id for span in found.spans}) == 1
    assert theirs["claude_code.interaction"].parent_id == ours["session"].span_id
    assert theirs["claude_code.tool"].attributes["tool_use_id"] == ours["tool_call"].attributes["tool_id"]
    assert theirs["claude_code.llm_request"].attributes["openinference.span.kind"] == "CHAIN"
    assert {span.attributes.get("session.id") for span in found.spans} == {
        ours["session"].attributes["session_id"]
    }
    assert '"claude_code.interaction"' in (done.session / "spans.jsonl").read_text()
