"""The matches of a search in a document."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from ua_tui.tui.render.strips import Range


class Matches:
    """What a search has found: places in the rows, or in a body with a cursor, which may be folded away.

    Args:
        found: the places, in their order.
        current: the number of the current one.
        needle: what was searched for in a body with a cursor, whose rows are searched again as they are drawn.
    """

    def __init__(self, found: Sequence[Any] = (), current: int = -1, needle: str = "") -> None:
        self.found = found
        self.current = min(current, len(found) - 1)
        self._needle = needle

    def __len__(self) -> int:
        """The number of matches."""
        return len(self.found)

    def select_from(self, place: Any) -> None:
        """Make the first match at or after a place the current one; the first of all if there is none."""
        later = (n for n, found in enumerate(self.found) if type(found) is not type(place) or found >= place)
        self.current = next(later, 0)

    def ranges(self, row: int, text: str) -> list[Range]:
        """The ranges to highlight in a row; of places in a body the cursor marks the current one."""
        if self._needle:
            found = re.finditer(re.escape(self._needle.casefold()), text.casefold())
            return [(*each.span(), False) for each in found] if self.found else []
        first, end = (bisect_left(self.found, (y,)) for y in (row, row + 1))
        return [(*self.found[number][1:], number == self.current) for number in range(first, end)]
