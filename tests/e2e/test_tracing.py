"""One trace of our spans, the command line's and the toolkit's, in every place that spans are sent to."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from core.events.types import TracingFailed
from tests.collector import Collector, collector
from tests.e2e.running import environment, run
from tests.e2e.scripted_model import Block, Text, Thinking, Use, scripted_model

QUERY = "Search the folder for reports and list it"
LIST = "mcp__local_toolkit__list_directory"
CANARY = "canary-0123456789"
TOKEN = f"pylf_v1_local_{CANARY}"


def model(_body: dict[str, Any], results: int) -> list[Block]:
    if results:
        return [Text("Done.")]
    return [Thinking("What is there?"), Text("I look."), Use(LIST, {"path": ""})]


def check(found: Collector, trace_id: str) -> None:
    """Whether a place has the whole trace, and nothing else."""
    assert {span.trace_id for span in found.spans} == {trace_id}
    ours, theirs, toolkit = (found.of(name) for name in ("mine", "claude-code", "ua-tui-toolkit"))
    session = ours["session"]
    assert session.parent_id == ""
    assert {"query_started", "query_classification", "thinking", "reasoning", "tool_result"} <= set(ours)
    assert ours["tool_call"].parent_id == ours["conversation_iteration_1"].span_id
    assert ours["conversation_iteration_1"].parent_id == ours["query"].span_id
    assert theirs["claude_code.interaction"].parent_id == session.span_id
    assert theirs["claude_code.tool"].attributes["tool_use_id"] == ours["tool_call"].attributes["tool_id"]
    # Whoever made them, the spans are of one session and one user.
    (session_id,) = {span.attributes.get("session.id") for span in found.spans}
    assert session_id == session.attributes["session_id"]
    assert {span.attributes.get("user.id") for span in found.spans} == {"local-user"}
    turn = ours["conversation_iteration_1"].attributes
    assert (turn["gen_ai.usage.input_tokens"], turn["llm.token_count.completion"]) == (100, 9)
    assert turn["input.value"] == QUERY
    assert theirs["claude_code.llm_request"].attributes["openinference.span.kind"] == "CHAIN"
    known = {span.span_id for span in found.spans}
    assert toolkit["tools/call list_directory"].parent_id in known


def test_one_trace_reaches_the_collector_and_logfire(tmp_path: Path) -> None:
    with (
        scripted_model(model) as url,
        collector() as mine,
        collector(project="https://l.example/p") as logfire,
    ):
        env = environment(
            tmp_path,
            ANTHROPIC_API_KEY="sk-ant-test-0123456789",
            ANTHROPIC_BASE_URL=url,
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
    trace = done.json("trace.json")
    for found in (mine, logfire):
        check(found, trace["trace_id"])
    assert trace["logfire_enabled"] is True
    assert {headers.get("x-key") for _, headers in mine.asked} == {f"{CANARY} !"}
    # Each gets its own headers and never the other's.
    assert {headers.get("authorization") for _, headers in mine.asked} == {None}
    assert {headers.get("x-key") for _, headers in logfire.asked} == {None}
    assert {headers.get("authorization") for _, headers in logfire.asked} == {TOKEN}
    local = (done.session / "spans.jsonl").read_text()
    assert '"claude_code.interaction"' in local
    assert f"0x{trace['trace_id']}" in local
    leaks = subprocess.run(["grep", "-rlF", CANARY, str(tmp_path)], capture_output=True, check=False)
    assert leaks.stdout == b""
