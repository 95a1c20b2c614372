"""What was found, laid over a drawn row."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

__all__ = ["marked"]


def marked(strip: Strip, marks: Iterable[tuple[int, int, bool]], style: Style, current: Style) -> Strip:
    """Lay `style` over ranges of characters of a row, or `current` over those that are the current match."""
    text = strip.text
    for first, last, is_current in marks:
        start, end = cell_len(text[:first]), cell_len(text[:last])
        if end <= start:
            continue
        over = current if is_current else style
        before, found, after = strip.divide([start, end, max(end, strip.cell_length)])
        bright = Strip([Segment(part.text, (part.style or Style.null()) + over) for part in found])
        strip = Strip.join([before, bright, after])
    return strip
