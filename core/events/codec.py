"""Converts events to lines of JSON and back."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

import msgspec

from core.events.types import Event, UnknownEvent

__all__ = ["ANY_EVENT", "EVENT_TYPES", "decode_event", "encode_event", "from_json", "to_json"]

EVENT_TYPES: tuple[type[Event], ...] = tuple(
    kind
    for kind in Event.__subclasses__()
    if kind is not UnknownEvent and kind.__module__ == Event.__module__
)
ANY_EVENT: Any = reduce(or_, EVENT_TYPES)
"""The union of all event types, which `msgspec` distinguishes by their tags."""

_NAMES = frozenset(str(kind.__struct_config__.tag) for kind in EVENT_TYPES)
_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(ANY_EVENT)


def encode_event(event: Event) -> bytes:
    """Encode an event as one JSON object, without a line break."""
    return _ENCODER.encode(event)


def to_json(value: Any, otherwise: str = "{}") -> str:
    """Encode data of any kind, such as the arguments of a call; `otherwise` if it is not plain JSON."""
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return otherwise


def from_json(data: str | bytes) -> Any:
    """Decode data that may be anything; None if it is not JSON."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def decode_event(line: bytes | str) -> Event:
    """Decode one journal line; an event of a later version comes back as `UnknownEvent`.

    Raises:
        ValueError: the line is not JSON, or not an event.
    """
    try:
        event: Event = _DECODER.decode(line)
        return event
    except (msgspec.DecodeError, RecursionError) as error:
        raw = from_json(line)
        name = raw.pop("event", None) if isinstance(raw, dict) else None
        if not isinstance(name, str) or name in _NAMES:
            raise ValueError(f"not an event: {error}") from error
        seq = raw.pop("seq", 0)
        return UnknownEvent(seq=seq if isinstance(seq, int) else 0, original_name=name, fields=raw)
