"""The workspace: the session's files and the saved reports as one live tree."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widgets import Tree
from textual.widgets.tree import TreeNode

from core.events import ArtifactSaved, Event, QueryFinished, QueryReceived, SessionFinished, SessionStarted
from core.workspace import SAVED_REPORTS, WORKSPACES
from tui.jobs import start_job
from tui.panes.folder_scan import Entry, Listing
from tui.panes.folder_watch import FolderWatch, Hints
from tui.panes.live_tree import FOLDER_CAP, Folder, Item, LiveTree, entry_of
from tui.panes.workspace_rows import row_text
from tui.text_layout import wrap

__all__ = ["WorkspacePane"]

SWEEP_SECONDS = 3.0
_CLOCK_ERROR_NS = 1_000_000_000
_OPENED_BY_ITSELF = frozenset({"work_products", "search_results"})
_KEPT_QUIET = frozenset(
    {"journal.jsonl", "run.log", "trace.json", "transcript.md", "summary.txt", "spans.jsonl"}
)
_HINT = "What the agent finds and writes appears here as it is saved: search results, articles, reports."


class WorkspacePane(LiveTree):
    """A tree over a session's folder, which may not exist yet, and `SAVED_REPORTS` below it.

    Files come and go without moving the cursor, the folds or the view. What is new is marked until the
    cursor has been on it. Nothing but the names, sizes and times of files is read.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"workspace--dim", "workspace--new", "workspace--hint"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy_path", "Copy path", show=False),
        Binding("full_stop", "toggle_hidden", "Hidden files", show=False),
    ]

    class Opened(Message):
        """A person asked to see a file."""

        def __init__(self, path: Path) -> None:
            self.path = path
            super().__init__()

    class Highlighted(Message):
        """The cursor came to a file or folder."""

        def __init__(self, path: Path) -> None:
            self.path = path
            super().__init__()

    def __init__(
        self,
        root: Path | None = None,
        saved_reports: Path | None = None,
        *,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.border_title = Content("Workspace")
        self.polling = False
        self._start_with = (root, saved_reports)
        self._root_path: str | None = None
        self._saved_path: str | None = None
        self._fresh: set[str] = set()
        self._since_ns = 0
        self._running = False
        self._sweeps_left = 0
        self._watches: list[FolderWatch] = []
        self._pointed_at: str | None = None
        self._sweeper: Timer | None = None

    # -- what others call -------------------------------------------------------------------------

    @property
    def root_path(self) -> Path | None:
        """The folder shown, None before `set_root`."""
        return None if self._root_path is None else Path(self._root_path)

    @property
    def new_files(self) -> frozenset[Path]:
        """The files that appeared since `set_root` and were not looked at."""
        return frozenset(map(Path, self._fresh))

    def set_root(self, path: Path, saved_reports: Path | None = None) -> None:
        """Show another folder, which need not exist yet; what is in it now counts as seen."""
        self._stop_watching()
        self._drop_cursor()
        self.clear()
        self._root_path = os.path.abspath(path)
        self._saved_path = None if saved_reports is None else os.path.abspath(saved_reports)
        self._bases = tuple(base for base in (self._root_path, self._saved_path) if base is not None)
        self._folders = {self._root_path: Folder(self._root_path, self.root)}
        self._fresh.clear()
        self._since_ns = time.time_ns()
        self._wanted = self._pointed_at = None
        self.polling = False
        self.root.expand()
        self._show_counts()
        if self._live:
            self._start_watching()

    def apply(self, events: Sequence[Event]) -> None:
        """Take up a batch of events: where the session's folder is, and which files were saved."""
        for event in events:
            match event:
                case SessionStarted(workspace=workspace) if self._root_path is None and workspace:
                    path = Path(workspace)
                    beside = path.parent.parent / SAVED_REPORTS if path.parent.name == WORKSPACES else None
                    self.set_root(path, beside)
                case ArtifactSaved(path=path) if self._root_path is not None:
                    self._look_at({self._root_path, os.path.dirname(os.path.join(self._root_path, path))})
                    if event.copied_to is not None and self._saved_path is not None:
                        self._look_at({self._saved_path})
                        for watch in self._watches:
                            watch.look()
                case QueryReceived():
                    self._running = True
                    self._sweep_again()
                case QueryFinished() | SessionFinished():
                    self._running = False
                    self._sweep_again()
                case _:
                    pass

    def reveal(self, path: Path) -> None:
        """Move the cursor to a file, opening the folders above it; a file that is still to come is waited for."""
        self._wanted = os.path.abspath(path)
        self._go_to_wanted()

    def rescan(self) -> None:
        """Look at every listed folder again."""
        self._look_at(self._folders)
        for watch in self._watches:
            watch.look()

    # -- watching ---------------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Begin to watch."""
        self._sweeper = self.set_interval(SWEEP_SECONDS, self._sweep, pause=True)
        self._live = True
        if self._root_path is not None:
            self._start_watching()
        elif self._start_with[0] is not None:
            self.set_root(self._start_with[0], self._start_with[1])

    def on_unmount(self) -> None:
        """End the watch, so that no thread outlives the screen."""
        self._stop_watching()

    def _start_watching(self) -> None:
        for path in self._bases:
            watch = FolderWatch(path, self._tell_polling)
            self._watches.append(watch)
            start_job(self, partial(self._follow, watch), "watch", replacing=False)

    def _stop_watching(self) -> None:
        for watch in self._watches:
            watch.stop()
        self._watches.clear()

    async def _follow(self, watch: FolderWatch) -> None:
        async for hints in watch.hints():
            if watch in self._watches:
                self._take_hints(hints)

    def _take_hints(self, hints: Hints) -> None:
        for path in hints.added:
            folder = os.path.dirname(path)
            if folder not in self._folders and not os.path.basename(path).startswith("."):
                # A file in a folder nobody opened yet: its mark shows on the closed folder above.
                self._note_unlisted(path, folder)
        self._look_at({*hints.touched, *(os.path.dirname(path) for path in hints.touched)})
        self._sweep_again()

    def _note_unlisted(self, path: str, folder: str) -> None:
        if self._listed_above(folder) is not None and os.path.splitext(path)[1]:
            self._fresh.add(path)

    def _listed_above(self, path: str) -> Folder | None:
        while len(path) > 1:
            if path in self._folders:
                return self._folders[path]
            path = os.path.dirname(path)
        return None

    def _tell_polling(self) -> None:
        self.polling = True
        self._show_counts()

    def _sweep_again(self) -> None:
        # Kernels lose events of folders made in quick succession: look twice more after the last one.
        self._sweeps_left = 2
        if self._sweeper is not None:
            self._sweeper.resume()

    def _sweep(self) -> None:
        self._look_again()
        for watch in self._watches:
            watch.look()
        if not self._running:
            self._sweeps_left -= 1
            if self._sweeps_left <= 0 and self._sweeper is not None:
                self._sweeper.pause()

    # -- what is new ------------------------------------------------------------------------------

    def _adopt(self, listing: Listing) -> Folder | None:
        """The folder of the saved reports has its row at the end, and only while it is not empty."""
        folder = self._folders.get(listing.path)
        if listing.path != self._saved_path:
            return folder
        if folder is None and listing.entries:
            entry = Entry(os.path.basename(listing.path), is_folder=True)
            node = self.root.add(Text(" "), Item(listing.path, entry), allow_expand=True)
            folder = self._folders[listing.path] = Folder(listing.path, node)
        elif folder is not None and not listing.entries:
            if self._is_on(folder.node):
                self._drop_cursor()
            folder.node.remove()
            del self._folders[listing.path]
            self._forget_gone(folder, {})
            return None
        return folder

    def _scanned(self) -> None:
        """Count what is new."""
        self._show_counts()

    def _taken(self, folder: Folder) -> None:
        """Forget marks of what is gone, and open a folder that is there to be looked into."""
        self._forget_gone(
            folder, {entry.name: entry for entry in folder.listing.entries} if folder.listing else {}
        )
        self._open_by_itself(folder)

    def _found(self, folder: Folder, entry: Entry, *, first: bool) -> None:
        """Mark a file that appeared since the folder is shown."""
        if entry.is_folder or (folder.node is self.root and entry.name in _KEPT_QUIET):
            return
        # File times come from a coarser clock than ours; what a later scan finds is new within its error.
        if entry.changed_ns > self._since_ns - (0 if first else _CLOCK_ERROR_NS):
            self._fresh.add(os.path.join(folder.path, entry.name))

    def _forget_gone(self, folder: Folder, wanted: dict[str, Entry]) -> None:
        prefix = folder.path + os.sep
        for path in [path for path in self._fresh if path.startswith(prefix)]:
            name, _, deeper = path[len(prefix) :].partition(os.sep)
            entry = wanted.get(name)
            if entry is None or entry.is_folder != bool(deeper):
                self._fresh.discard(path)

    def _open_by_itself(self, folder: Folder) -> None:
        beneath = folder.node.parent is self.root and os.path.dirname(folder.path) == self._root_path
        if (
            not folder.touched
            and beneath
            and folder.node.is_collapsed
            and any(not entry_of(node).is_folder for node in folder.children.values())
            and os.path.basename(folder.path) in _OPENED_BY_ITSELF
        ):
            folder.touched = True
            folder.node.expand()

    # -- the cursor -------------------------------------------------------------------------------

    def on_tree_node_highlighted(self, event: Tree.NodeHighlighted[Item]) -> None:
        """Pass on where the cursor is; a file it has been on is new no more."""
        event.stop()
        item = event.node.data
        if item is None or item.entry is None or item.path == self._pointed_at:
            return
        self._pointed_at = item.path
        self._saw(item.path)
        self.post_message(self.Highlighted(Path(item.path)))

    def on_tree_node_selected(self, event: Tree.NodeSelected[Item]) -> None:
        """Open a file, fold or unfold a folder, list more of one."""
        event.stop()
        item = event.node.data
        if item is None:
            return
        if item.entry is None:
            folder = self._folders.get(item.path)
            if folder is not None:
                folder.limit += FOLDER_CAP
                folder.grown = True
                self._look_at({folder.path})
        elif item.entry.is_folder:
            event.node.toggle()
        else:
            self._saw(item.path)
            self.post_message(self.Opened(Path(item.path)))

    def on_tree_node_expanded(self, event: Tree.NodeExpanded[Item]) -> None:
        """List a folder when it is opened for the first time."""
        event.stop()
        if event.node.data is not None:
            folder = self._folder_at(event.node)
            folder.touched = True
            if folder.listing is None:
                self._look_at({folder.path})

    def on_tree_node_collapsed(self, event: Tree.NodeCollapsed[Item]) -> None:
        """Remember that a person folded it."""
        event.stop()
        if event.node.data is not None:
            self._folder_at(event.node).touched = True

    async def _on_click(self, event: events.Click) -> None:
        """One click points at a file, a second opens it; folders fold at once."""
        event.prevent_default()
        line = event.style.meta.get("line")
        if not isinstance(line, int):
            return
        node = self.get_node_at_line(line)
        self.cursor_line = line
        if node is None or node.data is None:
            return
        entry = node.data.entry
        if entry is None or entry.is_folder or event.chain >= 2:
            self.post_message(Tree.NodeSelected(node))

    def action_copy_path(self) -> None:
        """Send the path under the cursor to the terminal's clipboard."""
        node = self.cursor_node
        if node is not None and node.data is not None:
            self.app.copy_to_clipboard(node.data.path)
            self.notify("Path sent to the terminal's clipboard (OSC 52)", markup=False)

    def action_toggle_hidden(self) -> None:
        """Show or hide names that begin with a dot."""
        self._hidden = not self._hidden
        self._show_counts()
        self.rescan()

    def _saw(self, path: str) -> None:
        if path in self._fresh:
            self._fresh.discard(path)
            self._updates += 1
            self.refresh()
            self._show_counts()

    # -- what is drawn ----------------------------------------------------------------------------

    def _show_counts(self) -> None:
        parts = [
            f"{len(self._fresh):,} new" if self._fresh else "",
            "hidden shown" if self._hidden else "",
            "polling" if self.polling else "",
        ]
        told = " · ".join(part for part in parts if part)
        self.border_subtitle = Content(told) if told else None
        self._updates += 1
        self.refresh()

    def render_label(self, node: TreeNode[Item], base_style: Style, style: Style) -> Text:
        """Draw a row over the width that is left of it."""
        depth = 0
        above = node.parent
        while above is not None and not above.is_root:
            depth += 1
            above = above.parent
        width = max(4, self.scrollable_content_region.width - depth * self.guide_depth)
        item = node.data
        if item is None:
            return Text("")
        # On the lit row everything has the one colour that is sure to be legible there.
        lit = self.has_focus and node is self.cursor_node
        dim = Style.null() if lit else self.get_component_rich_style("workspace--dim", partial=True)
        if item.entry is None:
            text = Text(f"  … {item.more:,} more", dim, no_wrap=True, end="")
            text.truncate(width, pad=True)
            text.stylize(style)
            return text
        accent = Style.null() if lit else self.get_component_rich_style("workspace--new", partial=True)
        fresh = item.path in self._fresh
        count: int | None = None
        if item.entry.is_folder:
            folder = self._folders.get(item.path)
            if folder is not None and folder.listing is not None:
                files = sum(not entry.is_folder for entry in folder.listing.entries) + folder.listing.more
                count = files if files or self._is_empty(folder) else None
            prefix = item.path + os.sep
            fresh = node.is_collapsed and any(path.startswith(prefix) for path in self._fresh)
        return row_text(
            item.entry,
            width,
            style,
            dim=dim,
            accent=accent,
            expanded=node.is_expanded if item.entry.is_folder else None,
            count=count,
            fresh=fresh,
            strong=item.path == self._saved_path,
        )

    def _is_empty(self, folder: Folder) -> bool:
        """Whether a listed folder holds nothing but listed folders that hold nothing."""
        listing = folder.listing
        if listing is None or listing.more or listing.error:
            return False
        for entry in listing.entries:
            inner = self._folders.get(os.path.join(folder.path, entry.name))
            if not entry.is_folder or inner is None or not self._is_empty(inner):
                return False
        return True

    def render_line(self, y: int) -> Strip:
        """Draw a row, or below the last one a line of the hint that stands for files still to come."""
        below = y + int(self.scroll_offset.y) - self.last_line - 2
        if self.last_line < 0:
            below += 1
        width = self.size.width
        if below >= 0 and width > 4 and self._waits_for_files():
            style = self.rich_style + self.get_component_rich_style("workspace--hint", partial=True)
            lines = wrap([(self._hint(), style)], width - 2)
            if below < len(lines):
                return Strip([Segment(" ", style), *lines[below]]).extend_cell_length(width, self.rich_style)
        strip = super().render_line(y)
        if self.cursor_line >= 0 and y + int(self.scroll_offset.y) == self.cursor_line:
            cursor = self.get_component_rich_style("tree--cursor")
            band = Style(bgcolor=cursor.bgcolor)
            return Strip(
                [Segment(text, (style or band) + band) for text, style, _ in strip], strip.cell_length
            )
        return strip

    def _hint(self) -> str:
        root = self._folders.get(self._root_path or "")
        if root is not None and root.listing is not None and root.listing.error:
            return f"This folder cannot be read: {root.listing.error}."
        return _HINT

    def _waits_for_files(self) -> bool:
        return not any(
            not entry.is_folder and not (folder.node is self.root and entry.name in _KEPT_QUIET)
            for folder in self._folders.values()
            if folder.listing is not None
            for entry in folder.listing.entries
        )
