"""What a virtual list shows: its entries with their keys and heights, and how each of them is drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import accumulate, count
from typing import Generic, Protocol, TypeVar

from rich.style import Style

from ua_tui.tui.render.layout import Line


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

    def append(self, entry: EntryT, height: int) -> None:
        """Add an entry at the end."""
        self.index[entry.key] = len(self.items)
        self.items.append(entry)
        self.heights.append(height)

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


class RowSource(ABC, Generic[EntryT]):
    """The entries of a list, and how they are drawn; it knows nothing of the screen.

    Attributes:
        rows: the entries. They are changed through the list that shows them.
        single_lines: every entry is estimated as one line.
    """

    single_lines = False

    def __init__(self) -> None:
        self.rows: EntryList[EntryT] = EntryList()

    @abstractmethod
    def render(self, entry: EntryT, width: int) -> Sequence[Line]:
        """Render an entry as lines of at most `width` cells."""

    def estimate(self, entry: EntryT, width: int) -> int:
        """Guess the height of an entry that was not rendered yet."""
        return 1

    def group(self, entry: EntryT) -> Hashable:
        """Name the run of neighbours that the cursor treats as one."""
        return entry.key

    def lead(self, entry: EntryT) -> int:
        """Count the blank lines at the top of an entry, which the cursor leaves out."""
        return 0

    def counts_as_new(self, entry: EntryT) -> bool:
        """Whether the entry is counted among the new ones below the screen."""
        return True

    def render_below(self, width: int, *, focused: bool) -> Sequence[Line]:
        """Render what follows the last entry where there is room, such as a hint in an empty list."""
        return []

    def render_head(self, width: int, height: int) -> Sequence[Line]:
        """Render at most `height` lines, half of the list, that stay at the top whatever scrolls below."""
        return []

    def restyle(self, palette: Mapping[str, Style]) -> None:
        """Read the styles from a new palette: the style of each component class."""


class Heights:
    """A list of heights in lines with its prefix sums (a Fenwick tree).

    Appending, changing one and looking up a line cost O(log n); replacing a run costs what follows it.

    Attributes:
        total: the sum of all heights.
    """

    def __init__(self, values: Iterable[int] = ()) -> None:
        self._values: list[int] = []
        self._tree: list[int] = [0]
        self.total = 0
        self.splice(0, 0, list(values))

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: int) -> int:
        return self._values[index]

    def before(self, index: int) -> int:
        """Return the sum of the heights before `index`: the line at which it begins."""
        tree = self._tree
        total = 0
        while index > 0:
            total += tree[index]
            index -= index & -index
        return total

    def at(self, line: int) -> tuple[int, int]:
        """Return the index of the entry that holds `line` and the line's offset inside it.

        A line past the end gives the number of entries and how far past it is.
        """
        tree = self._tree
        size = len(self._values)
        index = 0
        rest = max(0, line)
        step = 1 << size.bit_length()
        while step:
            probe = index + step
            if probe <= size and tree[probe] <= rest:
                index = probe
                rest -= tree[probe]
            step >>= 1
        return index, rest

    def set(self, index: int, height: int) -> None:
        """Change one height."""
        change = height - self._values[index]
        if not change:
            return
        self._values[index] = height
        self.total += change
        tree = self._tree
        size = len(self._values)
        index += 1
        while index <= size:
            tree[index] += change
            index += index & -index

    def append(self, height: int) -> None:
        """Add one height at the end."""
        self._values.append(height)
        self.total += height
        tree = self._tree
        place = len(tree)
        covered = place - (place & -place)
        below = place - 1
        while below > covered:
            height += tree[below]
            below -= below & -below
        tree.append(height)

    def splice(self, start: int, removed: int, heights: Sequence[int]) -> None:
        """Replace `removed` heights from `start` on by others."""
        values = self._values
        self.total += sum(heights) - sum(values[start : start + removed])
        values[start : start + removed] = heights
        # The sums that end before `start` stay; those that cover it or lie after it are built again.
        sums = list(accumulate(values, initial=0))
        tree = self._tree
        del tree[start + 1 :]
        tree += [sums[end] - sums[end & (end - 1)] for end in range(start + 1, len(values) + 1)]
