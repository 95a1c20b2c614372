"""What spans say in the words of GenAI and OpenInference, as it is in `spans.jsonl`."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.collector import collector
from tests.core.telemetry import recorded
from tests.waiting import PATIENCE
from ua_tui.core.events import types as ev
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.telemetry.environment import Exports
from ua_tui.core.telemetry.http import ServiceRequest
from ua_tui.core.telemetry.spans.conventions import Labels, facts_of_child
from ua_tui.core.telemetry.tracer import Tracer

START = datetime(2026, 11, 23, 5, 10, tzinfo=UTC)
SECRET = "hunter2hunter2"
MODEL = "claude-sonnet-5"
CALLS = {"tool_call", "tool_result"}


def events(prompt: str = "What is in the folder?", result: str = '{"files": ["a.txt"]}') -> list[ev.Event]:
    """A query with a sub-agent that calls a tool, and one that was interrupted."""
    return recorded("turns.jsonl", PROMPT=prompt, RESULT=result)


async def traced(
    folder: Path, given: list[ev.Event], requests: Sequence[ServiceRequest] = (), **more: Any
) -> dict[str, dict[str, Any]]:
    """The spans by name, calls by their id."""
    labels = Labels(session="session_x", user="me")
    tracer = Tracer(
        folder / "spans.jsonl", Redactor([SECRET]), state_dir=folder / "state", labels=labels, **more
    )
    for event in given:
        tracer(event)
    for request in requests:
        tracer.on_request(request)
    assert await tracer.close(PATIENCE)
    found = [json.loads(line) for line in (folder / "spans.jsonl").read_text().splitlines()]
    calls = {span["attributes"]["tool_id"]: span for span in found if span["name"] == "tool_call"}
    return {span["name"]: span for span in reversed(found) if span["name"] not in CALLS} | calls


async def test_spans_have_the_standard_names_and_what_the_model_read_and_wrote(tmp_path: Path) -> None:
    found = await traced(tmp_path, events())
    said = {name: span["attributes"] for name, span in found.items()}
    assert {each["session.id"] for each in said.values()} == {"session_x"}
    assert {each["gen_ai.conversation.id"] for each in said.values()} == {"session_x"}
    assert {each["user.id"] for each in said.values()} == {"me"}
    expected = json.loads(Path(__file__).with_name("turns.json").read_text())
    kinds = {name: each["openinference.span.kind"] for name, each in said.items()}
    assert kinds == expected["kinds"]
    # What comes from the cache was read, too.
    turn, wanted = said["conversation_iteration_1"], expected["first turn"]
    assert {name: turn[name] for name in wanted} == wanted
    # A viewer adds up what it finds.
    counted = {name for name, each in said.items() if "llm.token_count.total" in each}
    assert counted == {name for name, kind in kinds.items() if kind == "LLM"}
    assert (said["t2"]["gen_ai.tool.name"], said["t2"]["gen_ai.tool.call.id"]) == ("list", "t2")
    assert said["t2"]["error.type"] == "error"
    agent = said["t1"]
    assert (agent["gen_ai.agent.name"], agent["gen_ai.operation.name"]) == ("writer", "invoke_agent")
    assert said["conversation_iteration_1"]["input.value"] == "What is in the folder?"
    (message,) = json.loads(said["conversation_iteration_1"]["gen_ai.output.messages"])
    assert [part["type"] for part in message["parts"]] == ["text", "tool_call"]
    assert message["parts"][1]["arguments"] == {"prompt": "Look at it.", "api_key": "[redacted]"}
    assert json.loads(said["conversation_iteration_2"]["gen_ai.input.messages"]) == [
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "t1", "response": "One file."}]}
    ]
    assert said["conversation_iteration_2"]["output.value"] == "There is one file, [redacted]."
    first, second = said["subagent_iteration_1"], said["subagent_iteration_2"]
    assert (first["input.value"], second["output.value"]) == ("Look at it.", "One file.")
    assert first["gen_ai.agent.name"] == "writer"
    assert found["subagent_iteration_1"]["parent_id"] == found["t1"]["context"]["span_id"]
    assert (first["llm.token_count.total"], second["llm.token_count.total"]) == (113, 117)
    assert found["subagent_iteration_2"]["start_time"].startswith("2026-11-23T05:10:03.5")
    assert (said["t2"]["input.value"], said["t2"]["input.mime_type"]) == ('{"path":""}', "application/json")
    assert said["t2"]["output.value"] == 'it broke\n{"files": ["a.txt"]}'
    assert said["t2"]["gen_ai.tool.call.arguments"] == said["t2"]["input.value"]
    assert said["t2"]["gen_ai.tool.call.result"] == said["t2"]["output.value"]
    assert said["t2"]["logfire.msg"] == "tool_call list"
    # The session reads as one conversation.
    assert said["session"]["input.value"] == "What is in the folder?"
    assert said["session"]["output.value"] == "One file, [redacted].\n\n> And now?\n\nNothing."
    raw = (tmp_path / "spans.jsonl").read_text()
    assert SECRET not in raw
    assert "letmein12" not in raw


async def test_names_and_ids_can_be_anybodys_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = f"{SECRET}\x1b[2J"
    started = ev.ToolCallStarted(at=START, query_id="q1", tool_use_id=odd, name=odd, input={odd: odd})
    ended = ev.ToolCallFinished(at=START, tool_use_id=odd, status="success")
    said = ev.MessageFinished(at=START, query_id="q1", message_id=odd, text="x", stop_reason=odd)
    spent = ev.TokensSpent(at=START, query_id="q1", message_id=odd, usage=ev.Usage(input_tokens=1), model=odd)
    agent = ev.SubagentStarted(at=START, task_id="x", tool_use_id=odd, name=odd)
    begin, query, last = events()[0], events()[1], events()[-1]
    with collector() as found:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", found.url)
        exports = Exports.of(token=None, environ=os.environ)
        await traced(tmp_path, [begin, query, started, agent, said, spent, ended, last], exports=exports)
    texts = [str(value) for span in found.spans for value in span.attributes.values()]
    assert any("[redacted]" in text for text in texts)
    assert [text for text in texts if SECRET in text or "\x1b" in text] == []


async def test_content_is_left_out_on_request(tmp_path: Path) -> None:
    read = ServiceRequest(
        method="GET", host="canary.example", port=None, route="/canary", began=1, ended=2, tool_use_id="t2"
    )
    given = events("prompt canary", "result canary")
    found = await traced(tmp_path, given, requests=[read], has_content=False)
    raw = (tmp_path / "spans.jsonl").read_text()
    for text in ("canary", "One file", "I ask", "Look at it", "it broke", "And now"):
        assert text not in raw
    assert found["conversation_iteration_1"]["attributes"]["llm.token_count.total"] == 122
    assert found["t2"]["attributes"]["gen_ai.tool.name"] == "list"
    assert found["httpx.request"]["attributes"]["http.request.method"] == "GET"


@pytest.mark.parametrize("large", ["x" * 100_000, json.dumps(["y" * 99] * 1_000)])
async def test_content_has_a_bounded_size(tmp_path: Path, large: str) -> None:
    found = await traced(tmp_path, events(large, large))
    assert max(len(json.dumps(span)) for span in found.values()) < 60_000
    said = found["t2"]["attributes"]
    assert 7_000 < len(said["output.value"]) <= 8_000
    assert said["output.mime_type"] == "text/plain"


def test_a_span_of_a_child_process_belongs_to_the_session() -> None:
    given = {"session.id": "its own", "gen_ai.conversation.id": "its own", "gen_ai.tool.name": "list"}
    assert facts_of_child(given, Labels(session="session_x")) == {
        "openinference.span.kind": "CHAIN",
        "langfuse.observation.usage_details": "{}",
        "session.id": "session_x",
        "gen_ai.conversation.id": "session_x",
        "gen_ai.tool.name": "list",
    }
