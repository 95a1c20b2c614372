"""How states, times of day and long texts are written on the screen: short, and the same everywhere."""

from __future__ import annotations

from datetime import datetime, tzinfo
from enum import Enum

from rich.cells import cell_len, chop_cells

from core.text import clean_line

__all__ = [
    "Mark",
    "clock",
    "first_line",
    "middle_cut",
    "spinner",
    "tail_cut",
]

ELLIPSIS = "…"
LINE_LIMIT = 400
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class Mark(Enum):
    """A state as a mark and the word that says the same without colour or shape."""

    RUNNING = ("⠹", "running")
    SUCCESS = ("✓", "done")
    ERROR = ("✗", "failed")
    DENIED = ("⊘", "denied")
    CANCELLED = ("⊘", "cancelled")
    WAITING = ("?", "waits for you")
    RETRY = ("⟲", "sent back")

    def __init__(self, glyph: str, word: str) -> None:
        self.glyph = glyph
        self.word = word


def spinner(tick: int) -> str:
    """Return the glyph of a running row at a tick; each is one cell wide."""
    return SPINNER[tick % len(SPINNER)]


def clock(at: datetime, zone: tzinfo | None = None) -> str:
    """Write the time of day as `14:02`, in `zone` or else in the zone of this machine."""
    try:
        return at.astimezone(zone).strftime("%H:%M")
    except (OverflowError, ValueError):
        # The first and the last day there are have no time of day in every zone, and a journal may say anything.
        return "--:--"


def first_line(text: str) -> str:
    """Return the first line of a query, cleaned, with a mark if there is more."""
    first, _, rest = text.strip().partition("\n")
    return clean_line(first, LINE_LIMIT) + (" …" if rest.strip() else "")


def tail_cut(text: str, width: int) -> str:
    """Cut `text` at the end so that it takes at most `width` cells."""
    if cell_len(text) <= width:
        return text
    if width <= 1:
        return ELLIPSIS[:width]
    return _head(text, width - 1) + ELLIPSIS


def middle_cut(text: str, width: int) -> str:
    """Cut `text` in the middle to at most `width` cells; the end is what tells names apart."""
    if cell_len(text) <= width:
        return text
    if width <= 1:
        return ELLIPSIS[:width]
    tail_width = width // 2
    tail = _head(text[::-1], tail_width)[::-1]
    return _head(text, width - 1 - cell_len(tail)) + ELLIPSIS + tail


def _head(text: str, width: int) -> str:
    if width <= 0:
        return ""
    # A character is at least zero cells wide: a bounded slice keeps the cost independent of the text.
    return next(iter(chop_cells(text[: width * 4 + 8], width)), "")
