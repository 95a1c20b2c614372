"""Reads a JSON object piece by piece: one step decodes one member, or one item of its long list.

The text may be cut off, damaged or hostile: reading ends where it can no longer be understood.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ua_tui.core.events.codec import from_json

_SPACE = re.compile(r"[ \t\r\n]*")
_SHORT = 1 << 20
"""Characters that are decoded at once, in some milliseconds."""
_DECODER = json.JSONDecoder(strict=False)
_ERRORS = (ValueError, RecursionError, IndexError)


def read_object(text: str, items: str = "") -> tuple[dict[str, Any], Iterator[Any]]:
    """Return the members before the list named `items`, and the items of this list.

    If there is no such list, these are all members and no items. Those after the list are left out of a long text.
    """
    members: dict[str, Any] = {}
    if len(text) <= _SHORT and isinstance(value := from_json(text), dict):
        listed = value.pop(items, ()) if isinstance(value.get(items), list) else ()
        return value, iter(listed)
    try:
        at = _after(text, 0, "{")
        while True:
            name, at = _DECODER.raw_decode(text, _skip(text, at))
            at = _skip(text, _after(text, at, ":"))
            if name == items and text[at] == "[":
                return members, _items(text, at + 1)
            members[str(name)], at = _DECODER.raw_decode(text, at)
            at = _after(text, at, ",")
    except _ERRORS:
        return members, iter(())


def _items(text: str, at: int) -> Iterator[Any]:
    while True:
        try:
            item, at = _DECODER.raw_decode(text, _skip(text, at))
        except _ERRORS:
            return
        yield item
        try:
            at = _after(text, at, ",")
        except _ERRORS:
            return


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


def _after(text: str, at: int, mark: str) -> int:
    at = _skip(text, at)
    if text[at] != mark:
        raise ValueError(f"no {mark} at {at}")
    return at + 1
