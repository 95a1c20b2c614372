"""One row of the workspace tree: mark, name cut to fit, size or age at the right edge."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from core.events.units import size
from core.text import clean_line
from tui.panes.workspace.scan import FileEntry
from tui.render.format import middle_cut
from tui.render.layout import PLAIN, Line

__all__ = ["NEW", "RowLook", "render_entry", "render_note", "when"]

NEW = "●"
_OPEN, _CLOSED = "▾ ", "▸ "
_RANDOM = re.compile(r"(_\d{6})_[0-9a-z]{6,24}(\.[0-9a-z.]{1,12})$")
_VENDOR = re.compile(r"^composio_(?=.{8})", re.IGNORECASE)
_INDENT = 2
_NARROW = 14
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NAME_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class RowLook:
    """The look of a row.

    `unfolded` is None for a file. `held` is how many files a closed folder holds, None when that is not known; an
    empty folder is dim. `fresh` marks a file that nobody has seen, or a closed folder with one in it; `found` marks a
    match of the filter. `detail` is shown at the edge instead of the size.
    """

    depth: int = 0
    unfolded: bool | None = None
    held: int | None = None
    fresh: bool = False
    found: bool = False
    detail: str | None = None
    dim: Style = PLAIN
    accent: Style = PLAIN


def render_entry(entry: FileEntry, width: int, look: RowLook) -> Line:
    """Lay an entry out in exactly `width` cells."""
    depth = min(look.depth, max(0, (width - 8) // _INDENT))
    width -= depth * _INDENT
    line: Line = [Segment(" " * depth * _INDENT)] if depth else []
    if look.unfolded is None:
        line.append(Segment(f"{NEW} " if look.fresh else "  ", look.accent if look.fresh else PLAIN))
    else:
        line.append(Segment(_OPEN if look.unfolded else _CLOSED, look.dim))
    detail = _detail(entry, look) if width >= _NARROW else ""
    mark = f" {NEW}" if look.fresh and look.unfolded is False else ""
    room = max(1, width - 2 - (len(detail) + 1 if detail else 0) - len(mark))
    name = _fitted(clean_line(entry.name, _NAME_CHARACTERS) or "(no name)", room)
    empty = look.unfolded is not None and look.held == 0
    style = look.dim if entry.is_link or empty else PLAIN
    line.append(Segment(name, style + Style(bold=True, underline=True) if look.found else style))
    if mark:
        line.append(Segment(mark, look.accent))
    line.append(Segment(" " * max(0, width - 2 - cell_len(name) - len(mark) - len(detail))))
    if detail:
        line.append(Segment(detail, look.dim))
    return line


def render_note(note: str, depth: int, width: int, dim: Style) -> Line:
    """Lay out a note."""
    text = middle_cut(clean_line(note, _NAME_CHARACTERS), max(1, width - 2 - depth * _INDENT))
    return [Segment(" " * (2 + depth * _INDENT) + text, dim)]


def when(at_ns: int, now_ns: int) -> str:
    """Write a time in nanoseconds as `14:02`, on another day as `21 Nov`, in another year as `2025`."""
    at, now = (datetime.fromtimestamp(each / 1e9, UTC).astimezone() for each in (at_ns, now_ns))
    if at.date() == now.date():
        return f"{at:%H:%M}"
    return f"{at.day} {_MONTHS[at.month - 1]}" if at.year == now.year else f"{at.year}"


def _fitted(name: str, room: int) -> str:
    # An artifact's random part means nothing to a person, and its vendor is the same on every row.
    if _RANDOM.search(name):
        name = _VENDOR.sub("", _RANDOM.sub(r"\1…\2", name))
    return middle_cut(name, room)


def _detail(entry: FileEntry, look: RowLook) -> str:
    if entry.is_link:
        return "link"
    if look.detail is not None:
        return look.detail
    if look.unfolded is None:
        return size(entry.size)
    if look.unfolded or not look.held:
        return ""
    return f"{look.held:,}"
