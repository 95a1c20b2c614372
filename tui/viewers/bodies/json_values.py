"""JSON values as bytes: their kind, their members one level at a time, and their text; no objects are built."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from ua_tui.core.text import clean, clean_line

Value = msgspec.Raw | bytes | memoryview
"""The bytes of one value."""

Kind = Literal["object", "list", "string", "number", "literal", "bad"]
Level = tuple[Sequence[str] | None, Sequence[Value]]
"""The members of an object (names and values) or of a list (no names, values)."""

_KINDS: dict[bytes, Kind] = {
    b"{": "object", b"[": "list", b'"': "string", b"t": "literal", b"f": "literal", b"n": "literal", b"-": "number",
    **{str(digit).encode(): "number" for digit in range(10)},
}  # fmt: skip
_MAX_DECODED = 64 * 1024
_CHUNK = 1 << 20

_decode_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_list = msgspec.json.Decoder(list[msgspec.Raw]).decode


def kind_of(value: Value) -> Kind:
    """Return the kind of a value, judged by its first byte."""
    return _KINDS.get(bytes(memoryview(value)[:1]), "bad")


def open_level(value: Value) -> Level | None:
    """Return the members of an object or a list; None for any other value.

    Of members with the same name only the last one is returned.

    Raises:
        ValueError: the bytes are not JSON.
        RecursionError: they are nested too deeply.
    """
    view = memoryview(value)
    match kind_of(value):
        case "object":
            found = _decode_object(view)
            return (list(found), list(found.values()))
        case "list":
            return (None, _decode_list(view))
        case _:
            return None


def readable_level(value: Value) -> Level | None:
    """Return the members of an object or a list; None for any other value, and for a damaged one."""
    try:
        return open_level(value)
    except (ValueError, RecursionError):
        return None


def _beginning(view: memoryview, limit: int) -> str:
    return clean_line(bytes(view[: limit * 4]).decode("utf-8", "replace"), limit)


def text_of(value: Value, limit: int) -> str | None:
    """Return the text to copy: the content of a string, or else the JSON; None if it is longer than `limit`."""
    view = memoryview(value)
    if len(view) > limit:
        return None
    if kind_of(value) == "string":
        found = _decoded(view)
        if isinstance(found, str):
            return clean(found)
    return clean(bytes(view).decode("utf-8", "replace"))


def shown_scalar(value: Value, limit: int) -> tuple[str, str]:
    """Return a scalar on one line of about `limit` characters, and its length if it was cut."""
    view = memoryview(value)
    if kind_of(value) != "string":
        return (_beginning(view, limit), f"{len(view):,} characters" if len(view) > limit else "")
    if len(view) <= _MAX_DECODED:
        found = _decoded(view)
        if not isinstance(found, str):
            return (_beginning(view, limit), "")
        length = f"{len(found):,} characters"
    else:
        found = bytes(view[1 : limit * 4]).decode("utf-8", "replace")
        length = f"about {len(view):,} bytes"
    line = clean_line(found[: limit * 4], limit * 4)
    fits = len(view) <= _MAX_DECODED and len(line) <= limit and "\n" not in found.strip()
    return (f'"{line[:limit]}"' if fits else f'"{line[:limit].removesuffix("…")}…"', "" if fits else length)


def preview(value: Value, limit: int) -> tuple[str | None, str]:
    """Return the number of members of an object or a list, and its first members on one line.

    The number is empty if the value is too large to be counted, and None if it is not valid JSON.
    """
    view = memoryview(value)
    is_large = len(view) > _MAX_DECODED
    level = None if is_large else readable_level(value)
    if level is None:
        return ("" if is_large else None, _beginning(view, limit))
    names, values = level
    parts: list[str] = []
    room = limit
    for place, member in enumerate(values[:12]):
        if room <= 0:
            break
        match kind_of(member):
            case "object":
                text = "{…}"
            case "list":
                text = "[…]"
            case _:
                text, _ = shown_scalar(member, min(room, 40))
        part = f"{clean_line(names[place], 40)}: {text}" if names is not None else text
        parts.append(part)
        room -= len(part) + 2
    line = ", ".join(parts)
    # The caller cuts the line and adds an ellipsis.
    return (f"{len(values):,}", line.removesuffix("…") if len(line) > limit else line)


class Finder:
    """Finds a text in the bytes of JSON values, regardless of case, also where its characters are escaped."""

    def __init__(self, needle: str) -> None:
        self.needle = needle.casefold()
        spelt = {json.dumps(each)[1:-1].casefold() for each in (self.needle, needle, needle.upper())}
        self._forms = {self.needle, json.dumps(self.needle, ensure_ascii=False)[1:-1], *spelt}
        self._overlap = 12 * len(needle)

    def in_value(self, value: Value) -> bool:
        """Whether a value contains the text; long values are searched piece by piece."""
        view = memoryview(value)
        for start in range(0, max(1, len(view)), _CHUNK):
            piece = bytes(view[start : start + _CHUNK + self._overlap]).decode("utf-8", "replace")
            piece = piece.replace("\\/", "/").casefold()
            if any(form in piece for form in self._forms):
                return True
        return False


def _decoded(view: memoryview) -> Any:
    try:
        return msgspec.json.decode(view)
    except (ValueError, RecursionError):
        pass
    try:
        return json.loads(bytes(view))
    except (ValueError, RecursionError):
        return None
