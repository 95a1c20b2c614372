"""JSON as text: indented and coloured line by line, and a truncated beginning completed; no objects are built."""

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
_STRUCTURE = re.compile(rb'"(?:[^"\\]|\\.)*"|["{}\[\],]')


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


def complete_json(data: bytes) -> bytes:
    """Complete the beginning of a JSON document: cut it after its last complete member, and close every bracket.

    Raises:
        ValueError: there is no complete member in it.
    """
    closers: list[bytes] = []
    end = depth = 0
    for token in _STRUCTURE.finditer(data):
        match token.group():
            case b"{":
                closers.append(b"}")
            case b"[":
                closers.append(b"]")
            case b"}" | b"]":
                if closers:
                    closers.pop()
                end, depth = token.end(), len(closers)
            case b'"':
                break
            case b",":
                end, depth = token.start(), len(closers)
    if not end:
        raise ValueError("no complete member")
    # After the end, brackets were only opened, so those open at the end are still at the bottom of the stack.
    return data[:end] + b"".join(reversed(closers[:depth]))
