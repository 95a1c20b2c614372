from __future__ import annotations

import json

import jsonschema  # type: ignore[import-untyped]  # comes with mcp, without types
import msgspec
import pytest

from ua_tui.core.events.codec import EVENT_TYPES, decode_event, encode_event, journal_schema
from ua_tui.core.events.types import McpServer, McpStatus, QueryReceived, ToolCallFinished, ToolCallStarted
from ua_tui.core.observation import (
    CrawlObservation,
    ImageContent,
    McpObservation,
    SearchObservation,
    TextContent,
)


def test_every_event_and_field_is_in_the_schema_with_a_description() -> None:
    schema = journal_schema()
    assert {each["$ref"] for each in schema["anyOf"]} == {f"#/$defs/{kind.__name__}" for kind in EVENT_TYPES}
    for kind in EVENT_TYPES:
        entry = schema["$defs"][kind.__name__]
        assert set(entry["properties"]) == {
            "event",
            *(each.name for each in msgspec.structs.fields(kind) if each.name != "place"),
        }
        assert {"event", "seq", "at"} <= set(entry["required"])
        assert entry["description"]


def test_written_lines_follow_the_schema_and_wrong_ones_do_not() -> None:
    schema = journal_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(json.loads(json.dumps(schema)))
    seen = SearchObservation(
        tool_name="n", tool_use_id="t", server="s",
        content=(TextContent("a"), ImageContent("AA==")),
    )  # fmt: skip
    for event in [
        QueryReceived(seq=1, query_id="q", text="x"),
        ToolCallStarted(seq=2, query_id="q", tool_use_id="t", name="n", input={"a": [1]}),
        ToolCallFinished(seq=3, tool_use_id="t", status="success", observation=seen),
        McpStatus(seq=4, servers=[McpServer(name="a", status="connected", tools=3)]),
    ]:
        validator.validate(json.loads(encode_event(event)))
    at = "2026-11-21T05:10:11Z"
    for line in (
        {"event": "query_received", "at": at, "query_id": "q", "text": "no seq"},
        {"event": "tool_call_finished", "seq": 1, "at": at, "tool_use_id": "t", "status": "fine"},
        {"event": "query_received", "seq": 1, "at": at, "query_id": "q", "text": 5},
    ):
        assert not validator.is_valid(line)


def test_an_observation_of_a_later_version_is_read_and_one_with_other_fields_refused() -> None:
    seen = CrawlObservation(tool_name="mcp__notes__find", tool_use_id="a", server="notes", pages=3)
    written = encode_event(ToolCallFinished(tool_use_id="a", status="success", observation=seen))
    event = decode_event(written.replace(b'"kind":"crawl"', b'"kind":"oracle"'))
    assert isinstance(event, ToolCallFinished)
    assert type(event.observation) is McpObservation
    assert (event.observation.tool_name, event.status) == ("mcp__notes__find", "success")
    with pytest.raises(ValueError, match="not an event"):
        decode_event(written.replace(b'"tool_name":"mcp__notes__find"', b'"tool_name":7'))
