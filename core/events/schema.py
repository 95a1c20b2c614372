"""The JSON Schema of the journal, made from the event types."""

from __future__ import annotations

from typing import Any

import msgspec

from ua_tui.core.events.codec import ANY_EVENT, EVENT_TYPES

_DESCRIPTION = (
    "One line of journal.jsonl. Later versions may add events and fields: "
    "skip events whose name you do not know, and fields likewise."
)


def journal_schema() -> dict[str, Any]:
    """Make the schema (draft 2020-12) that every line of a journal follows."""
    (line,), definitions = msgspec.json.schema_components((ANY_EVENT,), ref_template="#/$defs/{name}")
    for kind in EVENT_TYPES:
        stamped = definitions[kind.__name__]
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
