"""Splits text at what looks like the path or the name of a file, and marks those that are files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from rich.style import Style

from ua_tui.tui.render.layout import Piece

FindFile = Callable[[str], str | None]
"""Returns the path of the file that a word names; None if it names none."""

_NAME = re.compile(
    r"(?<![\w/@:.~+-])/?(?:[\w.@~+-]{1,100}/){0,12}[\w@~+-][\w.@~+-]{0,200}"
    r"\.[A-Za-z][A-Za-z0-9]{0,9}(?![A-Za-z0-9_/@])"
)
_QUOTED = re.compile(r"""(["'“‘«「『])((?=\S*\s)[^"'“”‘’«»「」『』\n]{1,300})["'”’»」』]""")
_LINE = re.compile(r"(?::|#L)([1-9][0-9]{0,7})(?::[0-9]{1,6}|-L?[0-9]{1,8})?(?!\w)")
_ASCII_START = re.compile(r"(?<=[^\x00-\x7f])[A-Za-z0-9]")


def no_file(_word: str) -> str | None:
    """Find no file."""
    return None


def with_files(text: str, style: Style, link: Style, find: FindFile) -> list[Piece]:
    """Return text in pieces; those that name a file have the style of a `link`, and its path in `meta["file"]`."""
    if find is no_file or "." not in text:
        return [(text, style)]
    pieces: list[Piece] = []
    position = 0
    for start, end, path in _files_in(text, find):
        line = _LINE.match(text, end)
        pieces.append((text[position:start], style))
        position = line.end() if line else end
        pieces.append((text[start:position], style + link + _style(path, line)))
    pieces.append((text[position:], style))
    return [piece for piece in pieces if piece[0]]


def file_style(address: str, find: FindFile) -> Style | None:
    """Return the `meta` of a link to a file, which may name a line of it as `notes.md:12`; None if there is no file."""
    path, line = find(address), None
    if path is None and (line := _LINE.search(address)) and line.end() == len(address):
        path = find(address[: line.start()])
    return None if path is None else _style(path, line)


def _style(path: str, line: re.Match[str] | None) -> Style:
    return Style(meta={"file": path, "line": int(line.group(1))} if line else {"file": path})


def _files_in(text: str, find: FindFile) -> Iterator[tuple[int, int, str]]:
    """The files that are named in a text, each with where its name starts and ends."""
    if " " in text and (path := find(text)) is not None:
        # All of a piece of code may be one name with spaces.
        yield 0, len(text), path
        return
    position = 0
    for quoted in _QUOTED.finditer(text):
        path = find(quoted.group(2))
        if path is not None:
            yield from _words_in(text, position, quoted.start(), find)
            yield quoted.start(2), quoted.end(2), path
            position = quoted.end()
    yield from _words_in(text, position, len(text), find)


def _words_in(text: str, start: int, end: int, find: FindFile) -> Iterator[tuple[int, int, str]]:
    for found in _NAME.finditer(text, start, end):
        word = found.group()
        # Scripts without spaces put their words right before a name.
        starts = [each.start() for each in _ASCII_START.finditer(word)] if not word.isascii() else []
        # A query names a file as `@notes.md`.
        starts = [1, *starts] if word.startswith("@") else starts
        for offset in (0, *starts[:3]):
            if (path := find(word[offset:])) is not None:
                yield found.start() + offset, found.end(), path
                break
