"""Formats states, times of day, settings and long texts for the screen: short, and the same everywhere."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from enum import Enum

from rich.cells import cell_len, chop_cells

from ua_tui.core.text import clean_line

ELLIPSIS = "…"
_SENTENCE = re.compile(
    r"""(?:(?<!\w)'[^']*'|"[^"]*"|“[^”]*”|`[^`]*`|;(?=\S)|[.!?](?!\s+[^a-z])|[^.!?;])+[.!?;]?"""
)
_RANDOM = re.compile(r"(_\d{6})_[0-9a-z]{6,24}(\.[0-9a-z.]{1,12})$")
_VENDOR = re.compile(r"^composio_(?=.{8})", re.IGNORECASE)
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class Mark(Enum):
    """A state as a mark, and the word for it, so that nothing depends on colour or shape."""

    RUNNING = ("⠹", "running")
    SUCCESS = ("✓", "done")
    ERROR = ("✗", "failed")
    DENIED = ("⊘", "denied")
    CANCELLED = ("⊘", "cancelled")
    WAITING = ("?", "waits for you")
    HELD = ("?", "waiting")
    BLOCKED = ("⊘", "blocked")
    RETRY = ("⟲", "sent back")

    def __init__(self, glyph: str, word: str) -> None:
        self.glyph = glyph
        self.word = word


def spinner(tick: int) -> str:
    """Return the glyph of a running row at a tick; every glyph is one cell wide."""
    return SPINNER[tick % len(SPINNER)]


def clock(at: datetime) -> str:
    """Return the time of day as `14:02`, in the time zone of this machine."""
    try:
        return at.astimezone().strftime("%H:%M")
    except (OverflowError, ValueError):
        # A journal may contain the first or the last date that exists, which has no time in some zones.
        return "--:--"


def moment(at: datetime | float) -> str:
    """Return a time, which may be in seconds, as `2026-11-21 14:02` on this machine; nothing if it has none there."""
    try:
        at = at if isinstance(at, datetime) else datetime.fromtimestamp(at, UTC)
        return f"{at.astimezone():%Y-%m-%d %H:%M}"
    except (OverflowError, ValueError, OSError):
        return ""


def effort_of(effort: str | None) -> str:
    """Return the name of the effort with which the model thinks."""
    return clean_line(effort, 20) if effort else "auto"


def fallback_of(fallback: str | None) -> str:
    """Return the name of the model that answers when the first one is overloaded."""
    return clean_line(fallback, 100) if fallback else "none"


def first_line(text: str) -> str:
    """Return the first line of a query, cleaned, with a mark if there is more."""
    first, _, rest = text.strip().partition("\n")
    return clean_line(first, 400) + (" …" if rest.strip() else "")


def first_sentence(text: str) -> str:
    """The first sentence of a text, which a full stop or a semicolon ends, but none inside of quotation marks."""
    line = clean_line(text, len(text))
    sentence = _SENTENCE.match(line)
    found = sentence[0] if sentence is not None else line
    return f"{found[:-1]}." if found.endswith(";") else found


def tail_cut(text: str, width: int) -> str:
    """Cut `text` at the end to at most `width` cells."""
    if cell_len(text) <= width:
        return text
    if width <= 1:
        return ELLIPSIS[:width]
    return head(text, width - 1) + ELLIPSIS


def middle_cut(text: str, width: int) -> str:
    """Cut `text` in the middle to at most `width` cells, as names often differ at the end only."""
    if cell_len(text) <= width:
        return text
    if width <= 1:
        return ELLIPSIS[:width]
    tail_width = width // 2
    tail = head(text[::-1], tail_width)[::-1]
    return head(text, width - 1 - cell_len(tail)) + ELLIPSIS + tail


def artifact_name(name: str) -> str:
    """Return the name of an artifact without its random part, and without a vendor that all such names begin with."""
    short, found = _RANDOM.subn(rf"\1{ELLIPSIS}\2", name)
    return _VENDOR.sub("", short) if found else name


def name_cut(name: str, width: int) -> str:
    """Cut a name of `artifact_name` in the middle; one ellipsis says that something is missing."""
    return name if cell_len(name) <= width else middle_cut(name.replace(ELLIPSIS, ""), width)


def head(text: str, width: int) -> str:
    """Return the beginning of `text` in at most `width` cells."""
    if width <= 0:
        return ""
    # A bounded slice keeps the cost independent of the length of the text.
    return next(iter(chop_cells(text[: width * 4 + 8], width)), "")
