"""The visible rows of the tree of calls: those that no fold and no filter hides."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from ua_tui.core.view.records import Call
from ua_tui.tui.panes.trace.calls import CallNode
from ua_tui.tui.panes.trace.rows import SLOW
from ua_tui.tui.render.format import Mark
from ua_tui.tui.virtual_list.source import EntryList
from ua_tui.tui.virtual_list.typed_query import TypedQuery
from ua_tui.tui.virtual_list.virtual_list import VirtualList

_SLOW = "slow"
_WORD = re.compile(r'(?:(tool|state):)?("[^"]*"?|\S+)', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CallFilter:
    """What a call must have, each in small letters: part of its tool's name, of a state, of its text."""

    tools: Sequence[str] = ()
    states: Sequence[str] = ()
    texts: Sequence[str] = ()

    def matches(self, node: CallNode) -> bool:
        """Whether a row matches; a query never does, it only stays above calls that do."""
        if not isinstance(node.record, Call):
            return False
        if self.tools:
            name = f"{node.record.label} {node.record.name}".casefold()
            if not all(tool in name for tool in self.tools):
                return False
        for state in self.states:
            if not _in_state(node, state):
                return False
        return not self.texts or _has_texts(node, self.texts)


def read_filter(typed: str) -> CallFilter | None:
    """Read what was typed: words that must all match, `tool:` or `state:` before one; None when it is blank.

    Case does not matter; double quotes keep words together.
    """
    found: dict[str, list[str]] = {"tool": [], "state": [], "": []}
    for kind, word in _WORD.findall(typed):
        if text := word.strip('"').casefold():
            found[kind.casefold()].append(text)
    if not any(found.values()):
        return None
    return CallFilter(tuple(found["tool"]), tuple(found["state"]), tuple(found[""]))


def _in_state(node: CallNode, wanted: str) -> bool:
    if wanted in node.mark.word or (node.flag and wanted in node.flag.casefold()):
        return True
    if wanted in _SLOW and node.took is not None and node.took > SLOW:
        return True
    return node.mark is Mark.WAITING and wanted in Mark.RUNNING.word


def _has_texts(node: CallNode, texts: Sequence[str]) -> bool:
    assert isinstance(node.record, Call)
    name = node.record.name
    parts = (node.label, name, node.argument, node.note, node.error, node.flag, node.arguments)
    searched = "\n".join(parts).casefold()
    for text in texts:  # noqa: SIM110  # quicker than a generator
        if text not in searched:
            return False
    return True


