from __future__ import annotations

from typing import Any

import pytest

from core.agent.messages.deltas import is_delta, join_deltas


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


@pytest.mark.parametrize(
    "other",
    [
        piece("b", index=1),
        piece("b", of="toolu_1"),
        piece("b", thought=True),
        stop(),
        {"type": "control_request"},
        {"type": "stream_event", "event": {"type": "content_block_delta", "index": 0, "delta": {"type": []}}},
        {"type": "stream_event", "event": {"type": "content_block_delta", "index": 0, "delta": None}},
        {"type": "stream_event", "event": {"type": "ping"}},
    ],
)
def test_what_does_not_continue_a_text_stays_where_it_is(other: dict[str, Any]) -> None:
    assert list(join_deltas([piece("a"), other, piece("c")])) == [piece("a"), other, piece("c")]


def test_only_pieces_are_deltas() -> None:
    assert not is_delta({"type": "control_request"})
    assert is_delta(piece("a"))
    assert not is_delta(stop())
