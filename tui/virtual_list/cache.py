"""Rendered entries, kept while they are near: bounded by lines, the least recently used go first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

__all__ = ["LineCache", "Rendered"]

MOST_LINES = 500


class Rendered:
    """The lines of one entry, and those of them that were drawn under the cursor."""

    __slots__ = ("_lit", "stamp", "strips")

    def __init__(self, stamp: Hashable, strips: list[Strip]) -> None:
        self.stamp = stamp
        self.strips = strips
        self._lit: dict[tuple[int, int, Style], Strip] = {}

    def lit(self, line: int, width: int, base: Style, style: Style, bar: str) -> Strip:
        """Return a line as it looks under the cursor: lit whole, or with `bar` in its first cell."""
        key = (line, width, style)
        found = self._lit.get(key)
        if found is None:
            strip = self.strips[line].adjust_cell_length(width)
            if bar:
                found = Strip.join([Strip([Segment(bar, base + style)], 1), strip.crop(1).apply_style(base)])
            elif style.reverse:
                # Where the cursor is told by reversing, every colour in the row would become a block of its own.
                found = Strip([Segment(strip.text, base + style)], width)
            else:
                found = strip.apply_style(base + style)
            self._lit[key] = found
        return found

    def keep(self, older: Rendered) -> None:
        """Take over the equal lines of an older rendering: what is the same object is not painted again."""
        for number, (new, old) in enumerate(zip(self.strips, older.strips, strict=False)):
            if new == old:
                self.strips[number] = old
                for key, strip in older._lit.items():
                    if key[0] == number:
                        self._lit[key] = strip


class LineCache:
    """An LRU cache of `Rendered` by entry key; a stamp tells whether one is still true."""

    def __init__(self, most_lines: int = MOST_LINES) -> None:
        self._most = most_lines
        self._lines = 0
        self._held: OrderedDict[Hashable, Rendered] = OrderedDict()

    def get(self, key: Hashable, stamp: Hashable) -> Rendered | None:
        """Return what was rendered under this stamp."""
        found = self._held.get(key)
        if found is None or found.stamp != stamp:
            return None
        self._held.move_to_end(key)
        return found

    def put(self, key: Hashable, stamp: Hashable, strips: list[Strip]) -> Rendered:
        """Keep a rendering, reusing the lines that an older one of the same entry had already."""
        rendered = Rendered(stamp, strips)
        older = self._held.pop(key, None)
        if older is not None:
            rendered.keep(older)
            self._lines -= len(older.strips)
        self._held[key] = rendered
        self._lines += len(strips)
        while self._lines > self._most and len(self._held) > 1:
            _, dropped = self._held.popitem(last=False)
            self._lines -= len(dropped.strips)
        return rendered

    def drop(self, key: Hashable) -> None:
        """Forget one entry."""
        dropped = self._held.pop(key, None)
        if dropped is not None:
            self._lines -= len(dropped.strips)

    def clear(self) -> None:
        """Forget everything."""
        self._held.clear()
        self._lines = 0
