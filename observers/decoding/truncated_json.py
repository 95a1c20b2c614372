"""Repairs a JSON or Python literal that was cut off in the middle."""

from __future__ import annotations

import re

CUT_OFF = "__cut_off__"
"""Key added to every object that was still open at the cut; its value is the key of the field cut in two."""

MAX_OPEN = 200

_PART = r"(?s)'[^'\\]*(?:\\.[^'\\]*)*'" + r'|"[^"\\]*(?:\\.[^"\\]*)*"|' + r"['\"{}\[\](),]"
_KEY = re.compile(r"""\s*,?\s*("[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*')\s*:\s*$""", re.DOTALL)
_HALF_ESCAPE = r"((?<!\\)(?:\\\\)*)\\(?:x[0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7})?$"
_CLOSER = {"{": "}", "[": "]", "(": ")"}


def repair(text: str) -> str | None:
    """Close what `text` left open, so that it parses; None when nothing complete is in it.

    `text` starts with a bracket. Every complete element is kept as it is. Objects open at the cut are marked with
    `CUT_OFF`. A string cut in two is kept as far as it goes when it is the value of a key, because it may hold a whole
    document itself.
    """
    open_: list[tuple[str, int]] = []
    cut_string: int | None = None
    for match in re.finditer(_PART, text):
        part = match.group()
        if part in _CLOSER:
            if len(open_) == MAX_OPEN:
                return None
            open_.append((_CLOSER[part], match.end()))
        elif part in ("}", "]", ")"):
            if not open_ or open_[-1][0] != part:
                break
            open_.pop()
            if not open_:
                return text[: match.end()]
            open_[-1] = (open_[-1][0], match.end())
        elif part == ",":
            if open_:
                open_[-1] = (open_[-1][0], match.start())
        elif len(part) == 1:
            cut_string = match.start()
            break
    if not open_:
        return None
    return _close(text, open_, cut_string)


def _close(text: str, open_: list[tuple[str, int]], cut_string: int | None) -> str:
    closer, safe = open_[-1]
    complete = text[:safe].rstrip()
    pieces = [complete]
    key = '""'
    if closer == "}":
        empty = complete.endswith("{")
        if cut_string is not None and (found := _KEY.match(text, safe, cut_string)):
            key = found[1]
            value = without_half_escape(text[cut_string:])
            pieces.append(f"{'' if empty else ','}{key}:{value}{value[0]}")
            empty = False
        pieces.append("" if empty else ",")
        pieces.append(f'"{CUT_OFF}":{key}}}')
    else:
        pieces.append(closer)
    for outer, _ in reversed(open_[:-1]):
        pieces.append(f',"{CUT_OFF}":""}}' if outer == "}" else outer)
    return "".join(pieces)


def without_half_escape(value: str) -> str:
    """A text without the escape sequence that a cut left unfinished."""
    return re.sub(_HALF_ESCAPE, r"\1", value)
