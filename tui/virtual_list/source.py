"""What a virtual list shows: its entries with their keys and heights, and how each of them is drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import count
from typing import Generic, Protocol, TypeVar

from rich.style import Style

from ua_tui.tui.render.layout import Line
from ua_tui.tui.virtual_list.heights import Heights


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
