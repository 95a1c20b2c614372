"""Writes a result as a person would read it, for those who search or quote it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ua_tui.core.events.codec import from_json, to_json


def readable(text: str) -> str:
    """A result as a person would read it: of JSON the names and values, one a line, a paragraph for each object."""
    return "\n".join(_lines(text, "", 12)).strip("\n")


def _lines(value: Any, name: str, deepest: int) -> Iterator[str]:
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        inner = from_json(value) if deepest else None
        value = inner if isinstance(inner, dict | list) else value
    if isinstance(value, dict | list) and deepest:
        # What the knowledge base has of agents and people says that it is their own.
        is_own = isinstance(value, dict) and value.get("trust") == "own"
        items = value.items() if isinstance(value, dict) else ((name, each) for each in value)
        for key, each in () if is_own else items:
            yield from _lines(each, str(key), deepest - 1)
        yield from [""] if isinstance(value, dict) else []
    elif value is not None and not isinstance(value, bool):
        text = value if isinstance(value, str) else to_json(value)
        yield f"{name}: {text}" if name else text
