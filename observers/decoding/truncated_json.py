"""Repairs a JSON or Python literal that was cut off in the middle."""

from __future__ import annotations

import re

CUT_OFF = "__cut_off__"
"""Key added to every object that was still open at the cut; its value is the key of the field cut in two."""

MAX_OPEN = 200

_JSON = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|["{}\[\],]', re.DOTALL)
_PYTHON = re.compile(
    r"'[^'\\]*(?:\\.[^'\\]*)*'" + r'|"[^"\\]*(?:\\.[^"\\]*)*"|' + r"['\"{}\[\](),]", re.DOTALL
)
_KEY = re.compile(r"""\s*,?\s*("[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*')\s*:\s*$""", re.DOTALL)
_HALF_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7})?$")
_CLOSER = {"{": "}", "[": "]", "(": ")"}


def repair(text: str, *, end: int | None = None) -> str | None:
    """Close what `text` left open, so that it parses; None when nothing complete is in it.

    `text` starts with a bracket; `end` is where reading stopped making sense, by default its length. Every
    complete element is kept as it is. Objects open at the cut are marked with `CUT_OFF`. A string cut in two
    is kept as far as it goes when it is the value of a key, because it may hold a whole document itself.
    """
    end = len(text) if end is None else end
    python = _is_python(text)
    open_: list[tuple[str, int]] = []
    cut_string: int | None = None
    for match in (_PYTHON if python else _JSON).finditer(text, 0, end):
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
    return _close(text, open_, cut_string, end, quote="'" if python else '"')


def _is_python(text: str) -> bool:
    single, double = text.find("'", 0, 200), text.find('"', 0, 200)
    return single >= 0 and (double < 0 or single < double)


def _close(text: str, open_: list[tuple[str, int]], cut_string: int | None, end: int, *, quote: str) -> str:
    closer, safe = open_[-1]
    complete = text[:safe].rstrip()
    pieces = [complete]
    key = f"{quote}{quote}"
    if closer == "}":
        empty = complete.endswith("{")
        if cut_string is not None and (found := _KEY.match(text, safe, cut_string)):
            key = found[1]
            value = _trim(text[cut_string:end])
            pieces.append(f"{'' if empty else ','}{key}:{value}{value[0]}")
            empty = False
        pieces.append("" if empty else ",")
        pieces.append(f"{quote}{CUT_OFF}{quote}:{key}}}")
    else:
        pieces.append(closer)
    for outer, _ in reversed(open_[:-1]):
        pieces.append(f",{quote}{CUT_OFF}{quote}:{quote}{quote}}}" if outer == "}" else outer)
    return "".join(pieces)


def _trim(value: str) -> str:
    """Drop an escape sequence that the cut left unfinished."""
    found = _HALF_ESCAPE.search(value)
    if found is None:
        return value
    slashes = len(value[: found.start() + 1]) - len(value[: found.start() + 1].rstrip("\\"))
    return value[: found.start()] if slashes % 2 else value
