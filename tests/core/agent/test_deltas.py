from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ProcessError

from tests.waiting import until
from ua_tui.core.agent.messages.malformed import MalformedMessages
from ua_tui.core.agent.messages.transport import CliTransport, RetryReasons, StandardError, join_deltas


def piece(text: str, *, index: int = 0, of: str | None = None, thought: bool = False) -> dict[str, Any]:
    delta = {"type": "thinking_delta", "thinking": text} if thought else {"type": "text_delta", "text": text}
    event = {"type": "content_block_delta", "index": index, "delta": delta}
    return {"type": "stream_event", "event": event, "parent_tool_use_id": of}


def stop() -> dict[str, Any]:
    return {"type": "stream_event", "event": {"type": "content_block_stop", "index": 0}}


def test_pieces_of_one_text_become_one_message() -> None:
    found = list(join_deltas([piece("one "), piece("two "), piece("three"), stop(), {"type": "result"}]))
    assert found == [piece("one two three"), stop(), {"type": "result"}]
    found = list(join_deltas([piece("a", thought=True), piece("b", thought=True)]))
    assert found == [piece("ab", thought=True)]


def test_what_does_not_continue_a_text_stays_where_it_is() -> None:
    others: tuple[dict[str, Any], ...] = (
        piece("b", index=1), piece("b", of="toolu_1"), piece("b", thought=True), stop(),
        {"type": "control_request"},
        {"type": "stream_event", "event": {"type": "content_block_delta", "index": 0, "delta": {"type": []}}},
        {"type": "stream_event", "event": {"type": "content_block_delta", "index": 0, "delta": None}},
        {"type": "stream_event", "event": {"type": "ping"}},
    )  # fmt: skip
    for other in others:
        assert list(join_deltas([piece("a"), other, piece("c")])) == [piece("a"), other, piece("c")]


def test_pieces_gather_in_the_pipe_and_none_is_lost(tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    known = {"uuid": "u", "session_id": "s"}
    first, *others = (f"echo '{json.dumps(piece(f'{number} ') | known)}'\n" for number in range(40))
    agent.write_text(f"#!/bin/sh\n{first}read -r _\n{''.join(others)}echo '{json.dumps(stop() | known)}'\n")
    agent.chmod(0o700)

    async def messages() -> list[Any]:
        async def on_start(_pid: int) -> None: ...

        options = ClaudeAgentOptions(cli_path=agent)
        transport = CliTransport(options, MalformedMessages(), StandardError(), on_start)
        await transport.connect()
        try:
            found = []
            async for message in transport.read_messages():
                found.append(message)
                if len(found) == 1:
                    await transport.write("go on\n")
            return found
        finally:
            await transport.close()

    *found, last = asyncio.run(messages())
    assert "".join(each["event"]["delta"]["text"] for each in found) == "".join(f"{n} " for n in range(40))
    assert last["event"] == stop()["event"]
    assert len(found) < 10


def test_a_broken_input_is_reported_with_the_exit_code_of_the_process(tmp_path: Path) -> None:
    agent, closed = tmp_path / "agent", tmp_path / "closed"
    agent.write_text(f"#!/bin/sh\nexec 0<&-\n: > {closed}\nsleep 0.3\nexit 3\n")
    agent.chmod(0o700)

    async def write() -> None:
        async def on_start(_pid: int) -> None:
            await until(closed.exists)

        options = ClaudeAgentOptions(cli_path=agent)
        transport = CliTransport(options, MalformedMessages(), StandardError(), on_start)
        await transport.connect()
        try:
            await transport.write("a question\n")
        finally:
            await transport.close()

    with pytest.raises(ProcessError) as raised:
        asyncio.run(write())
    assert raised.value.exit_code == 3


def test_a_retry_is_held_until_the_transcript_says_why_or_something_else_comes() -> None:
    retry = {"type": "system", "subtype": "api_retry", "attempt": 1}
    answer = {"type": "control_response"}
    error = {"formatted": "429 at noon"}
    mirror = {
        "type": "transcript_mirror",
        "entries": [{"type": "user"}, {"subtype": "api_error", "error": error}],
    }
    other = {"type": "transcript_mirror", "entries": None}
    retries = RetryReasons()
    assert list(retries.explain([retry, answer, other])) == [answer, other]
    assert list(retries.explain([mirror])) == [retry | {"cause": error}, mirror]
    text = {"type": "assistant"}
    assert list(retries.explain([retry, text, mirror])) == [retry | {"cause": {}}, text, mirror]
