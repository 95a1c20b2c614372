"""The rows of the workspace tree: mark, name cut to fit, size or age at the right edge, and a hint above them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from ua_tui.core.events.units import size
from ua_tui.core.storage.workspace import RECORDS
from ua_tui.core.text import clean_line
from ua_tui.tui.panes.workspace.folder_tree import FolderTree, Row
from ua_tui.tui.panes.workspace.locations import NEW, Place
from ua_tui.tui.panes.workspace.scan import FileEntry, Order
from ua_tui.tui.panes.workspace.watch import Unseen
from ua_tui.tui.render.format import artifact_name, middle_cut, name_cut, tail_cut
from ua_tui.tui.render.layout import PLAIN, Line, wrap
from ua_tui.tui.virtual_list.source import RowSource

_OPEN, _CLOSED = "▾ ", "▸ "
_INDENT = 2
_NARROW = 14
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NAME_CHARACTERS = 400


class FileRows(RowSource[Row]):
    """Draws the rows of a `FolderTree` over the full width.

    A file that nobody has seen is marked, and so is a closed folder with one in it; matches of the filter are bold and
    underlined; empty folders and links are dim.
    """

    single_lines = True

    def __init__(self, unseen: Unseen) -> None:
        super().__init__()
        self.place: Place | None = None
        self.model = FolderTree("")
        self._unseen = unseen
        self._dim = self._accent = self._hint_style = PLAIN

    def restyle(self, palette: Mapping[str, Style]) -> None:
        """Read the styles."""
        self._dim, self._accent = palette["workspace--dim"], palette["workspace--new"]
        self._hint_style = palette["workspace--hint"]

    def render(self, entry: Row, width: int) -> Sequence[Line]:
        """Draw an entry of a folder, or a note about the folder."""
        return [self._render_note(entry, width) if entry.entry is None else self._render_entry(entry, width)]

    def _render_entry(self, row: Row, width: int) -> Line:
        entry, model, dim = row.entry, self.model, self._dim
        assert entry is not None
        indent = min(row.depth, max(0, (width - 8) // _INDENT)) * _INDENT
        width -= indent
        line: Line = [Segment(" " * indent)] if indent else []
        mark = ""
        detail, empty = _detail(entry, model.order), False
        if entry.is_folder:
            unfolded, held = model.is_unfolded(row), model.file_count(row.path)
            line.append(Segment(_OPEN if unfolded else _CLOSED, dim))
            mark = f" {NEW}" if not unfolded and self._unseen.beneath(row.path) else ""
            empty = held == 0
            if not detail:
                detail = f"{held:,}" if held and not unfolded else ""
        elif row.path in self._unseen:
            line.append(Segment(f"{NEW} ", self._accent))
        else:
            line.append(Segment("  "))
        detail = detail if width >= _NARROW else ""
        room = max(1, width - 2 - (len(detail) + 1 if detail else 0) - len(mark))
        name = tail_cut(entry.title, room) if entry.title else name_cut(artifact_name(_name_of(entry)), room)
        style = dim if entry.is_link or empty else PLAIN
        found = row.key in model.matches
        line.append(Segment(name, style + Style(bold=True, underline=True) if found else style))
        if mark:
            line.append(Segment(mark, self._accent))
        line.append(Segment(" " * max(0, width - 2 - cell_len(name) - len(mark) - len(detail))))
        if detail:
            line.append(Segment(detail, dim))
        return line

    def _render_note(self, row: Row, width: int) -> Line:
        indent = 2 + row.depth * _INDENT
        text = middle_cut(clean_line(row.note, _NAME_CHARACTERS), max(1, width - indent))
        return [Segment(" " * indent + text, self._dim)]

    def render_head(self, width: int, height: int) -> Sequence[Line]:
        """Draw a hint while there are no files, or no matches."""
        hint = self._hint()
        if width <= 4 or not hint:
            return []
        style = self._hint_style
        return [[Segment(" ", style), *line] for line in wrap([(hint, style)], max(1, width - 2))]

    def _hint(self) -> str:
        model, place = self.model, self.place
        if place is None:
            return ""
        if model.filtered:
            return "" if model.matches else "No matches. Esc shows everything."
        base = model.folders[model.base]
        if base.listing is None or base.listing.error:
            return ""
        waits = not any(
            not entry.is_folder and not (folder is base and entry.name in RECORDS)
            for folder in model.folders.values()
            for entry in folder.by_name.values()
        )
        return place.hint if waits and (place.marks or not model.rows.items) else ""


def _when(at_ns: int, now_ns: int) -> str:
    """Write a time in nanoseconds as `14:02`, on another day as `21 Nov`, in another year as `2025`."""
    at, now = (datetime.fromtimestamp(each / 1e9, UTC).astimezone() for each in (at_ns, now_ns))
    if at.date() == now.date():
        return f"{at:%H:%M}"
    return f"{at.day} {_MONTHS[at.month - 1]}" if at.year == now.year else f"{at.year}"


def _name_of(entry: FileEntry) -> str:
    return clean_line(entry.name, _NAME_CHARACTERS) or "(no name)"


def _detail(entry: FileEntry, order: Order) -> str:
    """What is at the right edge of a row: the time if that is the order, else the size of a file."""
    if entry.is_link:
        return "link"
    if order is Order.TIME and entry.changed_ns:
        return _when(entry.changed_ns, time.time_ns())
    return "" if entry.is_folder else size(entry.size)
