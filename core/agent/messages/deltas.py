"""The pieces of a text that streams: those that arrive together are joined, so that few messages remain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

_TEXTS = {"text_delta": "text", "thinking_delta": "thinking"}
"""The field with the text, by the type of the piece."""


class _Text(NamedTuple):
    """The text that a message is a piece of."""

    kind: str
    block: object
    subagent: object


def is_delta(message: Mapping[str, Any]) -> bool:
    """Whether a message of the command line is a piece of something that streams."""
    return message.get("type") == "stream_event" and message["event"].get("type") == "content_block_delta"


def join_deltas(messages: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Give the messages in order, with the pieces of one text that follow each other as one message."""
    for key, found in groupby(messages, _text_of):
        if key is None:
            yield from found
            continue
        pieces = list(found)
        first = pieces[0]
        if len(pieces) > 1:
            kind, event = _TEXTS[key.kind], first["event"]
            text = "".join(each["event"]["delta"][kind] for each in pieces)
            first = {**first, "event": {**event, "delta": {**event["delta"], kind: text}}}
        yield first


def _text_of(message: Mapping[str, Any]) -> _Text | None:
    """The text that a message is a piece of; None if it is no piece of a text."""
    match message:
        case {
            "type": "stream_event",
            "event": {
                "type": "content_block_delta",
                "delta": {"type": "text_delta", "text": str()}
                | {"type": "thinking_delta", "thinking": str()},
            } as event,
        }:
            return _Text(event["delta"]["type"], event.get("index"), message.get("parent_tool_use_id"))
        case _:
            return None
