"""Colours for JSON, one line at a time, and its tidy form without ever building the objects."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
from textual.content import Span

__all__ = ["format_json", "style_json_line"]

_TOKEN = re.compile(
    r'(?P<key>"(?:[^"\\]|\\.)*")(?=\s*:)'
    r'|(?P<string>"(?:[^"\\]|\\.)*"?)'
    r"|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"
    r"|(?P<literal>\b(?:true|false|null)\b)"
    r"|(?P<dim>[{}\[\],:]+)"
)
_STYLED_CHARACTERS = 20_000


def format_json(data: bytes | str, indent: int = 2) -> str:
    """Indent JSON text, keeping every number, key order and duplicate key as written.

    Raises:
        ValueError: the text is not JSON.
        RecursionError: it is nested too deeply.
    """
    encoded = data.encode("utf-8", "replace") if isinstance(data, str) else data
    return msgspec.json.format(encoded.removeprefix(b"\xef\xbb\xbf"), indent=indent).decode(
        "utf-8", "replace"
    )


def style_json_line(number: int, line: str) -> Sequence[Span]:
    """Colour keys, strings, numbers, literals and brackets of one line."""
    return [
        Span(match.start(), match.end(), str(match.lastgroup))
        for match in _TOKEN.finditer(line, 0, _STYLED_CHARACTERS)
    ]
