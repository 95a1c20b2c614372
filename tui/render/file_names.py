"""Splits text at what looks like the path or the name of a file, and marks those that are files."""

from __future__ import annotations

import re
from collections.abc import Callable

from rich.style import Style

from tui.render.layout import Piece

__all__ = ["FindFile", "no_file", "with_files"]

FindFile = Callable[[str], str | None]
"""Returns the path of the file that a word names; None if it names none."""

_NAME = re.compile(
    r"(?<![\w/@:.~+-])/?(?:[\w.@~+-]{1,100}/){0,12}[\w@~+-][\w.@~+-]{0,200}\.[A-Za-z][A-Za-z0-9]{0,9}(?![\w/@])"
)


def no_file(_word: str) -> str | None:
    """Find no file."""
    return None


def with_files(text: str, style: Style, link: Style, find: FindFile) -> list[Piece]:
    """Return text in pieces; those that name a file have the style of a `link`, and its path in `meta["file"]`."""
    if find is no_file or "." not in text:
        return [(text, style)]
    pieces: list[Piece] = []
    position = 0
    for found in _NAME.finditer(text):
        path = find(found.group())
        if path is not None:
            pieces.append((text[position : found.start()], style))
            pieces.append((found.group(), style + link + Style(meta={"file": path})))
            position = found.end()
    pieces.append((text[position:], style))
    return [piece for piece in pieces if piece[0]]
