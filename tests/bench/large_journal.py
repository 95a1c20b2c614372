"""Writes the journal of a very long session: `python -m tests.bench.large_journal FOLDER`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from core.events.codec import encode_event
from core.events.types import (
    ArtifactSaved,
    Event,
    MessageFinished,
    ObserverFinished,
    ObserverStarted,
    QueryClassified,
    QueryFinished,
    QueryReceived,
    SessionFinished,
    SessionStarted,
    SubagentFinished,
    SubagentStarted,
    TextDelta,
    ThinkingDelta,
    ToolCallFinished,
    ToolCallStarted,
    Usage,
)
from core.observation import McpObservation, NativeObservation, SubagentObservation, TextContent

__all__ = ["write_large_journal"]

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
    yield QueryClassified(query_id=query, decision="COMPLEX", source="rule", duration_ms=0.2)
    done = 0
    for turn in range(answers):
        message = f"msg_{query}_{turn}"
        text = _markdown(number, turn)
        yield ThinkingDelta(query_id=query, message_id=message, text=WORDS * 2)
        half = len(text) // 2
        for piece in (text[:half], text[half:]):
            yield TextDelta(query_id=query, message_id=message, text=piece)
        yield MessageFinished(
            query_id=query, message_id=message, text=text, usage=Usage(input_tokens=900, output_tokens=200)
        )
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
    parent = None
    for number in range(first, first + count):
        call = f"toolu_{query}_{number:05d}_0000000000"
        if agent and parent is None:
            parent = call
            yield ToolCallStarted(
                query_id=query,
                tool_use_id=call,
                name="Agent",
                input={"subagent_type": "report-creation-expert", "description": f"Write part {number}"},
            )
            yield SubagentStarted(task_id=call, tool_use_id=call, name="report-creation-expert")
            continue
        yield from _call(query, call, number, parent)
    if parent is not None:
        yield SubagentFinished(task_id=parent, tool_use_id=parent, name="report-creation-expert")
        seen = SubagentObservation(
            tool_name="Agent", tool_use_id=parent, content=(TextContent("Done."),), agent="expert"
        )
        yield ToolCallFinished(tool_use_id=parent, status="success", observation=seen, duration_ms=9_000.0)


def _call(query: str, call: str, number: int, parent: str | None) -> Iterator[Event]:
    size = RESULTS[number % len(RESULTS)]
    content = (TextContent((WORDS * (size // len(WORDS) + 1))[:size]),)
    failed = number % 50 == 49
    if number % 3:
        name, given = "Read", {"file_path": f"work_products/parts/{query}_{number}.md", "limit": 200}
        seen: McpObservation | NativeObservation = NativeObservation(
            tool_name=name, tool_use_id=call, content=content, error="no such file" if failed else None
        )
    else:
        query_text = {"query": f"part {query} {number} supply", "num": 10}
        name = SEARCH
        given = {"tools": [{"tool_slug": "COMPOSIO_SEARCH_NEWS", "arguments": query_text}]}
        seen = McpObservation(
            tool_name=name, tool_use_id=call, content=content, server="composio", error=None
        )
    yield ToolCallStarted(query_id=query, tool_use_id=call, name=name, input=given, parent_tool_use_id=parent)
    yield ToolCallFinished(
        tool_use_id=call,
        status="error" if seen.error else "success",
        observation=seen,
        duration_ms=120.0 + number,
    )
    if name == SEARCH:
        run = f"run_{call}"
        path = f"search_results/composio_search_news_{query}_{number}.json"
        yield ObserverStarted(run_id=run, observer="search_results", tool_use_id=call)
        yield ArtifactSaved(
            path=path,
            kind="search_results",
            size=9_000,
            sha256="0" * 64,
            observer="search_results",
            tool_use_id=call,
        )
        yield ObserverFinished(
            run_id=run,
            observer="search_results",
            tool_use_id=call,
            status="saved",
            artifacts=[path],
            items=10,
            duration_ms=2.5,
        )


def _markdown(number: int, turn: int) -> str:
    return (
        f"## Part {number}, step {turn}\n\n{WORDS.capitalize() * 3}\n\n"
        f"- **First**: {WORDS}\n- **Second**: see `parts/{number}.md`\n\n"
        f"| Part | Ships |\n|---|---|\n| Halden {number} | March |\n| Quillmark {turn} | autumn |\n\n{WORDS * 2}\n"
    )


if __name__ == "__main__":
    sys.stdout.write(f"{write_large_journal(Path(sys.argv[1]))}\n")
