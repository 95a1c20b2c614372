"""Wraps styled text into lines of segments by cell width; every rendering function builds on it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import accumulate
from typing import Any, TypeVar

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from rich.style import Style

from ua_tui.tui.render.format import head

ThemeT = TypeVar("ThemeT")


def component_classes(theme: type[Any], prefix: str) -> dict[str, str]:
    """Return the component class of each style of a theme, by the name of its field."""
    names = [each.name for each in fields(theme) if each.type == "Style"]
    return {name: f"{prefix}-{name.replace('_', '-')}" for name in names}


def read_theme(theme: type[ThemeT], prefix: str, style: Callable[[str], Style], **others: object) -> ThemeT:
    """Make a theme from `style`, which gives the style of a component class; `others` are its other fields."""
    styles = {name: style(component) for name, component in component_classes(theme, prefix).items()}
    return theme(**styles, **others)


PLAIN = Style.null()
Line = list[Segment]
Piece = tuple[str, Style]

# Wide scripts break between any two characters, other text only at spaces.
_WIDE = (
    "\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60"
)
_WORDS = re.compile(f"( *)([{_WIDE}]|[^ {_WIDE}]+)")


def width_of(text: str) -> int:
    """Return the width of `text` in cells."""
    return len(text) if text.isascii() else cell_len(text)


def line_width(line: Iterable[Segment]) -> int:
    """Return the width of a line in cells."""
    return sum(width_of(segment.text) for segment in line)


def plain(line: Iterable[Segment]) -> str:
    """Return the text of a line without styles."""
    return "".join(segment.text for segment in line)


def merge(line: Sequence[Segment]) -> Line:
    """Join adjacent segments of the same style."""
    merged: Line = []
    for segment in line:
        if not segment.text:
            continue
        if merged and merged[-1].style is segment.style:
            merged[-1] = Segment(merged[-1].text + segment.text, segment.style)
        else:
            merged.append(segment)
    return merged


def wrap(pieces: Iterable[Piece], width: int) -> list[Line]:
    """Wrap styled text at spaces into lines of at most `width` cells; longer words are broken anywhere.

    Line breaks in the text and spaces at the start of a line are preserved; spaces at a wrapped line end are removed.
    """
    return _broken([(text.replace("\t", "    "), style) for text, style in pieces], width, _wrapped)


def chop(pieces: Iterable[Piece], width: int) -> list[Line]:
    """Break styled text at its line breaks, and lines of more than `width` cells anywhere."""
    return _broken(list(pieces), width, _chopped)


Break = Callable[[str, int], Iterator[tuple[int, int]]]
"""Returns where the lines begin and end into which a text without line breaks is broken at a width."""


def _broken(pieces: Sequence[Piece], width: int, rows_of: Break) -> list[Line]:
    parts = "".join(text for text, _ in pieces).split("\n")
    is_empty = not (parts[-1].strip(" ") if rows_of is _wrapped else parts[-1])
    if len(parts) > 1 and is_empty:
        parts.pop()
    begins = [0, *accumulate(len(text) for text, _ in pieces)]
    lines: list[Line] = []
    first = 0
    for part in parts:
        for start, end in rows_of(part, max(1, width)):
            begin, stop = first + start, first + end
            line: Line = []
            for number in range(bisect_right(begins, begin) - 1, min(bisect_left(begins, stop), len(pieces))):
                (text, style), before = pieces[number], begins[number]
                line.append(Segment(text[max(0, begin - before) : stop - before], style))
            lines.append(merge(line))
        first += len(part) + 1
    return lines


def _chopped(text: str, width: int) -> Iterator[tuple[int, int]]:
    start = 0
    for row in chop_cells(text, width) if width_of(text) > width else [text]:
        yield start, start + len(row)
        start += len(row)


def _wrapped(text: str, width: int) -> Iterator[tuple[int, int]]:
    first = end = used = 0
    is_begun = was_wrapped = False
    for found in _WORDS.finditer(text):
        start, gap, size = found.start(2), len(found[1]), width_of(found[2])
        if is_begun and used + gap + size > width:
            yield first, end
            is_begun, was_wrapped = False, True
        if is_begun:
            used += gap
        else:
            is_cut = was_wrapped or gap + size > width
            first, used = (start, 0) if is_cut else (found.start(), gap)
        is_begun, end = True, found.end()
        used += size
        if used > width:
            *rows, last = _chopped(found[2], width)
            yield from ((start + begin, start + stop) for begin, stop in rows)
            first, used, was_wrapped = start + last[0], width_of(text[start + last[0] : end]), True
    yield first, end


def cut_line(line: Line, width: int) -> Line:
    """Cut a line at `width` cells; the ellipsis has the style of the cut part."""
    if line_width(line) <= width:
        return line
    result: Line = []
    room = width - 1
    for text, style, _ in line:
        used = width_of(text)
        if used <= room:
            result.append(Segment(text, style))
            room -= used
            continue
        if width >= 1:
            result.append(Segment(head(text, room) + "…", style))
        break
    return result


def spread(left: Line, right: Line, width: int, blank: Style | None = None) -> Line:
    """Put `left` and `right` at the two ends of a line; `left` is cut if both do not fit."""
    right_width = line_width(right)
    if right_width + 2 > width:
        return cut_line(left, width)
    left = cut_line(left, width - right_width - 1)
    return [*left, Segment(" " * (width - right_width - line_width(left)), blank), *right]
