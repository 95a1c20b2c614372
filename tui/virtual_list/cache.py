"""Rendered entries in an LRU cache that is bounded by the number of lines."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

MOST_LINES = 200


class Rendered:
    """The lines of one entry, and those of them that were drawn with the cursor on them."""

    __slots__ = ("_under_cursor", "stamp", "strips")

    def __init__(self, stamp: Hashable, strips: list[Strip]) -> None:
        self.stamp = stamp
        self.strips = strips
        self._under_cursor: dict[tuple[int, int, Style], Strip] = {}

    def under_cursor(self, line: int, width: int, base: Style, style: Style, bar: str) -> Strip:
        """Return a line with the cursor on it: highlighted, or with `bar` in its first cell."""
        key = (line, width, style)
        found = self._under_cursor.get(key)
        if found is None:
            strip = self.strips[line].adjust_cell_length(width)
            if bar:
                found = Strip.join([Strip([Segment(bar, base + style)], 1), strip.crop(1).apply_style(base)])
            elif style.reverse:
                # A cursor drawn by reversing would turn every colour in the row into a block of its own.
                found = Strip([Segment(strip.text, base + style)], width)
            else:
                found = strip.apply_style(base + style)
            self._under_cursor[key] = found
        return found

    def reuse(self, older: Rendered) -> None:
        """Use the equal lines of an older rendering: a line that is the same object is not painted again."""
        for number, (new, old) in enumerate(zip(self.strips, older.strips, strict=False)):
            if new == old:
                self.strips[number] = old
                for key, strip in older._under_cursor.items():
                    if key[0] == number:
                        self._under_cursor[key] = strip


class LineCache:
    """An LRU cache of `Rendered` by entry key; a stamp says whether one is still valid."""

    def __init__(self, most_lines: int = MOST_LINES) -> None:
        self._most = most_lines
        self._lines = 0
        self._entries: OrderedDict[Hashable, Rendered] = OrderedDict()

    def get(self, key: Hashable, stamp: Hashable) -> Rendered | None:
        """Return what was rendered under this stamp."""
        found = self._entries.get(key)
        if found is None or found.stamp != stamp:
            return None
        self._entries.move_to_end(key)
        return found

    def put(self, key: Hashable, stamp: Hashable, strips: list[Strip]) -> Rendered:
        """Store a rendering, which reuses the equal lines of an older one of the same entry."""
        rendered = Rendered(stamp, strips)
        older = self._entries.pop(key, None)
        if older is not None:
            rendered.reuse(older)
            self._lines -= len(older.strips)
        self._entries[key] = rendered
        self._lines += len(strips)
        while self._lines > self._most and len(self._entries) > 1:
            _, dropped = self._entries.popitem(last=False)
            self._lines -= len(dropped.strips)
        return rendered

    def drop(self, key: Hashable) -> None:
        """Drop one entry."""
        dropped = self._entries.pop(key, None)
        if dropped is not None:
            self._lines -= len(dropped.strips)

    def clear(self) -> None:
        """Drop everything."""
        self._entries.clear()
        self._lines = 0
