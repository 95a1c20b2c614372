"""The matches of a search in a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ua_tui.tui.render.strips import Range
from ua_tui.tui.viewers.document import Match


class RowMatches:
    """Matches in the rows of a body without a cursor."""

    def __init__(self, found: Sequence[Match] = (), current: int = -1) -> None:
        self.found = found
        self.current = min(current, len(found) - 1)
        self._by_row: dict[int, list[int]] = {}
        for number, match in enumerate(found):
            self._by_row.setdefault(match.row, []).append(number)

    def __len__(self) -> int:
        """The number of matches."""
        return len(self.found)

    def select_from(self, row: int) -> None:
        """Make the first match at or below a row the current one; the first of all if there is none."""
        self.current = next((number for number, match in enumerate(self.found) if match.row >= row), 0)

    def ranges(self, row: int, text: str) -> list[Range]:
        """The ranges to highlight in a row."""
        return [
            (self.found[number].start, self.found[number].end, number == self.current)
            for number in self._by_row.get(row, ())
        ]


@dataclass(slots=True)
class PlaceMatches:
    """Matches in a body with a cursor: places in the body, which may be folded away."""

    needle: str
    found: Sequence[Any]
    current: int = -1

    def __len__(self) -> int:
        """The number of matches."""
        return len(self.found)

    def select_from(self, place: Any) -> None:
        """Make the first match at or after a place the current one; the first of all if there is none."""
        self.current = next(
            (
                at
                for at, found in enumerate(self.found)
                if type(found) is not type(place) or not found < place
            ),
            0,
        )

    def ranges(self, row: int, text: str) -> list[Range]:
        """The ranges to highlight in a row; the cursor marks the current match."""
        ranges: list[Range] = []
        text, needle = text.casefold(), self.needle.casefold()
        at = text.find(needle) if self.found and needle else -1
        while at >= 0:
            ranges.append((at, at + len(needle), False))
            at = text.find(needle, at + len(needle))
        return ranges
