"""JSON as text: indented and coloured line by line; no objects are built."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
from textual.content import Span

from ua_tui.core.text import clean
from ua_tui.tui.viewers.bodies.text import TextBody

_TOKEN = re.compile(
    r'(?P<key>"(?:[^"\\]|\\.)*")(?=\s*:)'
    r'|(?P<string>"(?:[^"\\]|\\.)*"?)'
    r"|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"
    r"|(?P<literal>\b(?:true|false|null)\b)"
    r"|(?P<dim>[{}\[\],:]+)"
)


def format_json(data: bytes | str) -> str:
    """Indent JSON text; numbers, the order of keys and duplicate keys are preserved.

    Raises:
        ValueError: the text is not JSON.
        RecursionError: it is nested too deeply.
    """
    encoded = data.encode("utf-8", "replace") if isinstance(data, str) else data
    return msgspec.json.format(encoded.removeprefix(b"\xef\xbb\xbf"), indent=2).decode("utf-8", "replace")


def style_json_line(number: int, line: str) -> Sequence[Span]:
    """Colour keys, strings, numbers, literals and brackets of one line."""
    return [
        Span(match.start(), match.end(), str(match.lastgroup)) for match in _TOKEN.finditer(line, 0, 20_000)
    ]


def json_body(data: bytes | str) -> TextBody:
    """Return indented, coloured JSON.

    Raises:
        ValueError: the data are not JSON.
        RecursionError: they are nested too deeply.
    """
    return TextBody(clean(format_json(data)), style=style_json_line)
