"""Runs the observers again, over one saved result or a whole past session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from ua_tui.core.errors import ObserverError
from ua_tui.core.events.types import Event, QueryReceived
from ua_tui.core.json_values import JsonMapping
from ua_tui.core.observation import McpObservation, NativeObservation, TextContent, ToolCall, ToolResult
from ua_tui.core.view.calls import OpenCalls
from ua_tui.observers.base import Observer, ObserverContext
from ua_tui.observers.decoding.decode import MAX_TEXT
from ua_tui.observers.decoding.lenient import decode_bytes
from ua_tui.observers.execution.run import Run, perform, planned_run


def saved_result(
    tool: str, arguments: JsonMapping, data: bytes, *, tool_use_id: str = "observe"
) -> ToolResult:
    """Make a result from a file's bytes: a tool's text, or a JSON list of its content blocks."""
    if len(data) > 4 * MAX_TEXT:
        raise ObserverError(
            f"the result is too large: {len(data):,} bytes; give one of at most {4 * MAX_TEXT:,}"
        )
    if "\0" in (text := decode_bytes(data)):
        raise ObserverError("the result is not text: give what the tool answered, as text or JSON")
    facts: dict[str, Any] = {
        "tool_name": tool,
        "tool_use_id": tool_use_id,
        "content": (TextContent(text),),
    }
    is_mcp = tool.startswith("mcp__")
    observation = (
        McpObservation(**facts, server=tool.split("__")[1]) if is_mcp else NativeObservation(**facts)
    )
    call = ToolCall(tool_use_id=tool_use_id, name=tool, input=dict(arguments))
    return ToolResult(call=call, observation=observation)


def results_of(events: Iterable[Event]) -> Iterator[ToolResult]:
    """The finished tool calls of a session, each with its input."""
    calls = OpenCalls()
    queries: dict[str, str] = {}
    for event in events:
        if isinstance(event, QueryReceived):
            queries[event.query_id] = event.text
        elif (ended := calls.ended_by(event)) is not None:
            started, end = ended
            observation = end.observation
            if observation is not None and end.status in ("success", "error"):
                if observation.ended_at is None:
                    observation = msgspec.structs.replace(observation, ended_at=end.at)
                yield ToolResult(
                    call=ToolCall(
                        tool_use_id=started.tool_use_id,
                        name=started.name,
                        input=started.input,
                        query_id=started.query_id,
                        query=queries.get(started.query_id, ""),
                        parent_tool_use_id=started.parent_tool_use_id,
                    ),
                    observation=observation,
                )


def observe_result(
    result: ToolResult,
    observers: Sequence[Observer],
    context: ObserverContext,
    publish: Callable[[Event], object],
) -> list[Run]:
    """Run every observer that wants `result`, one after the other, in this thread.

    Returns every run; `publish` is not given the events of those that are silent.
    """
    runs: list[Run] = []
    for observer in observers:
        run = planned_run(observer, result)
        if run is None:
            continue
        if not run.curious:
            publish(run.started())
        if run.error is None:
            perform(run, observer, result, context)
        for event in run.finished(announced=not run.curious):
            publish(event)
        runs.append(run)
    return runs
