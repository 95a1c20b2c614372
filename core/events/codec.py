"""Converts events to lines of JSON and back."""

from __future__ import annotations

import sys
from functools import reduce
from operator import or_
from typing import Any

import msgspec

from ua_tui.core.events import types
from ua_tui.core.events.types import Event, UnknownEvent
from ua_tui.core.json_values import JsonObject, object_in
from ua_tui.core.observation import Observation
from ua_tui.core.text import encodable

EVENT_TYPES: tuple[type[Event], ...] = tuple(
    kind
    for kind in vars(types).values()
    # What is called an event is a base of others, or one that is not known.
    if isinstance(kind, type) and issubclass(kind, Event) and not kind.__name__.endswith("Event")
)
ANY_EVENT: Any = reduce(or_, EVENT_TYPES)
"""The union of all event types, which `msgspec` distinguishes by their tags."""

_NAMES = frozenset(str(kind.__struct_config__.tag) for kind in EVENT_TYPES)
_ALWAYS_DECODED = 4 << 20
_MOST_MEMORY = 190_000_000
# Measured with search results of several shapes, in bytes.
_TIMES_COPIED = 4
_OBJECT, _LIST, _VALUE = 1_000, 80, 40
_ENCODER = msgspec.json.Encoder()
# Made once: types that several threads decode for the first time can crash msgspec 0.22.
_DECODER = msgspec.json.Decoder(ANY_EVENT)


def encode_event(event: Event) -> bytes:
    """Encode an event as one JSON object, without a line break."""
    return _ENCODER.encode(_written(event))


def encode_any_event(event: Event) -> bytes:
    """Encode an event as far as it can be, if it is not plain JSON; it is not nested deeply."""
    return _ENCODER.encode(encodable(msgspec.to_builtins(_written(event), enc_hook=str)))


def _written(event: Event) -> Event:
    if isinstance(found := getattr(event, "observation", None), Observation):
        return msgspec.structs.replace(event, observation=found.without_output())
    return event


def to_json(value: Any, otherwise: str = "{}") -> str:
    """Encode data of any kind, such as the arguments of a call; `otherwise` if it is not plain JSON."""
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return otherwise


def from_json(data: str | bytes) -> Any:
    """Decode data that may be anything; None if it is not JSON, or takes too much memory."""
    if takes_too_much_memory(data):
        return None
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def takes_too_much_memory(data: str | bytes) -> bool:
    """Whether the values of a JSON document, and what is made of them, could take more than 190 MB.

    An estimate from the size of the data and the number of its values: a row of ten short fields takes a kilobyte.
    """
    if len(data) <= _ALWAYS_DECODED:
        return False
    objects, lists, commas = (
        data.count(mark) if isinstance(data, str) else data.count(mark.encode()) for mark in "{[,"
    )
    size = sys.getsizeof(data) + _TIMES_COPIED * len(data)
    return size + _OBJECT * objects + _LIST * lists + _VALUE * commas > _MOST_MEMORY


def decode_event(line: bytes | str) -> Event:
    """Decode one journal line; an event of a later version comes back as `UnknownEvent`.

    An observation of a later version comes back as that of any MCP tool, if it has its fields.

    Raises:
        ValueError: the line is not JSON, or not an event.
    """
    try:
        event: Event = _DECODER.decode(line)
        return event
    except (msgspec.DecodeError, RecursionError) as error:
        raw = from_json(line)
        if found := object_in(raw, "observation"):
            try:
                given = {**raw, "observation": {**found, "kind": "mcp"}}
                older: Event = _DECODER.decode(msgspec.json.encode(given))
                return older
            except (msgspec.DecodeError, RecursionError):
                pass
        name = raw.pop("event", None) if isinstance(raw, dict) else None
        if not isinstance(name, str) or name in _NAMES:
            raise ValueError(f"not an event: {error}") from error
        seq = raw.pop("seq", 0)
        return UnknownEvent(seq=seq if isinstance(seq, int) else 0, original_name=name, fields=raw)


_DESCRIPTION = (
    "One line of journal.jsonl. Later versions may add events and fields: "
    "skip events whose name you do not know, and fields likewise."
)


def journal_schema() -> JsonObject:
    """Make the schema (draft 2020-12) that every line of a journal follows."""
    (line,), definitions = msgspec.json.schema_components((ANY_EVENT,), ref_template="#/$defs/{name}")
    for kind in EVENT_TYPES:
        stamped = definitions[kind.__name__]
        stamped["properties"].pop("place", None)
        for name in ("seq", "at"):
            # The types have defaults because the bus fills these fields in, but every line has them.
            stamped["properties"][name].pop("default", None)
        stamped["properties"]["at"]["format"] = "date-time"
        stamped["required"] = ["event", "seq", "at", *stamped["required"][1:]]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ua-tui journal line",
        "description": _DESCRIPTION,
        **line,
        "$defs": definitions,
    }
