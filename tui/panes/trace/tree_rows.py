"""The visible rows of the tree of calls: those that no fold and no filter hides."""

from __future__ import annotations

from collections.abc import Callable

from ua_tui.core.view.records import Call
from ua_tui.tui.panes.trace.calls import CallNode
from ua_tui.tui.panes.trace.filter import TraceFilter
from ua_tui.tui.virtual_list.virtual_list import VirtualList


class TreeRows:
    """Keeps a list in line with a tree that grows and whose rows are folded.

    Args:
        view: the list.
        changed: is called when the number of rows that the filter shows changed.

    Attributes:
        roots: the topmost rows, in order.
        filter: hides what does not match.
    """

    def __init__(self, view: VirtualList[CallNode], changed: Callable[[], None]) -> None:
        self.roots: list[CallNode] = []
        self.filter = TraceFilter(lambda: self.roots, self.visible_from, self.insert, view, changed)
        self._view = view

    # -- the tree ---------------------------------------------------------------------------------

    def add_root(self, node: CallNode) -> None:
        """Add a row at the top of the tree, as the last."""
        node.place = len(self.roots)
        self.roots.append(node)
        node.hits = 0
        if not self.filter.on:
            self._view.append(node)

    def add_below(self, parent: CallNode, node: CallNode) -> None:
        """Add a row under another, as the last."""
        parent.add(node)
        if self.filter.on:
            self.filter.match(node)
        elif parent.visible and parent.open:
            self.insert(node)
        if len(parent.children) == 1:
            # It can be folded now.
            self.changed(parent)

    def changed(self, node: CallNode) -> None:
        """Note that a row looks different, and that it may match the filter now, or no longer."""
        node.revision += 1
        if self.filter.on and isinstance(node.record, Call):
            self.filter.match(node)
        self._view.touch(node.key)

    # -- what is in the list ----------------------------------------------------------------------

    def _is_hidden(self, node: CallNode) -> bool:
        return self.filter.on and not node.hits

    def visible_from(self, node: CallNode) -> list[CallNode]:
        """Return the row itself and all visible rows under it, in order."""
        return [] if self._is_hidden(node) else [node, *node.shown(filtered=self.filter.on)]

    def insert(self, node: CallNode) -> None:
        """Insert a row, with the visible rows under it, where it belongs in the list."""
        siblings = self.roots if node.parent is None else node.parent.children
        above = node.parent
        for place in range(node.place - 1, -1, -1):
            if not self._is_hidden(siblings[place]):
                above = siblings[place].last_shown(filtered=self.filter.on)
                break
        view = self._view
        index = -1 if above is None else view.index_of(above.key)
        assert index is not None
        rows = self.visible_from(node)
        if index == len(view.entries) - 1:
            view.append(*rows)
        else:
            view.splice(index + 1, 0, rows)

    # -- folds ------------------------------------------------------------------------------------

    def set_open(self, node: CallNode, *, open_: bool) -> None:
        """Fold or unfold a row."""
        view, filtered = self._view, self.filter.on
        index = view.index_of(node.key)
        if index is None or node.open == open_:
            node.open = open_
            return
        below = list(node.shown(filtered=filtered)) if not open_ else []
        node.open = open_
        view.splice(index + 1, len(below), list(node.shown(filtered=filtered)))
        node.revision += 1
        view.touch(node.key)

    def toggle(self, node: CallNode) -> None:
        """Fold or unfold a row, and put the cursor on it."""
        self.set_open(node, open_=not node.open)
        self._go_to(node)

    def fold(self) -> None:
        """Fold the row under the cursor, or go to the one that it is under."""
        node = self._view.cursor
        if node is None:
            return
        if node.foldable and node.open:
            self.toggle(node)
        elif node.parent is not None:
            self._go_to(node.parent)

    def unfold(self) -> None:
        """Unfold the row under the cursor, or go to the first one under it."""
        node = self._view.cursor
        if node is None or not node.foldable:
            return
        if not node.open:
            self.toggle(node)
        elif (below := next(node.shown(filtered=self.filter.on), None)) is not None:
            self._go_to(below)

    def reveal(self, node: CallNode) -> None:
        """Unfold what hides a row, clear a filter that does, and put the cursor on the row."""
        if self._is_hidden(node):
            self.filter.show_only("")
        for above in reversed([*node.lineage][1:]):
            if not above.open:
                self.set_open(above, open_=True)
        self._go_to(node)

    def _go_to(self, node: CallNode) -> None:
        self._view.show_entry(node.key)
        self._view.update_rows()
