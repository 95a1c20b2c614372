"""The tree of one place of the workspace: watched while it is shown, with new files marked until they are seen."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from ua_tui.core.events.units import size
from ua_tui.core.log import log
from ua_tui.core.storage.workspace import RECORDS
from ua_tui.core.text import clean_line
from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.panes.workspace.folder_tree import Folder, FolderTree, Row
from ua_tui.tui.panes.workspace.locations import NEW, Place
from ua_tui.tui.panes.workspace.scan import FileEntry, Order, list_folders
from ua_tui.tui.panes.workspace.watch import FolderWatch, Unseen
from ua_tui.tui.render.format import artifact_name, middle_cut, name_cut, tail_cut
from ua_tui.tui.render.layout import PLAIN, Line, wrap
from ua_tui.tui.virtual_list.source import Rendered
from ua_tui.tui.virtual_list.virtual_list import VirtualList
from ua_tui.tui.workers import start_job

SWEEP_SECONDS = 3.0
_CLOCK_ERROR_NS = 1_000_000_000
_OPENED_BY_ITSELF = frozenset({"work_products", "search_results"})


_OPEN, _CLOSED = "▾ ", "▸ "
_INDENT = 2
_NARROW = 14
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NAME_CHARACTERS = 400


class WorkspaceTree(VirtualList[Row]):
    """Shows one `Place` at a time, and has its folders scanned in a thread.

    What the reader sees stays where it is when folders change. Only names, sizes and times of files are read.
    """

    ALLOW_SELECT = False
    FOLLOWS_END = False
    single_lines = True
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "workspace--dim",
        "workspace--new",
        "workspace--hint",
    }
    BINDINGS = bindings("WorkspaceTree")

    def __init__(
        self,
        show_counts: Callable[[], None],
        report_cursor: Callable[[Row | None], None],
        open_file: Callable[[str], None],
    ) -> None:
        self._show_counts, self._notify_cursor, self._open_file = show_counts, report_cursor, open_file
        self.unseen = Unseen()
        self.first_choice: str | None = None
        """The path on which the cursor is placed when the person first comes here."""
        self.place: Place | None = None
        self.model = FolderTree("")
        super().__init__()
        self._dim = self._accent = self._hint_style = PLAIN
        self.polling = False
        self._advised = False
        self._scanning = False
        self._live = False
        self._reported: Hashable | None = None
        self._watch: FolderWatch | None = None
        self._running = False
        self._sweeps_left = 0
        self._idle_sweeps = 0

    # -- what others call -------------------------------------------------------------------------

    def go_to(self, place: Place) -> None:
        """Show a place where its reader left it, and watch it in place of the one before."""
        self.stop_watching()
        self.model.top = self.bookmark.top[0]
        self.place, self.model = place, place.model
        self.polling = False
        self._reported = None
        # A tree that was not shown missed changes.
        model = place.model
        model.dirty.update(path for path, folder in model.folders.items() if folder.listing is not None)
        model.build()
        self._show_rows(model.top)
        if self._live:
            self._start_watching()
        self._show_counts()

    def set_agent_running(self, running: bool) -> None:
        """Note whether the agent works: meanwhile the folders are checked every few seconds."""
        self._running = running
        self._sweep_again()

    def check_soon(self) -> None:
        """Check at once whether a missing place exists by now."""
        if self._watch is not None:
            self._watch.check()

    def rescan(self) -> None:
        """Scan every listed folder again."""
        self.request_scan(self.model.folders)
        self.check_soon()

    def mark_seen(self, path: str) -> None:
        """Take the mark off a file."""
        if self.unseen.discard(path):
            self.touch_all()
            self.update_rows()
            self._show_counts()

    # -- what is shown ----------------------------------------------------------------------------

    def changed(self) -> None:
        """Show the current rows; the cursor's row, or else the topmost, keeps its place on the screen."""
        before, line, top = self.entries, self.cursor_index, self.bookmark.top[0]
        self.model.build()
        now = self.model.place(self.model.cursor)
        if now >= 0 and any(shown.position == line for shown in self.lines):
            top += now - line
        elif top:
            staying = (self.model.place(row.key) for row in before[top:])
            top = next((place for place in staying if place >= 0), top)
        self._show_rows(max(0, top))

    def _show_rows(self, top: int) -> None:
        self.replace_all(self.model.rows)
        self.touch_all()
        super().set_cursor(self.model.cursor)
        self.place_at(top, 0)
        if self.has_focus:
            self._place_first_cursor()
        self._report_cursor()
        self._scan_soon()

    def reveal(self, path: str) -> None:
        """Move the cursor to a path, opening the folders above it; one that does not exist yet is waited for."""
        self.model.wanted = path
        self._go_to_wanted()

    def _go_to_wanted(self) -> None:
        if self.model.wanted is not None:
            key = self.model.follow_wanted()
            self.changed()
            if key is not None:
                self.show_entry(key)

    def on_resize(self) -> None:
        """Keep the cursor on screen."""
        self.show_entry(self.model.cursor)

    def highlight(self, entry: Row, rendered: Rendered, line: int, strip: Strip) -> Strip:
        """Draw the row of the cursor in the one colour that is legible there."""
        if entry.key == self.model.cursor:
            style = self.palette["lines--cursor" if self.has_focus else "lines--cursor-blurred"]
            plain = rendered.strips[line].adjust_cell_length(strip.cell_length)
            return Strip(Segment.apply_style(plain, self.rich_style, style), strip.cell_length)
        return strip

    @property
    def entry_width(self) -> int:
        """All cells: sizes are at the right edge, and the scroll bar has a column of its own."""
        return max(1, self.scrollable_content_region.width)

    # -- drawing ----------------------------------------------------------------------------------

    def restyle(self, palette: Mapping[str, Style]) -> None:
        """Read the styles."""
        self._dim, self._accent = palette["workspace--dim"], palette["workspace--new"]
        self._hint_style = palette["workspace--hint"]

    def render_entry(self, entry: Row, width: int) -> Sequence[Line]:
        """Draw an entry of a folder, or a note about the folder."""
        return [self._render_note(entry, width) if entry.entry is None else self._render_file(entry, width)]

    def _render_file(self, row: Row, width: int) -> Line:
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
            mark = f" {NEW}" if not unfolded and self.unseen.beneath(row.path) else ""
            empty = held == 0
            if not detail:
                detail = f"{held:,}" if held and not unfolded else ""
        elif row.path in self.unseen:
            line.append(Segment(f"{NEW} ", self._accent))
        else:
            line.append(Segment("  "))
        detail = detail if width >= _NARROW else ""
        room = max(1, width - 2 - (len(detail) + 1 if detail else 0) - len(mark))
        if entry.title:
            name = tail_cut(entry.title, room)
        else:
            shown = clean_line(entry.name, _NAME_CHARACTERS) or "(no name)"
            name = name_cut(artifact_name(shown), room)
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

    # -- watching ---------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Begin to watch."""
        self.set_interval(SWEEP_SECONDS, self._sweep)
        self._live = True
        self._start_watching()
        self._scan_soon()

    def on_unmount(self) -> None:
        """Stop watching, so that no thread outlives the screen."""
        self.stop_watching()

    def _start_watching(self) -> None:
        if self.place is None or self._watch is not None:
            return
        self._watch = FolderWatch(self.place.model.base, self._on_polling, deep=self.place.deep)
        start_job(self, partial(self._follow, self._watch), "watch", replacing=False)

    def stop_watching(self) -> None:
        """Stop watching."""
        if self._watch is not None:
            self._watch.stop()
            self._watch = None

    async def _follow(self, watch: FolderWatch) -> None:
        async for changed in watch.hints():
            if watch is self._watch:
                self.request_scan(changed or self.model.folders)
                self._sweep_again()

    def _on_polling(self, advice: str) -> None:
        self.polling = True
        self._show_counts()
        if not self._advised:
            self._advised = True
            log.warning("%s", advice)
            message = "File changes are checked once a second: run.log says why."
            self.notify(message, severity="warning")

    def _sweep_again(self) -> None:
        # Kernels lose events of folders made in quick succession: check twice more after the last one.
        self._sweeps_left = 2

    def _sweep(self) -> None:
        """Check the folders for changes without an event: often while the agent works, else now and then."""
        if self._running or self._sweeps_left > 0:
            self._sweeps_left -= 1
        else:
            self._idle_sweeps = (self._idle_sweeps + 1) % 5
            if self._idle_sweeps:
                return
        self.request_scan(self.model.folders, if_changed=True)
        self.check_soon()

    # -- scanning ---------------------------------------------------------------------------------

    def request_scan(self, paths: Iterable[str], *, if_changed: bool = False) -> None:
        """Have folders scanned again; with `if_changed` only if they look different."""
        model = self.model
        known = {path for path in paths if path in model.folders}
        if if_changed:
            model.doubted |= known - model.dirty
        else:
            model.doubted -= known
        model.dirty |= known
        self._scan_soon()

    def _scan_soon(self) -> None:
        if self.place is not None and self.model.dirty and not self._scanning and self._live:
            self._scanning = True
            start_job(self, self._scan, "scan", replacing=False)

    async def _scan(self) -> None:
        try:
            while (model := self.model).dirty:
                batch = sorted(model.dirty)[:64]
                model.dirty.difference_update(batch)
                requests = [model.request(path) for path in batch if path in model.folders]
                model.doubted.difference_update(batch)
                listings = await asyncio.to_thread(list_folders, requests, hidden=model.hidden)
                differs, noted = False, len(self.unseen)
                for listing in listings:
                    news = model.update(listing)
                    folder = model.folders.get(listing.path)
                    differs |= news is not None
                    if folder is not None and (place := self._marks(model)) is not None:
                        if news is not None:
                            self._mark_new(place, folder, *news)
                        self._forget_gone(place, folder)
                if model is self.model:
                    if differs:
                        self.changed()
                    # What came while another place was shown is known already.
                    self._go_to_wanted()
                if differs or len(self.unseen) != noted:
                    self._show_counts()
        finally:
            self._scanning = False

    # -- what is new ------------------------------------------------------------------------------

    def _marks(self, model: FolderTree) -> Place | None:
        """The place that is shown, if it is that of these folders, and new files are marked in it."""
        place = self.place
        return place if place is not None and place.model is model and place.marks else None

    def _mark_new(self, place: Place, folder: Folder, came: Sequence[FileEntry], first: bool) -> None:
        """Mark files that appeared since the place was first shown."""
        top = folder.path == place.model.base
        # What a later scan finds is new, even if a remote file system keeps another time.
        since = place.since_ns - (1 if first else _CLOCK_ERROR_NS)
        self.unseen.add(
            folder.path,
            (
                entry.name
                for entry in came
                if not entry.is_folder and entry.changed_ns > since and not (top and entry.name in RECORDS)
            ),
        )

    def _forget_gone(self, place: Place, folder: Folder) -> None:
        """Remove the marks of files that are gone, and open a folder of results when its first file comes."""
        self.unseen.keep(folder.path, partial(_is_there, folder))
        if (
            not folder.touched
            and not folder.open
            and os.path.dirname(folder.path) == place.model.base
            and os.path.basename(folder.path) in _OPENED_BY_ITSELF
            and any(not entry.is_folder for entry in folder.by_name.values())
        ):
            folder.open = folder.touched = True

    # -- the cursor -------------------------------------------------------------------------------

    def set_cursor(self, key: Hashable | None) -> None:
        """Move the cursor, and report it."""
        super().set_cursor(key)
        self.model.cursor = self.cursor.key if self.cursor is not None else None
        self._report_cursor()

    def report_cursor_again(self) -> None:
        """Report the cursor again."""
        self._reported = None
        self._report_cursor()

    def _report_cursor(self) -> None:
        row = self.cursor
        key = row.key if row is not None else None
        if key != self._reported:
            self._reported = key
            self._notify_cursor(row)

    def _place_first_cursor(self) -> None:
        choice, self.first_choice = self.first_choice, None
        if self.model.cursor is None and choice is not None:
            self.reveal(choice)
        if self.model.cursor is None and self.entries:
            self.show_entry(self.entries[min(self.bookmark.top[0], len(self.entries) - 1)].key)

    def on_focus(self) -> None:
        """Show where the cursor is."""
        self._place_first_cursor()

    def action_open_folder(self) -> None:
        """Open the folder under the cursor, or step into it."""
        row = self.cursor
        if row is None or row.entry is None or not row.entry.is_folder:
            return
        if not self.model.is_unfolded(row):
            self.fold(row, open_=True)
        else:
            self.action_cursor_down()

    def action_close_folder(self) -> None:
        """Close the folder under the cursor, or step out of it."""
        row = self.cursor
        if row is None:
            return
        if row.entry is not None and row.entry.is_folder and self.model.folder_of(row).open:
            self.fold(row, open_=False)
        elif (above := self.model.above(self.cursor_index)) >= 0:
            self.show_entry(self.entries[above].key)

    def open_entry(self, entry: Row) -> None:
        """Open a file, fold or unfold a folder."""
        if entry.entry is not None and entry.entry.is_folder:
            self.fold(entry, open_=not self.model.is_unfolded(entry))
        elif entry.entry is not None:
            self._open_file(entry.path)

    def click_entry(self, entry: Row, column: int, line: int) -> None:
        """Fold a folder with one click; a file is only selected."""
        if entry.entry is not None and entry.entry.is_folder:
            self.open_entry(entry)

    def fold(self, row: Row, *, open_: bool) -> None:
        """Unfold or fold a folder."""
        self.model.set_open(self.model.folder_of(row), open_=open_)
        self.changed()


def _is_there(folder: Folder, name: str, as_folder: bool) -> bool:
    entry = folder.by_name.get(name)
    return entry is not None and entry.is_folder is as_folder


def _when(at_ns: int, now_ns: int) -> str:
    """Write a time in nanoseconds as `14:02`, on another day as `21 Nov`, in another year as `2025`."""
    at, now = (datetime.fromtimestamp(each / 1e9, UTC).astimezone() for each in (at_ns, now_ns))
    if at.date() == now.date():
        return f"{at:%H:%M}"
    return f"{at.day} {_MONTHS[at.month - 1]}" if at.year == now.year else f"{at.year}"


def _detail(entry: FileEntry, order: Order) -> str:
    """What is at the right edge of a row: the time if that is the order, else the size of a file."""
    if entry.is_link:
        return "link"
    if order is Order.TIME and entry.changed_ns:
        return _when(entry.changed_ns, time.time_ns())
    return "" if entry.is_folder else size(entry.size)
