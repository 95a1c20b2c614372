"""The tree of one place of the workspace: watched while it is shown, with new files marked until they are seen."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer

from core.storage.workspace import RECORDS
from tui.panes.workspace.folder_tree import FOLDER_CAP, Folder, FolderTree, Row, is_ignored
from tui.panes.workspace.locations import Place
from tui.panes.workspace.rows import RowLook, render_entry, render_note, when
from tui.panes.workspace.scan import FileEntry, Order, list_folders
from tui.panes.workspace.watch import FolderWatch, Hints, Unseen
from tui.render.layout import PLAIN, wrap
from tui.widgets.workers import start_job

__all__ = ["WorkspaceTree"]

SWEEP_SECONDS = 3.0
IDLE_SWEEPS = 5
_SCANS_AT_ONCE = 64
_ROW = "row"
_CLOCK_ERROR_NS = 1_000_000_000
_OPENED_BY_ITSELF = frozenset({"work_products", "search_results"})


class WorkspaceTree(ScrollView, can_focus=True):
    """Shows one `Place` at a time, line by line, and has its folders scanned in a thread.

    What the reader sees stays where it is when folders change. Only names, sizes and times of files are read.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "tree--cursor",
        "tree--cursor-blurred",
        "tree--hover",
        "workspace--dim",
        "workspace--new",
        "workspace--hint",
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "cursor(1)", "Down", id="move.down", show=False),
        Binding("up,k", "cursor(-1)", "Up", id="move.up", show=False),
        Binding("pagedown", "page(1)", "Page down", id="move.page_down", show=False),
        Binding("pageup", "page(-1)", "Page up", id="move.page_up", show=False),
        Binding("home,g", "edge(-1)", "First", id="move.first", show=False),
        Binding("end,G", "edge(1)", "Last", id="move.last", show=False),
        Binding("right,l", "open_folder", "Open folder", id="move.unfold", show=False),
        Binding("left,h", "close_folder", "Close folder", id="move.fold", show=False),
        Binding("enter", "choose", "Open", id="move.open", show=False),
    ]

    class CountsChanged(Message):
        """The counts in the pane's titles changed."""

    class CursorMoved(Message):
        """The cursor came to a row, or its place was requested again; None when there is no row any more."""

        def __init__(self, row: Row | None) -> None:
            self.row = row
            super().__init__()

    class Chosen(Message):
        """A person opened the file on a row."""

        def __init__(self, row: Row) -> None:
            self.row = row
            super().__init__()

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.model: FolderTree | None = None
        self._scanning = False
        self._live = False
        self._pointed: str | None = None
        self._hovered = -1
        self.place: Place | None = None
        self.unseen = Unseen()
        self.polling = False
        self._watch: FolderWatch | None = None
        self._running = False
        self._sweeps_left = 0
        self._idle_sweeps = 0
        self._sweeper: Timer | None = None

    # -- what others call -------------------------------------------------------------------------

    def go_to(self, place: Place) -> None:
        """Show a place where its reader left it, and watch it in place of the one before."""
        self.stop_watching()
        self.place = place
        self.polling = False
        self.show(place.model)
        if self._live:
            self._start_watching()
        self._post_counts()

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
        if self.model is not None:
            self.request_scan(self.model.folders)
        self.check_soon()

    def mark_seen(self, path: str) -> None:
        """Take the mark off a file."""
        if self.unseen.discard(path):
            self.refresh()
            self._post_counts()

    # -- what is shown ----------------------------------------------------------------------------

    def show(self, model: FolderTree | None) -> None:
        """Show another tree where its reader left it."""
        if self.model is not None:
            self.model.top = int(self.scroll_offset.y)
        self.model = model
        self._pointed = None
        self._resize_to_rows()
        if model is not None:
            # A tree that was not shown missed changes.
            model.dirty.update(path for path, folder in model.folders.items() if folder.listing is not None)
            model.build()
            self._resize_to_rows()
            self.scroll_to(y=model.top, animate=False, immediate=True, force=True)
            self._scan_soon()
            if self.has_focus:
                self._first_cursor()
            self._report_cursor()
        self.refresh()

    def changed(self) -> None:
        """Show the current rows; the cursor's row, or else the topmost, keeps its place on the screen."""
        model = self.model
        if model is None:
            return
        top, height = int(self.scroll_offset.y), self.scrollable_content_region.height
        line, before = model.place(model.cursor), model.rows
        on_screen = top <= line < top + height
        model.build()
        self._resize_to_rows()
        if on_screen and (now := model.place(model.cursor)) >= 0:
            self._scroll(now - (line - top))
        elif top:
            staying = (model.place(row.key) for row in before[top:])
            self._scroll(next((place for place in staying if place >= 0), top))
        if self.has_focus:
            self._first_cursor()
        self._report_cursor()
        self.refresh()
        self._scan_soon()

    def reveal(self, path: str) -> None:
        """Move the cursor to a path, opening the folders above it; one that does not exist yet is waited for."""
        if self.model is not None:
            self.model.wanted = path
            self._go_to_wanted()

    def _go_to_wanted(self) -> None:
        model = self.model
        if model is None or model.wanted is None:
            return
        key = model.follow_wanted()
        self.changed()
        if key is not None:
            self.point_at(model.place(key))

    def _resize_to_rows(self) -> None:
        rows = len(self.model.rows) if self.model is not None else 0
        self.virtual_size = Size(max(1, self.scrollable_content_region.width), rows)

    def on_resize(self) -> None:
        """Keep the cursor on screen."""
        self._resize_to_rows()
        if self.model is not None and (place := self.model.place(self.model.cursor)) >= 0:
            self._show_line(place)

    # -- watching ---------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Begin to watch."""
        self._sweeper = self.set_interval(SWEEP_SECONDS, self._sweep)
        self._live = True
        if self.place is not None:
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
        async for hints in watch.hints():
            if watch is self._watch:
                self._on_hints(hints)

    def _on_hints(self, hints: Hints) -> None:
        place, model = self.place, self.model
        if place is None or model is None:
            return
        if place.marks and self._mark_below(model, hints.added):
            self._post_counts()
        self.request_scan(model.folders if hints.everywhere else hints.folders)
        self._sweep_again()

    def _mark_below(self, model: FolderTree, added: Mapping[str, Sequence[str]]) -> bool:
        """Mark new files in folders that were never opened: the mark is shown on the closed folder above."""
        noted = len(self.unseen)
        for folder, names in added.items():
            inside = folder[len(model.base) + 1 :].split(os.sep)
            if folder not in model.folders and not any(map(_is_skipped, inside)):
                self.unseen.add_all(folder, (name for name in names if "." in name and not _is_skipped(name)))
        return len(self.unseen) != noted

    def _on_polling(self) -> None:
        self.polling = True
        self._post_counts()

    def _sweep_again(self) -> None:
        # Kernels lose events of folders made in quick succession: check twice more after the last one.
        self._sweeps_left = 2

    def _sweep(self) -> None:
        """Check the folders for changes without an event: often while the agent works, else now and then."""
        if self._running or self._sweeps_left > 0:
            self._sweeps_left -= 1
        else:
            self._idle_sweeps = (self._idle_sweeps + 1) % IDLE_SWEEPS
            if self._idle_sweeps:
                return
        if self.model is not None:
            self.request_scan(self.model.folders, if_changed=True)
        self.check_soon()

    # -- scanning ---------------------------------------------------------------------------------

    def request_scan(self, paths: Iterable[str], *, if_changed: bool = False) -> None:
        """Have folders scanned again; with `if_changed` only if they look different."""
        model = self.model
        if model is None:
            return
        known = {path for path in paths if path in model.folders}
        if if_changed:
            model.doubted |= known - model.dirty
        else:
            model.doubted -= known
        model.dirty |= known
        self._scan_soon()

    def _scan_soon(self) -> None:
        if self.model is not None and self.model.dirty and not self._scanning and self._live:
            self._scanning = True
            start_job(self, self._scan, "scan", replacing=False)

    async def _scan(self) -> None:
        try:
            while (model := self.model) is not None and model.dirty:
                batch = sorted(model.dirty)[:_SCANS_AT_ONCE]
                model.dirty.difference_update(batch)
                requests = [model.request(path) for path in batch if path in model.folders]
                model.doubted.difference_update(batch)
                listings = await asyncio.to_thread(list_folders, requests, hidden=model.hidden)
                differs = False
                for listing in listings:
                    taken = model.update(listing)
                    folder = model.folders.get(listing.path)
                    if taken is not None and folder is not None:
                        self._on_new_entries(model, folder, taken[0], first=taken[1])
                        differs = True
                    if folder is not None:
                        self._on_listed(model, folder)
                if model is self.model:
                    if differs:
                        self.changed()
                    self._go_to_wanted()
                self._on_scanned(model)
        finally:
            self._scanning = False

    # -- what is new ------------------------------------------------------------------------------

    def _on_new_entries(
        self, model: FolderTree, folder: Folder, came: Sequence[FileEntry], *, first: bool
    ) -> None:
        """Mark files that appeared since the place was first shown."""
        place = self.place
        if place is None or place.model is not model or not place.marks:
            return
        top = folder.path == model.base
        # What a later scan finds is new, even if a remote file system keeps another time.
        since = place.since_ns - (1 if first else _CLOCK_ERROR_NS)
        self.unseen.add_all(
            folder.path,
            (
                entry.name
                for entry in came
                if not entry.is_folder and entry.changed_ns > since and not (top and entry.name in RECORDS)
            ),
        )

    def _on_listed(self, model: FolderTree, folder: Folder) -> None:
        """Remove the marks of files that are gone, and open a folder of results when its first file comes."""
        place = self.place
        if place is None or place.model is not model or not place.marks:
            return
        self.unseen.keep(folder.path, partial(_is_there, folder))
        if (
            not folder.touched
            and not folder.open
            and os.path.dirname(folder.path) == model.base
            and os.path.basename(folder.path) in _OPENED_BY_ITSELF
            and any(not entry.is_folder for entry in folder.by_name.values())
        ):
            folder.open = folder.touched = True

    def _on_scanned(self, model: FolderTree) -> None:
        """Count what is new."""
        self._post_counts()

    def _post_counts(self) -> None:
        self.post_message(self.CountsChanged())

    # -- the cursor -------------------------------------------------------------------------------

    @property
    def cursor_row(self) -> Row | None:
        """The row the cursor is on."""
        model = self.model
        place = model.place(model.cursor) if model is not None else -1
        return model.rows[place] if model is not None and place >= 0 else None

    def point_at(self, place: int) -> None:
        """Move the cursor to a line, and show it."""
        model = self.model
        if model is None or not 0 <= place < len(model.rows):
            return
        before = model.place(model.cursor)
        model.cursor = model.rows[place].key
        self._refresh_line(before)
        self._refresh_line(place)
        self._show_line(place)
        self._report_cursor()

    def report_cursor_again(self) -> None:
        """Report the cursor again."""
        self._pointed = None
        self._report_cursor()

    def _report_cursor(self) -> None:
        row = self.cursor_row
        key = row.key if row is not None else None
        if key != self._pointed:
            self._pointed = key
            self.post_message(self.CursorMoved(row))

    def _first_cursor(self) -> None:
        if self.model is not None and self.model.cursor is None and self.model.rows:
            self.point_at(min(int(self.scroll_offset.y), len(self.model.rows) - 1))

    def _show_line(self, place: int) -> None:
        height = self.scrollable_content_region.height
        top = int(self.scroll_offset.y)
        if height > 0 and not top <= place < top + height:
            self._scroll(place if place < top else place - height + 1)

    def _scroll(self, y: int) -> None:
        if y != int(self.scroll_offset.y):
            self.scroll_to(y=y, animate=False, immediate=True, force=True)

    def _refresh_line(self, place: int) -> None:
        line = place - int(self.scroll_offset.y)
        if 0 <= line < self.size.height:
            self.refresh(Region(0, line, self.size.width, 1))

    def on_focus(self) -> None:
        """Show where the cursor is."""
        self._first_cursor()
        self.refresh()

    def on_blur(self) -> None:
        """Draw the cursor as in a pane without the focus."""
        self.refresh()

    def _line(self) -> int:
        return self.model.place(self.model.cursor) if self.model is not None else -1

    def action_cursor(self, by: int) -> None:
        """Move the cursor by lines."""
        if self.model is not None and self.model.rows:
            self.point_at(min(max(self._line() + by, 0), len(self.model.rows) - 1))

    def action_page(self, by: int) -> None:
        """Move the cursor by a page."""
        self.action_cursor(by * max(1, self.scrollable_content_region.height - 1))

    def action_edge(self, side: int) -> None:
        """Move the cursor to the first or the last row."""
        if self.model is not None:
            self.point_at(0 if side < 0 else len(self.model.rows) - 1)

    def action_open_folder(self) -> None:
        """Open the folder under the cursor, or step into it."""
        row = self.cursor_row
        if row is None or row.entry is None or not row.entry.is_folder or self.model is None:
            return
        if not self.model.is_unfolded(row):
            self.fold(row, open_=True)
        else:
            self.action_cursor(1)

    def action_close_folder(self) -> None:
        """Close the folder under the cursor, or step out of it."""
        row, model = self.cursor_row, self.model
        if row is None or model is None:
            return
        if row.entry is not None and row.entry.is_folder and model.folder_of(row).open:
            self.fold(row, open_=False)
        else:
            self.point_at(model.above(self._line()))

    def action_choose(self) -> None:
        """Open a file, fold or unfold a folder, list more of one."""
        if (row := self.cursor_row) is not None:
            self.choose(row)

    def choose(self, row: Row) -> None:
        """Do what Enter does on a row."""
        model = self.model
        if model is None:
            return
        if row.entry is None:
            folder = model.folders.get(row.path)
            if folder is not None:
                folder.limit += FOLDER_CAP if row.more else 0
                folder.grown = True
                self.request_scan({folder.path})
        elif row.entry.is_folder:
            self.fold(row, open_=not model.is_unfolded(row))
        else:
            self.post_message(self.Chosen(row))

    def fold(self, row: Row, *, open_: bool) -> None:
        """Unfold or fold a folder."""
        if self.model is not None:
            self.model.set_open(self.model.folder_of(row), open_=open_)
            self.changed()

    async def _on_click(self, event: events.Click) -> None:
        """Select a file with one click and open it with two; fold a folder with one."""
        place = self._place_at(event)
        if self.model is None or place < 0:
            return
        self.point_at(place)
        row = self.model.rows[place]
        if row.entry is None or row.entry.is_folder or event.chain >= 2:
            self.choose(row)

    def _on_mouse_move(self, event: events.MouseMove) -> None:
        self._hover(self._place_at(event))

    def _on_leave(self, event: events.Leave) -> None:
        super()._on_leave(event)
        self._hover(-1)

    def _place_at(self, event: events.MouseEvent) -> int:
        place = event.style.meta.get(_ROW)
        rows = len(self.model.rows) if self.model is not None else 0
        return place if isinstance(place, int) and place < rows else -1

    def _hover(self, place: int) -> None:
        if place != self._hovered:
            before, self._hovered = self._hovered, place
            self._refresh_line(before)
            self._refresh_line(place)

    # -- what is drawn ----------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """Draw a row, or a line below the last one."""
        width, model = self.scrollable_content_region.width, self.model
        place = y + int(self.scroll_offset.y)
        base = self.rich_style
        rows = model.rows if model is not None else []
        if width < 1:
            return Strip.blank(self.size.width, base)
        if place >= len(rows):
            below = self.draw_below(place - len(rows), width)
            return Strip(below).extend_cell_length(width, base).crop(0, width).apply_style(base)
        row = rows[place]
        on_cursor = model is not None and row.key == model.cursor
        strip = Strip(self.draw(row, width, highlighted=on_cursor and self.has_focus)).adjust_cell_length(
            width
        )
        if on_cursor:
            name = "tree--cursor" if self.has_focus else "tree--cursor-blurred"
            strip = Strip(
                [
                    Segment(text, (style or base) + self.get_component_rich_style(name, partial=True))
                    for text, style, _ in strip
                ],
                width,
            )
        elif place == self._hovered:
            strip = strip.apply_style(self.get_component_rich_style("tree--hover", partial=True))
        return strip.apply_style(base).apply_meta({_ROW: place})

    def draw(self, row: Row, width: int, *, highlighted: bool) -> Sequence[Segment]:
        """Draw a row over the full width; `highlighted` when the cursor is on it and the tree has the focus."""
        model = self.model
        assert model is not None
        # On the highlighted row everything has the one colour that is legible there.
        dim = PLAIN if highlighted else self.get_component_rich_style("workspace--dim", partial=True)
        if row.entry is None:
            return render_note(row.note, row.depth, width, dim)
        accent = PLAIN if highlighted else self.get_component_rich_style("workspace--new", partial=True)
        fresh, unfolded, held = row.path in self.unseen, None, None
        if row.entry.is_folder:
            unfolded = model.is_unfolded(row)
            held = self._held(row.path)
            fresh = not unfolded and self.unseen.beneath(row.path) > 0
        detail = None
        if model.order is Order.TIME and row.entry.changed_ns:
            detail = when(row.entry.changed_ns, time.time_ns())
        look = RowLook(
            depth=row.depth,
            unfolded=unfolded,
            held=held,
            fresh=fresh,
            found=model.filtered and model.place(row.key) in model.matched,
            detail=detail,
            dim=dim,
            accent=accent,
        )
        return render_entry(row.entry, width, look)

    def _held(self, path: str) -> int | None:
        """How many files a folder holds; 0 only when there are none further down either."""
        assert self.model is not None
        folder = self.model.folders.get(path)
        if folder is None or folder.listing is None:
            return None
        files = sum(not entry.is_folder for entry in folder.listing.entries) + folder.listing.more
        return files if files or self._is_empty(folder) else None

    def _is_empty(self, folder: Folder) -> bool:
        assert self.model is not None
        listing = folder.listing
        if listing is None or listing.more or listing.error:
            return False
        inner = [self.model.folders.get(os.path.join(folder.path, entry.name)) for entry in listing.entries]
        return all(each is not None and self._is_empty(each) for each in inner)

    def draw_below(self, line: int, width: int) -> Sequence[Segment]:
        """Draw a hint while there are no files, or no matches."""
        style = self.get_component_rich_style("workspace--hint", partial=True)
        lines = wrap([(self._hint(), style)], max(1, width - 2))
        if width <= 4 or not self._hint() or line >= len(lines):
            return ()
        return [Segment(" ", style), *lines[line]]

    def _hint(self) -> str:
        model, place = self.model, self.place
        if model is None or place is None:
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
        return place.hint if waits and (place.marks or not model.rows) else ""


def _is_skipped(name: str) -> bool:
    return name.startswith(".") or is_ignored(name)


def _is_there(folder: Folder, name: str, as_folder: bool) -> bool:
    entry = folder.by_name.get(name)
    return entry is not None and entry.is_folder is as_folder
