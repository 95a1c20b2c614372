"""A tree over folders that change, drawn line by line; what the reader sees stays where it is meanwhile."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.panes.workspace.folder_tree import FOLDER_CAP, Folder, FolderTree, Row
from tui.panes.workspace.scan import Entry, list_folders
from tui.widgets.workers import start_job

__all__ = ["LiveTree"]

_SCANS_AT_ONCE = 64
_ROW = "row"


class LiveTree(ScrollView, can_focus=True):
    """Shows one `FolderTree`, which another may take the place of, and has its folders scanned in a thread.

    A subclass draws the rows and is told what a scan brought through `_found`, `_taken` and `_scanned`.
    """

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

    class Pointed(Message):
        """The cursor came to a row, or was pointed at it again; None when there is no row any more."""

        def __init__(self, row: Row | None) -> None:
            self.row = row
            super().__init__()

    class Chosen(Message):
        """A person asked for the file on a row."""

        def __init__(self, row: Row) -> None:
            self.row = row
            super().__init__()

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.model: FolderTree | None = None
        self._scanning = False
        self._live = False
        self._pointed: str | None = None
        self._hovered = -1

    # -- what a subclass does ---------------------------------------------------------------------

    @abstractmethod
    def draw(self, row: Row, width: int, *, lit: bool) -> Sequence[Segment]:
        """Draw a row in exactly `width` cells; `lit` when the cursor is on it and the tree has the focus."""

    def draw_below(self, line: int, width: int) -> Sequence[Segment]:
        """Draw a line below the last row, counted from 0."""
        return ()

    def _found(self, model: FolderTree, folder: Folder, came: Sequence[Entry], *, first: bool) -> None:
        """Entries came; `first` when the folder was not listed before."""

    def _taken(self, model: FolderTree, folder: Folder) -> None:
        """A folder is as its listing says."""

    def _scanned(self, model: FolderTree) -> None:
        """A round of scans was taken up and is shown."""

    # -- what is shown ----------------------------------------------------------------------------

    def show(self, model: FolderTree | None) -> None:
        """Show another tree where its reader left it."""
        if self.model is not None:
            self.model.top = int(self.scroll_offset.y)
        self.model = model
        self._pointed = None
        self._resize_to_rows()
        if model is not None:
            # A tree that was out of sight was not told of changes.
            model.dirty.update(path for path, folder in model.folders.items() if folder.listing is not None)
            model.build()
            self._resize_to_rows()
            self.scroll_to(y=model.top, animate=False, immediate=True, force=True)
            self._scan_soon()
            if self.has_focus:
                self._first_cursor()
            self._announce()
        self.refresh()

    def changed(self) -> None:
        """Show the rows as they are now; the cursor's row, or else the topmost, stays where it is on the screen."""
        model = self.model
        if model is None:
            return
        top, height = int(self.scroll_offset.y), self.scrollable_content_region.height
        line, before = model.place(model.cursor), model.rows
        in_sight = top <= line < top + height
        model.build()
        self._resize_to_rows()
        if in_sight and (now := model.place(model.cursor)) >= 0:
            self._scroll(now - (line - top))
        elif top:
            staying = (model.place(row.key) for row in before[top:])
            self._scroll(next((place for place in staying if place >= 0), top))
        if self.has_focus:
            self._first_cursor()
        self._announce()
        self.refresh()
        self._scan_soon()

    def reveal(self, path: str) -> None:
        """Move the cursor to a path, opening the folders above it; one that is still to come is waited for."""
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
        """Keep the cursor in sight."""
        self._resize_to_rows()
        if self.model is not None and (place := self.model.place(self.model.cursor)) >= 0:
            self._show_line(place)

    # -- scanning ---------------------------------------------------------------------------------

    def look_at(self, paths: Iterable[str], *, doubt: bool = False) -> None:
        """Have folders scanned again; with `doubt` only if they do not look as they did."""
        model = self.model
        if model is None:
            return
        known = {path for path in paths if path in model.folders}
        if doubt:
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
                    taken = model.take(listing)
                    folder = model.folders.get(listing.path)
                    if taken is not None and folder is not None:
                        self._found(model, folder, taken[0], first=taken[1])
                        differs = True
                    if folder is not None:
                        self._taken(model, folder)
                if model is self.model:
                    if differs:
                        self.changed()
                    self._go_to_wanted()
                self._scanned(model)
        finally:
            self._scanning = False

    # -- the cursor -------------------------------------------------------------------------------

    @property
    def cursor_row(self) -> Row | None:
        """The row the cursor is on."""
        model = self.model
        place = model.place(model.cursor) if model is not None else -1
        return model.rows[place] if model is not None and place >= 0 else None

    def point_at(self, place: int) -> None:
        """Bring the cursor to a line and the line into sight."""
        model = self.model
        if model is None or not 0 <= place < len(model.rows):
            return
        before = model.place(model.cursor)
        model.cursor = model.rows[place].key
        self._refresh_line(before)
        self._refresh_line(place)
        self._show_line(place)
        self._announce()

    def announce(self) -> None:
        """Tell once more where the cursor is."""
        self._pointed = None
        self._announce()

    def _announce(self) -> None:
        row = self.cursor_row
        key = row.key if row is not None else None
        if key != self._pointed:
            self._pointed = key
            self.post_message(self.Pointed(row))

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
        """Draw the cursor as that of a pane nobody is in."""
        self.refresh()

    def _line(self) -> int:
        return self.model.place(self.model.cursor) if self.model is not None else -1

    def action_cursor(self, by: int) -> None:
        """Move the cursor by lines."""
        if self.model is not None and self.model.rows:
            self.point_at(min(max(self._line() + by, 0), len(self.model.rows) - 1))

    def action_page(self, by: int) -> None:
        """Move the cursor by what is in sight."""
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
                self.look_at({folder.path})
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
        """One click points at a file, a second opens it; folders fold at once."""
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
        strip = Strip(self.draw(row, width, lit=on_cursor and self.has_focus)).adjust_cell_length(width)
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
