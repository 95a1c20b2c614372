"""One folder of the workspace as a live tree: watched while it is in sight, new files marked until they are seen."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from rich.segment import Segment
from textual.message import Message
from textual.timer import Timer

from core.storage.workspace import RECORDS
from tui.panes.workspace.folder_tree import Folder, FolderTree, Row, is_ignored
from tui.panes.workspace.rows import RowLook, render_entry, render_note, when
from tui.panes.workspace.scan import Entry, Order, file_time_ns
from tui.panes.workspace.tree_view import LiveTree
from tui.panes.workspace.unseen import Unseen
from tui.panes.workspace.watch import FolderWatch, Hints
from tui.render.layout import PLAIN, wrap
from tui.widgets.workers import start_job

__all__ = ["Place", "WorkspaceTree"]

SWEEP_SECONDS = 3.0
IDLE_SWEEPS = 5
_CLOCK_ERROR_NS = 1_000_000_000
_OPENED_BY_ITSELF = frozenset({"work_products", "search_results"})


@dataclass(slots=True)
class Place:
    """One of the folders the pane can show.

    `hint` is what is said while nothing is in it. Only in a place that `marks` are new files marked, and only
    one that is `deep` is watched with all that is beneath it. `since_ns` is when it began to be shown.
    """

    name: str
    title: str
    model: FolderTree
    hint: str
    marks: bool = True
    deep: bool = True
    read_only: bool = False
    since_ns: int = field(default_factory=file_time_ns)


class WorkspaceTree(LiveTree):
    """Shows one `Place` at a time. Nothing but names, sizes and times of files is read."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "tree--cursor",
        "tree--cursor-blurred",
        "tree--hover",
        "workspace--dim",
        "workspace--new",
        "workspace--hint",
    }

    class Counted(Message):
        """What the pane's titles tell has changed."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
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
        self._tell()

    def work(self, *, running: bool) -> None:
        """Note that the agent works, or no longer does: meanwhile the folders are looked at every few seconds."""
        self._running = running
        self._sweep_again()

    def look_soon(self) -> None:
        """Have a place that was missing looked for at once."""
        if self._watch is not None:
            self._watch.look()

    def rescan(self) -> None:
        """Look at every listed folder again."""
        if self.model is not None:
            self.look_at(self.model.folders)
        self.look_soon()

    def saw(self, path: str) -> None:
        """Take the mark off a file."""
        if self.unseen.discard(path):
            self.refresh()
            self._tell()

    # -- watching ---------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Begin to watch."""
        self._sweeper = self.set_interval(SWEEP_SECONDS, self._sweep)
        self._live = True
        if self.place is not None:
            self._start_watching()
            self._scan_soon()

    def on_unmount(self) -> None:
        """End the watch, so that no thread outlives the screen."""
        self.stop_watching()

    def _start_watching(self) -> None:
        if self.place is None or self._watch is not None:
            return
        self._watch = FolderWatch(self.place.model.base, self._tell_polling, deep=self.place.deep)
        start_job(self, partial(self._follow, self._watch), "watch", replacing=False)

    def stop_watching(self) -> None:
        """Watch nothing any more."""
        if self._watch is not None:
            self._watch.stop()
            self._watch = None

    async def _follow(self, watch: FolderWatch) -> None:
        async for hints in watch.hints():
            if watch is self._watch:
                self._take_hints(hints)

    def _take_hints(self, hints: Hints) -> None:
        place, model = self.place, self.model
        if place is None or model is None:
            return
        if place.marks and self._mark_below(model, hints.added):
            self._tell()
        self.look_at(model.folders if hints.everywhere else hints.folders)
        self._sweep_again()

    def _mark_below(self, model: FolderTree, added: Mapping[str, Sequence[str]]) -> bool:
        """Mark new files in folders nobody opened yet: the mark shows on the closed folder above."""
        noted = len(self.unseen)
        for folder, names in added.items():
            inside = folder[len(model.base) + 1 :].split(os.sep)
            if folder not in model.folders and not any(map(_passed_over, inside)):
                self.unseen.add_all(
                    folder, (name for name in names if "." in name and not _passed_over(name))
                )
        return len(self.unseen) != noted

    def _tell_polling(self) -> None:
        self.polling = True
        self._tell()

    def _sweep_again(self) -> None:
        # Kernels lose events of folders made in quick succession: look twice more after the last one.
        self._sweeps_left = 2

    def _sweep(self) -> None:
        """Look at the folders for what no event told of: every few seconds while work runs, now and then else."""
        if self._running or self._sweeps_left > 0:
            self._sweeps_left -= 1
        else:
            self._idle_sweeps = (self._idle_sweeps + 1) % IDLE_SWEEPS
            if self._idle_sweeps:
                return
        if self.model is not None:
            self.look_at(self.model.folders, doubt=True)
        self.look_soon()

    # -- what is new ------------------------------------------------------------------------------

    def _found(self, model: FolderTree, folder: Folder, came: Sequence[Entry], *, first: bool) -> None:
        """Mark files that appeared since the place is shown."""
        place = self.place
        if place is None or place.model is not model or not place.marks:
            return
        top = folder.path == model.base
        # What a later scan finds came since, even if a file system elsewhere keeps another time.
        since = place.since_ns - (1 if first else _CLOCK_ERROR_NS)
        self.unseen.add_all(
            folder.path,
            (
                entry.name
                for entry in came
                if not entry.is_folder and entry.changed_ns > since and not (top and entry.name in RECORDS)
            ),
        )

    def _taken(self, model: FolderTree, folder: Folder) -> None:
        """Forget marks of what is gone, and open a folder that is there to be looked into."""
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

    def _scanned(self, model: FolderTree) -> None:
        """Count what is new."""
        self._tell()

    def _tell(self) -> None:
        self.post_message(self.Counted())

    # -- what is drawn ----------------------------------------------------------------------------

    def draw(self, row: Row, width: int, *, lit: bool) -> Sequence[Segment]:
        """Draw a row over the whole width."""
        model = self.model
        assert model is not None
        # On the lit row everything has the one colour that is sure to be legible there.
        dim = PLAIN if lit else self.get_component_rich_style("workspace--dim", partial=True)
        if row.entry is None:
            return render_note(row.note, row.depth, width, dim)
        accent = PLAIN if lit else self.get_component_rich_style("workspace--new", partial=True)
        fresh, unfolded, held = row.path in self.unseen, None, None
        if row.entry.is_folder:
            unfolded = model.is_unfolded(row)
            held = self._held(row.path)
            fresh = not unfolded and self.unseen.beneath(row.path) > 0
        told = None
        if model.order is Order.TIME and row.entry.changed_ns:
            told = when(row.entry.changed_ns, time.time_ns())
        look = RowLook(
            depth=row.depth,
            unfolded=unfolded,
            held=held,
            fresh=fresh,
            found=model.filtered and model.place(row.key) in model.matched,
            told=told,
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
        """Draw what stands for files still to come, or for what the filter leaves none of."""
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
            return "" if model.matches else "Nothing here matches. Esc shows everything."
        base = model.folders[model.base]
        if base.listing is None or base.listing.error:
            return ""
        waits = not any(
            not entry.is_folder and not (folder is base and entry.name in RECORDS)
            for folder in model.folders.values()
            for entry in folder.by_name.values()
        )
        return place.hint if waits and (place.marks or not model.rows) else ""


def _passed_over(name: str) -> bool:
    return name.startswith(".") or is_ignored(name)


def _is_there(folder: Folder, name: str, as_folder: bool) -> bool:
    entry = folder.by_name.get(name)
    return entry is not None and entry.is_folder is as_folder
