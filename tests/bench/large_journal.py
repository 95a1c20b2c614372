"""Writes the journal of a very long session."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from ua_tui.core.events.codec import encode_event
from ua_tui.core.events.types import (
    ArtifactSaved,
    Event,
    MessageFinished,
    ObserverFinished,
    QueryFinished,
    QueryReceived,
    SessionFinished,
    SessionStarted,
    SubagentFinished,
    SubagentStarted,
    TextDelta,
    ToolCallFinished,
    ToolCallStarted,
    Usage,
)
from ua_tui.core.observation import McpObservation, NativeObservation, SubagentObservation, TextContent

QUERIES = 1_000
MESSAGES = 10
CALLS = 100
RESULTS = (300, 300, 700, 300, 1_200, 300, 2_400, 300, 700, 6_000)
"""The sizes of results in turn, in characters: most are short, as they are in real sessions."""
START = datetime(2026, 11, 21, 6, 0, tzinfo=UTC)
STEP = timedelta(milliseconds=40)
SEARCH = "mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL"
WORDS = "memory decides and power moves to the back of the die while sixteen-high stacks ship early "


def write_large_journal(
    folder: Path, *, queries: int = QUERIES, messages: int = MESSAGES, calls: int = CALLS
) -> Path:
    """Write `queries` queries of `messages` messages (the question is one) and `calls` calls; returns the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "journal.jsonl"
    at = START
    with path.open("wb") as file:
        for seq, event in enumerate(_session(folder, queries, messages, calls), 1):
            at += STEP
            file.write(encode_event(msgspec.structs.replace(event, seq=seq, at=at)) + b"\n")
    return path


def _session(folder: Path, queries: int, messages: int, calls: int) -> Iterator[Event]:
    yield SessionStarted(
        session_id=folder.name, workspace=str(folder), cwd="/", version="0", model="claude-sonnet-5"
    )
    for number in range(1, queries + 1):
        yield from _query(f"q{number}", number, messages - 1, calls)
    yield SessionFinished(
        reason="quit",
        queries=queries,
        tool_calls=queries * calls,
        artifacts=queries * calls // 5,
        cost_usd=0.21 * queries,
        duration_ms=41_000.0 * queries,
    )


def _query(query: str, number: int, answers: int, calls: int) -> Iterator[Event]:
    yield QueryReceived(query_id=query, text=f"Question {number}: what is new about part {number * 7919}?")
    done = 0
    for turn in range(answers):
        message = f"msg_{query}_{turn}"
        text = _markdown(number, turn)
        half = len(text) // 2
        for piece in (text[:half], text[half:]):
            yield TextDelta(query_id=query, message_id=message, text=piece)
        usage = Usage(input_tokens=900, output_tokens=200)
        yield MessageFinished(query_id=query, message_id=message, text=text, usage=usage)
        share = calls * (turn + 1) // answers - done
        yield from _calls(query, done, share, agent=turn == 1)
        done += share
    yield QueryFinished(
        query_id=query,
        status="success",
        duration_ms=41_000.0,
        turns=answers,
        cost_usd=0.21,
        usage=Usage(input_tokens=9_000, output_tokens=2_000),
        text=_markdown(number, answers - 1),
    )


def _calls(query: str, first: int, count: int, *, agent: bool) -> Iterator[Event]:
    """The calls of one turn; with `agent` the first is that of a sub-agent, which makes the others."""
    ids = [f"toolu_{query}_{number:05d}_0000000000" for number in range(first, first + count)]
    parent = ids[0] if agent and ids else None
    if parent:
        given = {"subagent_type": "report-creation-expert", "description": f"Write part {first}"}
        yield ToolCallStarted(query_id=query, tool_use_id=parent, name="Agent", input=given)
        yield SubagentStarted(task_id=parent, tool_use_id=parent, name="report-creation-expert")
    for number, call in enumerate(ids, first):
        if call != parent:
            yield from _call(query, call, number, parent)
    if parent:
        yield SubagentFinished(task_id=parent, tool_use_id=parent, name="report-creation-expert")
        content = (TextContent("Done."),)
        seen = SubagentObservation(tool_name="Agent", tool_use_id=parent, content=content, agent="expert")
        yield ToolCallFinished(tool_use_id=parent, status="success", observation=seen, duration_ms=9_000.0)


def _call(query: str, call: str, number: int, parent: str | None) -> Iterator[Event]:
    size = RESULTS[number % len(RESULTS)]
    facts: dict[str, Any] = {
        "tool_use_id": call,
        "content": (TextContent((WORDS * (size // len(WORDS) + 1))[:size]),),
    }
    given: dict[str, Any]
    searches = number % 3 == 0
    if searches:
        inner = {
            "tool_slug": "COMPOSIO_SEARCH_NEWS",
            "arguments": {"query": f"part {query} {number}", "num": 10},
        }
        name, given = SEARCH, {"tools": [inner]}
        seen: McpObservation | NativeObservation = McpObservation(tool_name=name, server="composio", **facts)
    else:
        name, given = "Read", {"file_path": f"work_products/parts/{query}_{number}.md", "limit": 200}
        error = "no such file" if number % 50 == 49 else None
        seen = NativeObservation(tool_name=name, error=error, **facts)
    yield ToolCallStarted(query_id=query, tool_use_id=call, name=name, input=given, parent_tool_use_id=parent)
    yield ToolCallFinished(
        tool_use_id=call,
        status="error" if seen.error else "success",
        observation=seen,
        duration_ms=120.0 + number,
    )
    if searches:
        path = f"search_results/composio_search_news_{query}_{number}.json"
        saved: dict[str, Any] = {"observer": "search_results", "tool_use_id": call}
        yield ArtifactSaved(path=path, kind="search_results", size=9_000, sha256="0" * 64, **saved)
        yield ObserverFinished(run_id=f"run_{call}", status="saved", artifacts=[path], items=10, **saved)


def _markdown(number: int, turn: int) -> str:
    return (
        f"## Part {number}, step {turn}\n\n{WORDS.capitalize() * 3}\n\n"
        f"- **First**: {WORDS}\n- **Second**: see `parts/{number}.md`\n\n"
        f"| Part | Ships |\n|---|---|\n| Halden {number} | March |\n| Quillmark {turn} | autumn |\n\n{WORDS * 2}\n"
    )
