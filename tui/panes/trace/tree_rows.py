"""The visible rows of the tree of calls: those that no fold and no filter hides."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from itertools import takewhile

from ua_tui.core.view.records import Call
from ua_tui.tui.panes.trace.calls import CallNode
from ua_tui.tui.panes.trace.rows import SLOW
from ua_tui.tui.render.format import Mark
from ua_tui.tui.virtual_list.typed_query import TypedQuery
from ua_tui.tui.virtual_list.virtual_list import VirtualList

_SLOW = "slow"
_WORD = re.compile(r'(?:(tool|state):)?("[^"]*"?|\S+)', re.IGNORECASE)


def read_filter(typed: str) -> tuple[tuple[str, str], ...]:
    """Read what was typed: words that a call must have, each in small letters and with what is before it.

    Case does not matter; double quotes keep words together. Only a call's name is searched for a word with `tool:`
    before it, and only its state for one with `state:`.
    """
    words = ((kind.casefold(), word.strip('"').casefold()) for kind, word in _WORD.findall(typed))
    return tuple((kind, text) for kind, text in words if text)


def _searched(node: CallNode, kind: str) -> str:
    """The texts of a call in which a word of this kind may be."""
    call = node.record
    assert isinstance(call, Call)
    match kind:
        case "tool":
            parts = [call.label, call.name]
        case "state":
            is_slow = node.took is not None and node.took > SLOW
            waits = Mark.RUNNING.word if node.mark is Mark.WAITING else ""
            parts = [node.mark.word, node.flag, _SLOW if is_slow else "", waits]
        case _:
            parts = [node.label, call.name, node.argument, node.note, node.error, node.flag, node.arguments]
    return "\n".join(parts).casefold()


class TreeRows:
    """Keeps a list in line with a tree that grows and whose rows are folded.

    Args:
        view: the list.
        changed: is called when the filter was changed.

    Attributes:
        roots: the topmost rows, in order.
        query: the filter as a person types it.
        wanted: what rows must match; nothing without a filter.
        matched: how many rows match.
    """

    def __init__(self, view: VirtualList[CallNode], changed: Callable[[], None]) -> None:
        self.roots: list[CallNode] = []
        self.query = TypedQuery(
            "filter", changed=self._seek, accepted=changed, cleared=lambda _: self.query.edit("")
        )
        self.wanted: tuple[tuple[str, str], ...] = ()
        self.matched = 0
        self._view = view
        self._changed = changed
        self._news: list[CallNode] = []
        """What belongs at the end of the list: most rows come there."""
        self._stale_from: int | None = None
        """The place of the first topmost row that is not in the list as it is now."""
        self._before: tuple[Hashable | None, bool] = (None, True)

    @property
    def is_filtered(self) -> bool:
        """Whether rows are filtered."""
        return bool(self.wanted)

    # -- the tree ---------------------------------------------------------------------------------

    def add_root(self, node: CallNode) -> None:
        """Add a row at the top of the tree, as the last."""
        node.place = len(self.roots)
        self.roots.append(node)
        self._note_new(node)

    def add_below(self, parent: CallNode, node: CallNode) -> None:
        """Add a row under another, as the last."""
        parent.add(node)
        self._match(node)
        self._note_new(node)
        if len(parent.children) == 1:
            # It can be folded now.
            self.changed(parent)

    def changed(self, node: CallNode) -> None:
        """Note that a row looks different, and that it may match the filter now, or no longer."""
        node.revision += 1
        self._match(node)
        self._view.touch(node.key)

    def adopt(self, longer: TreeRows) -> None:
        """Continue with the rows of a longer trace, which has the same filter."""
        self.roots, self.wanted, self.matched = longer.roots, longer.wanted, longer.matched

    # -- what is in the list ----------------------------------------------------------------------

    def _note_new(self, node: CallNode) -> None:
        if not self.is_filtered and self._is_last(node):
            self._news.append(node)
        else:
            self._outdate(node)

    def _is_last(self, node: CallNode) -> bool:
        if node.parent is None:
            return self.roots[-1] is node
        return node.parent.children[-1] is node and node.parent.open and self._is_last(node.parent)

    def _outdate(self, node: CallNode) -> None:
        *_, root = node.lineage
        self._stale_from = root.place if self._stale_from is None else min(root.place, self._stale_from)

    def refresh(self, *, as_new: bool = False) -> None:
        """Bring the list in line with the tree: what is above the first change and below the last one stays.

        With `as_new`, rows at its end count as new.
        """
        news, self._news = self._news, []
        if self._stale_from is None:
            if news:
                self._view.append(*news)
            return
        for node in news[:1]:
            # It is not in the list either, and above all other new rows.
            self._outdate(node)
        view, roots, start = self._view, self.roots, 0
        if not self.is_filtered and self._stale_from:
            roots = roots[self._stale_from :]
            index = view.index_of(roots[0].key)
            start = len(view.entries) if index is None else index
        self._stale_from = None
        old = view.entries[start:]
        new = [row for root in roots for row in root.shown(filtered=self.is_filtered)]
        above = _count_same(old, new)
        below = _count_same(reversed(old[above:]), reversed(new[above:]))
        added, removed = new[above : len(new) - below], len(old) - above - below
        if as_new and above == len(old):
            view.append(*added)
        elif added or removed:
            view.splice(start + above, removed, added)

    # -- folds ------------------------------------------------------------------------------------

    def set_open(self, node: CallNode, open_: bool) -> None:
        """Fold or unfold a row; call `refresh` afterwards."""
        if node.open != open_:
            node.open = open_
            node.revision += 1
            self._view.touch(node.key)
            self._outdate(node)

    def toggle(self, node: CallNode) -> None:
        """Fold or unfold a row, and put the cursor on it."""
        self.set_open(node, not node.open)
        self.refresh()
        self.go_to(node)

    def reveal(self, node: CallNode) -> None:
        """Unfold what hides a row, clear a filter that does, and put the cursor on the row."""
        self.refresh()
        if self.is_filtered and not node.hits:
            self.show_only("")
        for above in [*node.lineage][1:]:
            self.set_open(above, True)
        self.refresh()
        self.go_to(node)

    def go_to(self, node: CallNode) -> None:
        """Put the cursor on a row."""
        self._view.show_entry(node.key)
        self._view.update_rows()

    # -- the filter -------------------------------------------------------------------------------

    def show_only(self, typed: str) -> None:
        """Show only what matches, with the rows it is under; a blank text shows all."""
        self.query.text = typed
        self._seek(typed)

    def _match(self, node: CallNode) -> None:
        """Match a row again, and unfold the rows that hide the first match under them: none may be hidden."""
        if not self.is_filtered:
            return
        # A query never matches, it only stays above calls that do.
        is_call = isinstance(node.record, Call)
        if node.matched == (is_call and all(text in _searched(node, kind) for kind, text in self.wanted)):
            return
        node.matched = not node.matched
        change = 1 if node.matched else -1
        self.matched += change
        for above in node.lineage:
            above.hits += change
            if change == above.hits == 1 and above is not node and not above.open:
                above.open = above.unfolded = True
        self._outdate(node)

    def _seek(self, typed: str) -> None:
        wanted = read_filter(typed)
        if wanted != self.wanted:
            self._show(wanted)
        self._changed()

    def _show(self, wanted: tuple[tuple[str, str], ...]) -> None:
        view = self._view
        cursor = view.cursor.key if view.cursor is not None else None
        if not self.is_filtered:
            self._before = (view.bookmark.cursor, view.following)
        self.wanted, self.matched, self._stale_from = wanted, 0, 0
        nodes = [node for root in self.roots for node in root.walk()]
        for node in nodes:
            node.open, node.unfolded = node.open and not node.unfolded, False
            node.matched, node.hits = False, 0
        for node in nodes:
            self._match(node)
        self.refresh()
        self._place_cursor(cursor)
        view.update_rows()

    def _place_cursor(self, cursor: Hashable | None) -> None:
        view = self._view
        if not self.is_filtered:
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


def _count_same(old: Iterable[CallNode], new: Iterable[CallNode]) -> int:
    """How many rows at the beginning are the same."""
    return len([*takewhile(lambda pair: pair[0] is pair[1], zip(old, new, strict=False))])
