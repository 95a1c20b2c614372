"""A tree over folders that change: what a scan finds is applied as a difference, and nothing the reader sees moves."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from rich.text import Text, TextType
from textual.binding import Binding, BindingType
from textual.widgets import Tree
from textual.widgets.tree import TreeNode

from tui.jobs import start_job
from tui.panes.folder_scan import Entry, Listing, Request, list_folders

__all__ = ["FOLDER_CAP", "Folder", "Item", "LiveTree", "entry_of"]

FOLDER_CAP = 2_000
_EAGER_FOLDERS = 32
_SCANS_AT_ONCE = 64
_CHANGES_AT_ONCE = 50


@dataclass(slots=True)
class Item:
    """What a row stands for; `entry` is None for the row that counts what is not listed."""

    path: str
    entry: Entry | None
    more: int = 0


@dataclass(slots=True)
class Folder:
    """A folder that is listed: its node and its children by name."""

    path: str
    node: TreeNode[Item]
    limit: int = FOLDER_CAP
    listing: Listing | None = None
    children: dict[str, TreeNode[Item]] = field(default_factory=dict)
    more: TreeNode[Item] | None = None
    touched: bool = False
    grown: bool = False


class LiveTree(Tree[Item]):
    """A tree of folders, each listed when it is first opened; those near the root are listed at once.

    `_look_at` asks for folders to be scanned again, in a thread. A subclass is told what comes through
    `_found` and `_taken`, and may give a folder a place of its own through `_adopt`.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,l", "open_folder", "Open folder", show=False),
        Binding("left,h", "close_folder", "Close folder", show=False),
        Binding("j", "cursor_down", "Down", show=False),
        Binding("k", "cursor_up", "Up", show=False),
        Binding("g", "scroll_home", "Top", show=False),
        Binding("G", "scroll_end", "End", show=False),
    ]

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(Text(""), id=id, classes=classes)
        self.show_root = False
        self.show_guides = False
        self.guide_depth = 2
        self.auto_expand = False
        self._folders: dict[str, Folder] = {}
        self._bases: tuple[str, ...] = ()
        self._hidden = False
        self._dirty: set[str] = set()
        self._doubted: set[str] = set()
        self._scanning = False
        self._live = False
        self._wanted: str | None = None

    # -- what a subclass may do -------------------------------------------------------------------

    def _adopt(self, listing: Listing) -> Folder | None:
        """The folder that a listing is of, None when it has no place in the tree."""
        return self._folders.get(listing.path)

    def _found(self, folder: Folder, entry: Entry, *, first: bool) -> None:
        """An entry was added; `first` when the folder was not listed before."""

    def _taken(self, folder: Folder) -> None:
        """A folder is as its listing says."""

    def _scanned(self) -> None:
        """A round of scans was applied."""

    # -- scanning ---------------------------------------------------------------------------------

    def _look_at(self, paths: Iterable[str]) -> None:
        known = {path for path in paths if path in self._folders or path in self._bases}
        self._dirty |= known
        self._doubted -= known
        if self._dirty and not self._scanning and self._live:
            self._scanning = True
            start_job(self, self._scan, "scan", replacing=False)

    def _look_again(self) -> None:
        """Scan every listed folder that does not look as it did; what is asked for anyway is scanned in any case."""
        doubted = self._folders.keys() - self._dirty
        self._look_at([*self._folders, *self._bases])
        self._doubted = doubted

    async def _scan(self) -> None:
        try:
            while self._dirty:
                batch = sorted(self._dirty)[:_SCANS_AT_ONCE]
                self._dirty.difference_update(batch)
                requests = [self._request(path) for path in batch]
                self._doubted.difference_update(batch)
                for listing in await asyncio.to_thread(list_folders, requests, hidden=self._hidden):
                    await self._take(listing)
                self._scanned()
                self._go_to_wanted()
        finally:
            self._scanning = False

    def _request(self, path: str) -> Request:
        folder = self._folders.get(path)
        if folder is None:
            return Request(path, FOLDER_CAP)
        known = folder.listing.stamp if folder.listing is not None and path in self._doubted else 0
        return Request(path, folder.limit, unless=known)

    async def _take(self, listing: Listing) -> None:
        """Apply a listing to its folder: what went, what came, what changed its size."""
        folder = self._adopt(listing)
        if folder is None or listing == folder.listing:
            return
        first = folder.listing is None or folder.listing.missing or folder.grown
        folder.grown = False
        before, folder.listing = folder.listing, listing
        wanted = {entry.name: entry for entry in listing.entries}
        held = self._held()
        gone = [
            name
            for name, node in folder.children.items()
            if name not in wanted or entry_of(node).is_folder != wanted[name].is_folder
        ]
        self._leave(folder, gone)
        changes = 0
        for name in gone:
            self._remove(folder, name)
            changes += 1
            if changes % _CHANGES_AT_ONCE == 0:
                held = await self._breathe(held)
                if self._folders.get(listing.path) is not folder:
                    return
        for index, entry in enumerate(listing.entries):
            child = folder.children.get(entry.name)
            if child is None:
                self._add(folder, index, entry)
                self._found(folder, entry, first=first)
                changes += 1
                if changes % _CHANGES_AT_ONCE == 0:
                    held = await self._breathe(held)
                    if self._folders.get(listing.path) is not folder:
                        return
            elif (item := child.data) is not None and item.entry != entry:
                item.entry = entry
                child.refresh()
        self._show_more(folder, listing.more)
        if before is None or bool(before.entries) != bool(listing.entries):
            folder.node.refresh()
        self._taken(folder)
        self._hold(held)

    async def _breathe(self, held: tuple[TreeNode[Item], int] | None) -> tuple[TreeNode[Item], int] | None:
        """Let the screen be drawn and keys be heard between two handfuls of changes."""
        self._hold(held)
        await asyncio.sleep(0)
        return self._held()

    def _add(self, folder: Folder, index: int, entry: Entry) -> None:
        path = os.path.join(folder.path, entry.name)
        node = folder.node.add(Text(" "), Item(path, entry), before=index, allow_expand=entry.is_folder)
        folder.children[entry.name] = node
        shallow = folder.node is self.root or folder.node.parent is self.root
        if entry.is_folder and shallow and len(self._folders) <= _EAGER_FOLDERS:
            self._folder_at(node)
            self._look_at({path})

    def _remove(self, folder: Folder, name: str) -> None:
        folder.children.pop(name).remove()
        gone = os.path.join(folder.path, name)
        for path in [path for path in self._folders if path == gone or path.startswith(gone + os.sep)]:
            del self._folders[path]

    def _leave(self, folder: Folder, gone: Sequence[str]) -> None:
        """Move the cursor off a row that goes, to the nearest one that stays."""
        above = self.cursor_node
        while above is not None and above.parent is not folder.node:
            above = above.parent
        if above is None or above.data is None or not gone:
            return
        going = {folder.children[name].id for name in gone}
        if above.id not in going:
            return
        siblings = list(folder.node.children)
        place = siblings.index(above)
        staying = [*siblings[place:], *reversed(siblings[:place])]
        successor = next((node for node in staying if node.id not in going), folder.node)
        if successor.is_root:
            self._drop_cursor()
        else:
            self._point_at(successor)

    def _show_more(self, folder: Folder, more: int) -> None:
        if folder.more is not None and not more:
            if self.cursor_node is folder.more:
                self._point_at(folder.more.previous_sibling or folder.node)
            folder.more.remove()
            folder.more = None
        elif folder.more is None and more:
            after = len(folder.children)
            item = Item(folder.path, None, more)
            folder.more = folder.node.add(Text(" "), item, before=after, allow_expand=False)
        elif folder.more is not None and folder.more.data is not None:
            folder.more.data.more = more
            folder.more.refresh()

    def _folder_at(self, node: TreeNode[Item]) -> Folder:
        assert node.data is not None
        path = node.data.path
        return self._folders.setdefault(path, Folder(path, node))

    # -- the cursor -------------------------------------------------------------------------------

    def _go_to_wanted(self) -> None:
        """Follow the wanted path as far as it is listed, and have the next folder on the way listed."""
        path = self._wanted
        if path is None:
            return
        above = [base for base in self._bases if path.startswith(base + os.sep)]
        folder = self._folders.get(max(above, key=len)) if above else None
        while folder is not None:
            rest = path[len(folder.path) + 1 :]
            name, _, deeper = rest.partition(os.sep)
            node = folder.children.get(name)
            if node is None:
                if folder.listing is None:
                    self._look_at({folder.path})
                return
            if folder.node.is_collapsed:
                folder.touched = True
                folder.node.expand()
            if not deeper:
                self._wanted = None
                self._point_at(node)
                return
            folder = self._folder_at(node)

    def _held(self) -> tuple[TreeNode[Item], int] | None:
        """The row that must stay where it is: the cursor's when it is in sight, else the topmost."""
        top = int(self.scroll_offset.y)
        line = self.cursor_line
        if not top <= line < top + self.scrollable_content_region.height:
            line = top
        node = self.get_node_at_line(line) if line else None
        return None if node is None else (node, line - top)

    def _hold(self, held: tuple[TreeNode[Item], int] | None) -> None:
        """Scroll so that a row is where it was."""
        if held is None or held[0].id not in self._tree_nodes:
            return
        node, offset = held
        # Asking for the last line makes the tree give every node its line.
        if self.last_line >= 0 and node.line - offset != int(self.scroll_offset.y):
            self.scroll_to(y=node.line - offset, animate=False, immediate=True)

    def _is_on(self, node: TreeNode[Item]) -> bool:
        above = self.cursor_node
        while above is not None and above is not node:
            above = above.parent
        return above is not None

    def _drop_cursor(self) -> None:
        self.unselect()
        self._cursor_node = None

    def _point_at(self, node: TreeNode[Item]) -> None:
        if self.last_line >= 0:
            self.move_cursor(node)

    def on_focus(self) -> None:
        """Show where the cursor is."""
        if self.cursor_line < 0 and self.last_line >= 0:
            self.cursor_line = 0

    def action_open_folder(self) -> None:
        """Open the folder under the cursor, or step into it."""
        node = self.cursor_node
        if node is not None and node.allow_expand:
            if node.is_collapsed:
                node.expand()
            elif node.children:
                self.move_cursor(node.children[0])

    def action_close_folder(self) -> None:
        """Close the folder under the cursor, or step out of it."""
        node = self.cursor_node
        if node is None:
            return
        if node.allow_expand and node.is_expanded:
            node.collapse()
        elif node.parent is not None and not node.parent.is_root:
            self.move_cursor(node.parent)

    def process_label(self, label: TextType) -> Text:
        """Rows are drawn by `render_label`; nothing is ever parsed as markup."""
        return label if isinstance(label, Text) else Text(label)

    def get_label_width(self, node: TreeNode[Item]) -> int:
        """Rows are made to fit, so none asks for width."""
        return 1


def entry_of(node: TreeNode[Item]) -> Entry:
    """The entry that a row stands for; only for rows that stand for one."""
    assert node.data is not None
    assert node.data.entry is not None
    return node.data.entry
