"""Maps drawn lines to source lines, so that a selection on the screen is copied as it was written.

Complete lines are copied as source; a part of a line is copied as it reads, in one piece even if it was wrapped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unit:
    """The smallest part with its own lines in both: a paragraph, a line of code, a row of a table.

    `first` and `end` are drawn lines, `source` is lines of the source, both as half-open ranges; `text` is the
    unwrapped text; `fence` is the source lines of the fenced code that contains it.
    """

    first: int
    end: int
    source: tuple[int, int]
    text: str
    fence: tuple[int, int] | None = None

    def moved(self, lines: int, source: int = 0) -> Unit:
        """Return the unit moved down by a number of drawn lines, and by a number of source lines."""
        place = (self.source[0] + source, self.source[1] + source)
        fence = self.fence and (self.fence[0] + source, self.fence[1] + source)
        return Unit(self.first + lines, self.end + lines, place, self.text, fence)


Place = tuple[int, int]
"""A drawn line, and a character in it."""


def units_of_lines(texts: Sequence[str], heights: Sequence[int]) -> list[Unit]:
    """Return the units of plain text; `heights` are the numbers of drawn lines of its lines."""
    units: list[Unit] = []
    first = 0
    for number, (text, height) in enumerate(zip(texts, heights, strict=True)):
        units.append(Unit(first, first + height, (number, number + 1), text.replace("\t", "    ")))
        first += height
    return units


def chosen_text(
    source: str, units: Sequence[Unit], rows: Sequence[str], start: Place | None, end: Place | None
) -> str:
    """Return the text to copy from a block of which everything from `start` to before `end` is selected.

    Args:
        source: the source of the block.
        units: its parts in order.
        rows: the drawn lines as text.
        start: the start of the selection; None for the beginning of the block.
        end: the end of the selection; None for the end of the block.
    """
    lines = source.split("\n")
    parts: list[tuple[Unit, Unit, str]] = []
    run: list[Unit] = []
    begin, stop = start or (-1, 0), end or (len(rows), 0)
    for unit in units:
        if not unit.text.strip():
            if begin <= (unit.first, 0) < stop:
                run.append(unit)
            continue
        low, high = _chosen(unit, rows, begin, stop)
        if low >= high:
            continue
        if low <= len(unit.text) - len(unit.text.lstrip()) and high >= len(unit.text.rstrip()):
            run.append(unit)
            continue
        if run:
            parts.append((run[0], run[-1], _written(run, units, lines)))
            run = []
        parts.append((unit, unit, unit.text[low:high].strip()))
    if run:
        parts.append((run[0], run[-1], _written(run, units, lines)))
    joined = ""
    for number, (first, _, text) in enumerate(parts):
        if number:
            joined += "\n\n" if first.first > parts[number - 1][1].end else "\n"
        joined += text
    return joined


def _chosen(unit: Unit, rows: Sequence[str], start: Place, end: Place) -> tuple[int, int]:
    """Return the selected part of a unit's text as a half-open range; empty if nothing is selected."""
    position = 0
    low, high = len(unit.text), 0
    for number in range(unit.first, min(unit.end, len(rows))):
        while position < len(unit.text) and unit.text[position].isspace() and number > unit.first:
            position += 1
        row = rows[number].rstrip()
        margin = next(
            (at for at in range(len(row) + 1) if unit.text.startswith(row[at:], position)), len(row)
        )
        length = len(row) - margin
        left = 0 if (number, 0) > start else start[1] if number == start[0] else len(row) + 1
        right = len(row) if number < end[0] else end[1] if number == end[0] else 0
        first = position + max(0, left - margin)
        last = position + min(length, right - margin)
        if left <= len(row) and first < last:
            low, high = min(low, first), max(high, last)
        position += length
    return low, high


def _written(run: Sequence[Unit], units: Sequence[Unit], lines: Sequence[str]) -> str:
    """Return the source of adjacent units, without fences whose code is only partly selected."""
    taken = set(range(run[0].source[0], run[-1].source[1]))
    for fence in {unit.fence for unit in run if unit.fence is not None}:
        inside = [unit for unit in units if unit.fence == fence]
        chosen = [unit for unit in run if unit.fence == fence]
        if len(chosen) == len(inside) and len(run) > len(chosen):
            taken.update(range(*fence))
        else:
            taken.discard(fence[0])
            taken -= set(range(inside[-1].source[1], fence[1]))
    return "\n".join(lines[number] for number in sorted(taken) if number < len(lines))
