"""Cuts the passage of a source around words that were found in it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ua_tui.core.evidence.records import Evidence
from ua_tui.core.text import clean
from ua_tui.observers.evidence.sources import SourceText

_AROUND = 160
_LONGEST = 1_200
_SPACES = re.compile(r"\s+")


def passage(source: SourceText, start: int, end: int, marks: Sequence[tuple[int, int]] = ()) -> Evidence:
    """The evidence for a range of a source's text; `marks` are the ranges of the text that matter, else all of it."""
    text = source.text
    low = _word_start(text, max(start - _AROUND, 0), start)
    high = _word_end(text, end, min(end + _AROUND, len(text), max(low + _LONGEST, start + 1)))
    parts: list[str] = []
    places = [0] * (high - low + 1)
    length = at = 0
    for spaces in [*_SPACES.finditer(text, low, high), None]:
        stop = spaces.start() if spaces is not None else high
        for place in range(low + at, stop):
            places[place - low] = length + place - low - at
        parts.append(text[low + at : stop])
        length += stop - low - at
        if spaces is None:
            break
        for place in range(spaces.start(), spaces.end()):
            places[place - low] = length
        parts.append(" ")
        length += 1
        at = spaces.end() - low
    places[high - low] = length
    moved = [
        (places[max(first, low) - low], places[min(last, high) - low])
        for first, last in (marks or [(start, end)])
        if first < high and last > low
    ]
    return Evidence(
        source=source.number, start=start, end=end, passage=clean("".join(parts)), marks=tuple(moved)
    )


def _word_start(text: str, at: int, latest: int) -> int:
    if at == 0:
        return 0
    space = _SPACES.search(text, at, latest)
    return space.end() if space is not None else at


def _word_end(text: str, earliest: int, at: int) -> int:
    if at >= len(text) or at <= earliest:
        return at
    space = max(text.rfind(" ", earliest, at), text.rfind("\n", earliest, at))
    return space if space > 0 else at
