"""Many entries by their keys, with the lines each is drawn as and the heights they take.

Entries are plain objects. Their heights are estimated until they are first measured and kept in prefix sums;
their rendered lines live in a bounded cache.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from itertools import count
from typing import ClassVar, Generic, NamedTuple, Protocol, TypeVar

from rich.segment import Segment
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.render.layout import Line
from tui.virtual_list.cache import LineCache, Rendered
from tui.virtual_list.heights import Heights

__all__ = ["Entry", "EntryT", "LineEntries", "Row"]


class Entry(Protocol):
    """What a view needs of an entry: a key for life, and a number that changes whenever it looks different."""

    @property
    def key(self) -> Hashable:
        """The entry's identity in its view."""

    @property
    def revision(self) -> int:
        """Rises with every change that shows."""


EntryT = TypeVar("EntryT", bound=Entry)


class Row(NamedTuple):
    """A row of the screen: what it shows, and which line of which entry that is."""

    strip: Strip
    place: int
    line: int


class LineEntries(ScrollView, Generic[EntryT]):
    """Entries with their lines and heights, and nothing of which of them are on screen."""

    GUTTER: ClassVar[int] = 0
    """Cells kept free at the left, where the cursor is then a bar; without them it is a lit row."""

    def __init__(self, *, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._entries: list[EntryT] = []
        self._index: dict[Hashable, int] = {}
        self._heights = Heights()
        self._measured: set[Hashable] = set()
        self._cache = LineCache()
        self._generation = 0
        self._seen_size = Size(0, 0)
        self._rows: list[Row] = []
        self._top = (0, 0)
        self._pending = True

    # What a subclass gives

    @abstractmethod
    def render_entry(self, entry: EntryT, width: int) -> Sequence[Line]:
        """Render an entry as lines of at most `width` cells."""

    def estimate(self, entry: EntryT, width: int) -> int:
        """Guess the height of an entry that was not rendered yet."""
        return 1

    def group(self, entry: EntryT) -> Hashable:
        """Name the run of neighbours the cursor takes as one."""
        return entry.key

    def lead(self, entry: EntryT) -> int:
        """Count the blank lines at the top of an entry, which the cursor leaves out."""
        return 0

    # Entries

    @property
    def entries(self) -> Sequence[EntryT]:
        """All entries, in order; to be changed through the methods below only."""
        return self._entries

    def index_of(self, key: Hashable) -> int | None:
        """Return the place of an entry, or None when there is none of that key."""
        return self._index.get(key)

    @property
    def on_screen(self) -> Sequence[EntryT]:
        """The entries of which a line is on screen, in order."""
        first, last = (self._rows[0].place, self._rows[-1].place) if self._rows else (0, -1)
        return self._entries[max(0, first) : last + 1]

    def append(self, *entries: EntryT) -> None:
        """Add entries at the end."""
        width = self._inside()
        for entry in entries:
            self._index[entry.key] = len(self._entries)
            self._entries.append(entry)
            self._heights.append(self.estimate(entry, width))
        self._pending = True

    def replace_all(self, entries: list[EntryT], index: dict[Hashable, int], heights: Heights) -> None:
        """Take other entries, whose places by key and whose heights are known: nothing of them is gone through."""
        self._entries, self._index, self._heights = entries, index, heights
        self._measured = set()
        self._top = (0, 0)
        self._pending = True

    def splice(self, start: int, removed: int, entries: Iterable[EntryT]) -> None:
        """Replace `removed` entries from `start` on; the cost is that of what follows them."""
        added = list(entries)
        for entry in self._entries[start : start + removed]:
            del self._index[entry.key]
            self._measured.discard(entry.key)
            self._cache.drop(entry.key)
        self._entries[start : start + removed] = added
        width = self._inside()
        self._heights.splice(start, removed, [self.estimate(entry, width) for entry in added])
        # What follows moves only when there are more or fewer than before.
        moved = None if len(added) != removed else start + removed
        keys = [entry.key for entry in self._entries[start:moved]]
        self._index.update(zip(keys, count(start), strict=False))
        index, offset = self._top
        if start + removed <= index:
            self._top = (index + len(added) - removed, offset)
        elif start <= index:
            self._top = (min(start, max(0, len(self._entries) - 1)), 0)
        self._pending = True

    def touch(self, key: Hashable) -> None:
        """Tell that an entry changed; its revision has risen already."""
        index = self._index.get(key)
        if index is None:
            return
        self._measured.discard(key)
        visible = self._rows and self._rows[0].place <= index <= self._rows[-1].place
        if not visible:
            width = self._inside()
            self._heights.set(index, self.estimate(self._entries[index], width))
        self._pending = True

    # Lines and heights

    def _inside(self) -> int:
        # One cell at the right keeps text off the scroll bar.
        return max(1, self._seen_size.width - self.GUTTER - 1)

    def _measure(self, index: int) -> int:
        entry = self._entries[index]
        if entry.key not in self._measured:
            self._heights.set(index, len(self._rendered(index).strips))
            self._measured.add(entry.key)
        return self._heights[index]

    def _rendered(self, index: int) -> Rendered:
        entry = self._entries[index]
        width = self._inside()
        stamp = (entry.revision, width, self._generation)
        found = self._cache.get(entry.key, stamp)
        if found is None:
            margin = [Segment(" " * self.GUTTER)] if self.GUTTER else []
            lines = self.render_entry(entry, width)
            strips = [Strip([*margin, *line]) for line in lines]
            found = self._cache.put(entry.key, stamp, strips)
        return found

    def _guess_heights(self) -> None:
        width = self._inside()
        self._heights = Heights([self.estimate(entry, width) for entry in self._entries])
