"""One row of the workspace tree as text: mark, name cut to fit, size at the right edge."""

from __future__ import annotations

import re

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from core.text import clean_line
from tui.format import middle_cut, size
from tui.panes.folder_scan import Entry

__all__ = ["NEW", "row_text"]

NEW = "●"
_OPEN, _CLOSED = "▾ ", "▸ "
_RANDOM = re.compile(r"(_\d{6})_[0-9a-z]{6,24}(\.[0-9a-z.]{1,12})$")
_VENDOR = re.compile(r"^composio_(?=.{8})", re.IGNORECASE)
_NARROW = 14
_NAME_CHARACTERS = 400


def row_text(
    entry: Entry,
    width: int,
    base: Style,
    *,
    dim: Style,
    accent: Style,
    expanded: bool | None = None,
    count: int | None = None,
    fresh: bool = False,
    strong: bool = False,
) -> Text:
    """Lay a row out in exactly `width` cells.

    `expanded` is None for a file. `count` is what a closed folder holds, None when that is not known; an
    empty folder is dim. `fresh` marks a file, or a closed folder with a file in it, that was not looked at.
    """
    empty = expanded is not None and count == 0
    text = Text(style=base, no_wrap=True, end="")
    if expanded is None:
        text.append(f"{NEW} " if fresh else "  ", accent if fresh else None)
    else:
        text.append(_OPEN if expanded else _CLOSED, dim)
    told = _told(entry, expanded, count) if width >= _NARROW else ""
    mark = f" {NEW}" if fresh and expanded is False else ""
    room = max(1, width - 2 - (len(told) + 1 if told else 0) - len(mark))
    name = _fitted(clean_line(entry.name, _NAME_CHARACTERS) or "(no name)", room)
    if entry.is_link or empty:
        text.append(name, dim)
    else:
        text.append(name, Style(bold=True) if strong else None)
    if mark:
        text.append(mark, accent)
    text.append(" " * max(0, width - cell_len(text.plain) - len(told)))
    text.append(told, dim)
    return text


def _fitted(name: str, room: int) -> str:
    # An artifact's random part tells a person nothing, and its vendor is the same on every row.
    if _RANDOM.search(name):
        name = _VENDOR.sub("", _RANDOM.sub(r"\1…\2", name))
    return middle_cut(name, room)


def _told(entry: Entry, expanded: bool | None, count: int | None) -> str:
    if entry.is_link:
        return "link"
    if expanded is None:
        return size(entry.size)
    if expanded or not count:
        return ""
    return f"{count:,}"
