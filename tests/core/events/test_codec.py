from __future__ import annotations

import pytest

from core.events.codec import decode_event, encode_event
from core.events.types import ToolCallFinished
from core.observation import CrawlObservation, McpObservation

FINISHED = encode_event(
    ToolCallFinished(
        tool_use_id="a",
        status="success",
        observation=CrawlObservation(tool_name="mcp__notes__find", tool_use_id="a", server="notes", pages=3),
    )
)


def test_an_observation_of_a_later_version_is_read_and_one_with_other_fields_refused() -> None:
    event = decode_event(FINISHED.replace(b'"kind":"crawl"', b'"kind":"oracle"'))
    assert isinstance(event, ToolCallFinished)
    assert type(event.observation) is McpObservation
    assert (event.observation.tool_name, event.status) == ("mcp__notes__find", "success")
    with pytest.raises(ValueError, match="not an event"):
        decode_event(FINISHED.replace(b'"tool_name":"mcp__notes__find"', b'"tool_name":7'))
