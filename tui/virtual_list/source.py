"""What a virtual list holds: its entries with their keys and heights, and the lines that were drawn for them."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Sequence
from itertools import accumulate, count
from typing import Generic, NamedTuple, Protocol, TypeVar

from textual.strip import Strip


class Entry(Protocol):
    """What a list needs of an entry: a key for life, and a number that changes whenever it looks different."""

    @property
    def key(self) -> Hashable:
        """The entry's identity in its list."""

    @property
    def revision(self) -> int:
        """Rises with every visible change."""


EntryT = TypeVar("EntryT", bound=Entry)


class EntryList(Generic[EntryT]):
    """Entries in order, with the index of each by its key, and with their heights in prefix sums."""

    __slots__ = ("heights", "index", "items")

    def __init__(self, entries: Iterable[EntryT] = (), heights: Iterable[int] = ()) -> None:
        self.items: list[EntryT] = list(entries)
        self.index: dict[Hashable, int] = {entry.key: at for at, entry in enumerate(self.items)}
        self.heights = Heights(heights)

    def splice(self, start: int, removed: int, entries: Sequence[EntryT], heights: Sequence[int]) -> None:
        """Replace `removed` entries from `start` on; the cost is that of what follows them."""
        for entry in self.items[start : start + removed]:
            del self.index[entry.key]
        self.items[start : start + removed] = entries
        self.heights.splice(start, removed, heights)
        # What follows moves only when there are more or fewer entries than before.
        moved = None if len(entries) != removed else start + removed
        keys = [entry.key for entry in self.items[start:moved]]
        self.index.update(zip(keys, count(start), strict=False))


class Heights:
    """A list of heights in lines, with its prefix sums: those behind a change are made again when they are needed.

    Attributes:
        total: the sum of all heights.
    """

    def __init__(self, values: Iterable[int] = ()) -> None:
        self._values = list(values)
        self._sums = [0]
        self.total = sum(self._values)

    def __getitem__(self, index: int) -> int:
        return self._values[index]

    def before(self, index: int) -> int:
        """Return the sum of the heights before `index`: the line at which it begins."""
        return self._all_sums()[index]

    def at(self, line: int) -> tuple[int, int]:
        """Return the index of the entry that holds `line` and the line's offset inside it.

        A line past the end gives the number of entries and how far past it is.
        """
        sums, line = self._all_sums(), max(0, line)
        index = bisect_right(sums, line) - 1
        return index, line - sums[index]

    def set(self, index: int, height: int) -> None:
        """Change one height."""
        if height != self._values[index]:
            self.splice(index, 1, [height])

    def splice(self, start: int, removed: int, heights: Sequence[int]) -> None:
        """Replace `removed` heights from `start` on by others."""
        self.total += sum(heights) - sum(self._values[start : start + removed])
        self._values[start : start + removed] = heights
        del self._sums[start + 1 :]

    def _all_sums(self) -> list[int]:
        last = self._sums.pop()
        self._sums += accumulate(self._values[len(self._sums) :], initial=last)
        return self._sums


MOST_LINES = 200


class Rendered(NamedTuple):
    """The lines of one entry, and the stamp that says what they were rendered of."""

    stamp: Hashable
    strips: list[Strip]


class LineCache:
    """What was rendered of the entries that were shown last, by their keys: of several at most so many lines."""

    def __init__(self, most_lines: int = MOST_LINES) -> None:
        self._most = most_lines
        self._entries: OrderedDict[Hashable, Rendered] = OrderedDict()

    @property
    def lines(self) -> int:
        """The number of lines."""
        return sum(len(each.strips) for each in self._entries.values())

    def get(self, key: Hashable, stamp: Hashable) -> Rendered | None:
        """Return what was rendered under this stamp."""
        found = self._entries.get(key)
        if found is None or found.stamp != stamp:
            return None
        self._entries.move_to_end(key)
        return found

    def put(self, key: Hashable, rendered: Rendered) -> None:
        """Store a rendering in the place of an older one of the same entry, whose equal lines it takes over."""
        if (older := self._entries.get(key)) is not None:
            # Textual keeps in a strip what it has made of it for the screen.
            for number, (old, new) in enumerate(zip(older.strips, rendered.strips, strict=False)):
                if old == new:
                    rendered.strips[number] = old
        self._entries[key] = rendered
        self._entries.move_to_end(key)
        while len(self._entries) > 1 and self.lines > self._most:
            self._entries.popitem(last=False)

    def drop(self, key: Hashable) -> None:
        """Drop one entry."""
        self._entries.pop(key, None)

    def clear(self) -> None:
        """Drop everything."""
        self._entries.clear()
