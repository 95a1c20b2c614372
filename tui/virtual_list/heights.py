"""The heights of many entries, in which a line is found and a height is changed in logarithmic time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate


class Heights:
    """A list of heights in lines with its prefix sums (a Fenwick tree).

    Appending, changing one and looking up a line cost O(log n); replacing a run costs what follows it.
    """

    def __init__(self, values: Iterable[int] = ()) -> None:
        self._values: list[int] = []
        self._tree: list[int] = [0]
        self._total = 0
        self.splice(0, 0, list(values))

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: int) -> int:
        return self._values[index]

    @property
    def total(self) -> int:
        """The sum of all heights."""
        return self._total

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
        self._total += change
        tree = self._tree
        size = len(self._values)
        index += 1
        while index <= size:
            tree[index] += change
            index += index & -index

    def append(self, height: int) -> None:
        """Add one height at the end."""
        self._values.append(height)
        self._total += height
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
        self._total += sum(heights) - sum(values[start : start + removed])
        values[start : start + removed] = heights
        # The sums that end before `start` stay; those that cover it or lie after it are built again.
        sums = list(accumulate(values, initial=0))
        tree = self._tree
        del tree[start + 1 :]
        tree += [sums[end] - sums[end & (end - 1)] for end in range(start + 1, len(values) + 1)]