class TreeRows:
    """Keeps a list in line with a tree that grows and whose rows are folded.

    Args:
        view: the list.
        changed: is called when the number of rows that the filter shows changed.

    Attributes:
        roots: the topmost rows, in order.
        query: the filter as a person types it.
        wanted: what rows must match; None without a filter.
    """

    def __init__(self, view: VirtualList[CallNode], changed: Callable[[], None]) -> None:
        self.roots: list[CallNode] = []
        self.query = TypedQuery(
            "filter", changed=self._seek, accepted=changed, cleared=lambda _: self.query.edit("")
        )
        self.wanted: CallFilter | None = None
        self._view = view
        self._changed = changed
        self._matched = 0
        self._unfolded: list[CallNode] = []
        self._before: tuple[Hashable | None, bool] = (None, True)

    @property
    def is_filtered(self) -> bool:
        """Whether rows are filtered."""
        return self.wanted is not None

    @property
    def matched(self) -> int | None:
        """How many rows match; None without a filter."""
        return self._matched if self.is_filtered else None

    # -- the tree ---------------------------------------------------------------------------------

    def add_root(self, node: CallNode) -> None:
        """Add a row at the top of the tree, as the last."""
        node.place = len(self.roots)
        self.roots.append(node)
        node.hits = 0
        if not self.is_filtered:
            self._view.append(node)

    def add_below(self, parent: CallNode, node: CallNode) -> None:
        """Add a row under another, as the last."""
        parent.add(node)
        if self.is_filtered:
            self._match(node)
        elif parent.visible and parent.open:
            self.insert(node)
        if len(parent.children) == 1:
            # It can be folded now.
            self.changed(parent)

    def changed(self, node: CallNode) -> None:
        """Note that a row looks different, and that it may match the filter now, or no longer."""
        node.revision += 1
        if self.is_filtered and isinstance(node.record, Call):
            self._match(node)
        self._view.touch(node.key)

    # -- what is in the list ----------------------------------------------------------------------

    def _is_hidden(self, node: CallNode) -> bool:
        return self.is_filtered and not node.hits

    def visible_from(self, node: CallNode) -> list[CallNode]:
        """Return the row itself and all visible rows under it, in order."""
        return [] if self._is_hidden(node) else [node, *node.shown(filtered=self.is_filtered)]

    def insert(self, node: CallNode) -> None:
        """Insert a row, with the visible rows under it, where it belongs in the list."""
        siblings = self.roots if node.parent is None else node.parent.children
        above = node.parent
        for place in range(node.place - 1, -1, -1):
            if not self._is_hidden(siblings[place]):
                above = siblings[place].last_shown(filtered=self.is_filtered)
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
        view, filtered = self._view, self.is_filtered
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
        elif (below := next(node.shown(filtered=self.is_filtered), None)) is not None:
            self._go_to(below)

    def reveal(self, node: CallNode) -> None:
        """Unfold what hides a row, clear a filter that does, and put the cursor on the row."""
        if self._is_hidden(node):
            self.show_only("")
        for above in reversed([*node.lineage][1:]):
            if not above.open:
                self.set_open(above, open_=True)
        self._go_to(node)

    def _go_to(self, node: CallNode) -> None:
        self._view.show_entry(node.key)
        self._view.update_rows()

    # -- the filter -------------------------------------------------------------------------------

    def show_only(self, typed: str) -> None:
        """Show only what matches, with the rows it is under; a blank text shows all."""
        self.query.text = typed
        self._seek(typed)

    def _match(self, node: CallNode) -> None:
        """Match a row again, and add or remove the rows for which that makes a difference."""
        assert self.wanted is not None
        change = int(self.wanted.matches(node)) - int(node.matched)
        if not change:
            return
        self._matched += change
        node.matched = change > 0
        if change > 0:
            self._add(node)
        else:
            self._remove(node)
        self._changed()

    def _add(self, node: CallNode) -> None:
        highest: CallNode | None = None
        for above in node.lineage:
            if not above.hits:
                highest = above
                if above is not node and not above.open:
                    above.open = True
                    self._unfolded.append(above)
            above.hits += 1
        if highest is not None and highest.visible:
            self.insert(highest)

    def _remove(self, node: CallNode) -> None:
        # The highest row that goes takes all rows under it along.
        highest = node
        while highest.parent is not None and highest.parent.hits == 1:
            highest = highest.parent
        if highest.hits == 1 and (index := self._view.index_of(highest.key)) is not None:
            self._view.splice(index, len(self.visible_from(highest)), ())
        for above in node.lineage:
            above.hits -= 1

    def adopt(self, longer: TreeRows) -> None:
        """Continue with the rows of a longer trace, which has the same filter."""
        self.roots = longer.roots
        self.wanted, self._matched, self._unfolded = longer.wanted, longer._matched, longer._unfolded

    def unfold_in(self, longer: TreeRows, mine: CallNode, theirs: CallNode) -> bool:
        """Note that a row of a longer trace is open only because of the filter, where it is so here."""
        if mine not in self._unfolded:
            return False
        longer._unfolded.append(theirs)
        return True

    def _seek(self, typed: str) -> None:
        wanted = read_filter(typed)
        if wanted != self.wanted:
            self._show(wanted)
        self._changed()

    def _show(self, wanted: CallFilter | None) -> None:
        view = self._view
        cursor = view.cursor.key if view.cursor is not None else None
        if self.wanted is None:
            self._before = (view.bookmark.cursor, view.following)
        self.wanted = wanted
        for node in self._unfolded:
            node.open = False
        self._unfolded = []
        if wanted is not None:
            self._matched = sum(self._count(root, wanted) for root in self.roots)
        rows = [row for root in self.roots for row in self.visible_from(root)]
        width = view.entry_width
        view.replace_all(EntryList(rows, [view.estimate(row, width) for row in rows]))
        self._place_cursor(cursor)
        view.update_rows()

    def _count(self, node: CallNode, wanted: CallFilter) -> int:
        """Count the matches of a row and below it, and unfold it if there are any: none may be hidden."""
        below = sum(self._count(child, wanted) for child in node.children)
        if below and not node.open:
            node.open = True
            self._unfolded.append(node)
        node.matched = wanted.matches(node)
        node.hits = below + node.matched
        return node.hits

    def _place_cursor(self, cursor: Hashable | None) -> None:
        view = self._view
        if self.wanted is None:
            before, following = self._before
            if following or before is None or view.index_of(before) is None:
                view.action_cursor_end()
            else:
                view.show_entry(before)
            return
        view.following = False
        index = view.index_of(cursor) if cursor is not None else None
        if index is not None and view.entries[index].matched:
            view.show_entry(cursor)
        else:
            view.show_entry(next((row.key for row in view.entries if row.matched), None))

    def go_to_match(self, step: int) -> None:
        """Go to the next match, or to the previous one, around the ends."""
        if not self.is_filtered or not self._matched:
            return
        entries, here = self._view.entries, self._view.cursor_index
        for distance in range(1, len(entries) + 1):
            node = entries[(here + step * distance) % len(entries)]
            if node.matched:
                self._view.show_entry(node.key)
                self._view.update_rows()
                return
