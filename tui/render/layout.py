"""Wraps styled text into lines of segments by cell width; every rendering function builds on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from typing import Any, TypeVar

from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from rich.style import Style

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
_TOKENS = re.compile(f"\n|[ \t]+|[{_WIDE}]|[^ \t\n{_WIDE}]+")


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
    wrapper = _Wrapper(max(1, width))
    for text, style in pieces:
        for token in _TOKENS.findall(text):
            wrapper.add(token, style)
    return wrapper.finish()


class _Wrapper:
    def __init__(self, width: int) -> None:
        self._width = width
        self._lines: list[Line] = []
        self._line: Line = []
        self._used = 0
        self._word: Line = []
        self._word_width = 0
        self._blank: Segment | None = None
        self._soft = False

    def add(self, token: str, style: Style) -> None:
        first = token[0]
        if first == "\n":
            self._end_word()
            self.end_line(soft=False)
        elif first in " \t":
            self._end_word()
            self._blank = Segment(token.replace("\t", "    "), style)
        elif len(token) == 1 and not token.isascii() and cell_len(token) == 2:
            self._end_word()
            self._word = [Segment(token, style)]
            self._word_width = 2
            self._end_word()
        else:
            self._word.append(Segment(token, style))
            self._word_width += width_of(token)

    def finish(self) -> list[Line]:
        self._end_word()
        if self._line or not self._lines:
            self.end_line(soft=False)
        return self._lines

    def end_line(self, *, soft: bool) -> None:
        self._lines.append(merge(self._line))
        self._line = []
        self._used = 0
        self._blank = None
        self._soft = soft

    def _end_word(self) -> None:
        if not self._word:
            return
        word, word_width = self._word, self._word_width
        self._word, self._word_width = [], 0
        blank = self._blank
        self._blank = None
        if blank is not None and not self._line and self._soft:
            blank = None
        blank_width = len(blank.text) if blank is not None else 0
        if self._used + blank_width + word_width > self._width:
            if self._line:
                self.end_line(soft=True)
            blank = None
        if blank is not None:
            self._line.append(blank)
            self._used += blank_width
        if self._used + word_width <= self._width:
            self._line.extend(word)
            self._used += word_width
            return
        for text, style, _ in word:
            self.chop(text, style)

    def chop(self, text: str, style: Style | None) -> None:
        room = self._width - self._used
        if room > 0 and width_of(text) > room:
            head = chop_cells(text[: room * 4 + 8], room)[0]
            if width_of(head) <= room:
                self._line.append(Segment(head, style))
                text = text[len(head) :]
            self.end_line(soft=True)
        elif room <= 0:
            self.end_line(soft=True)
        rows = chop_cells(text, self._width) if width_of(text) > self._width else [text]
        for number, row in enumerate(rows):
            if number:
                self.end_line(soft=True)
            self._line.append(Segment(row, style))
            self._used += width_of(row)


def chop(pieces: Iterable[Piece], width: int) -> list[Line]:
    """Break styled text at its line breaks, and lines of more than `width` cells anywhere."""
    wrapper = _Wrapper(max(1, width))
    for text, style in pieces:
        for number, part in enumerate(text.split("\n")):
            if number:
                wrapper.end_line(soft=False)
            if part:
                wrapper.chop(part, style)
    return wrapper.finish()


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
        head = chop_cells(text[: room * 4 + 8], room)[0] if room > 0 else ""
        if width >= 1:
            result.append(Segment(head + "…", style))
        break
    return result


def spread(left: Line, right: Line, width: int, blank: Style | None = None) -> Line:
    """Put `left` and `right` at the two ends of a line; `left` is cut if both do not fit."""
    right_width = line_width(right)
    if right_width + 2 > width:
        return cut_line(left, width)
    left = cut_line(left, width - right_width - 1)
    return [*left, Segment(" " * (width - right_width - line_width(left)), blank), *right]
