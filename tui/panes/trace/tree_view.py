"""The tree of the trace as a view: what is folded and what a filter leaves out of it."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterator
from itertools import count
from typing import ClassVar, Self

from textual import events
from textual.binding import Binding, BindingType

from core.text import clean_line
from tui.panes.trace.filter import CallFilter, read_filter
from tui.panes.trace.filter_job import Sifting
from tui.panes.trace.rows import CallNode
from tui.virtual_list.list_view import LineView
from tui.widgets.workers import start_job

__all__ = ["FilteredTree"]

LONGEST_FILTER = 200
SHOWN_FILTER = 30
STEPS_AT_ONCE = 4


class FilteredTree(LineView[CallNode]):
    """Rows under rows; `f` keeps those that are looked for and what they stand under, Esc brings all back.

    A subclass adds rows with `add_root` and `add_below`, tells of changes with `changed`, and says in
    `tell_counts` what the border shows.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "fold", "Fold", id="move.fold", show=False),
        Binding("right,l", "unfold", "Unfold", id="move.unfold", show=False),
        Binding("slash", "filter", "Filter", id="find.search", show=False),
        Binding("f", "filter", "Filter", id="trace.filter", show=False),
        Binding("n", "match(1)", "Next match", id="find.next", show=False),
        Binding("N", "match(-1)", "Previous match", id="find.previous", show=False),
    ]

    def __init__(self, *, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._queries: list[CallNode] = []
        self._filter: CallFilter | None = None
        self._typed = ""
        self._typing = False
        self._matched = 0
        self._folded: list[CallNode] = []
        self._left_at: tuple[Hashable | None, bool] = (None, True)
        self._sifting: Sifting | None = None

    def tell_counts(self) -> None:
        """Show the counts on the border."""

    # Rows

    def add_root(self, node: CallNode) -> None:
        """Add a row at the top of the tree, as the last."""
        node.place = len(self._queries)
        self._queries.append(node)
        node.hits = 0
        if self._filter is None:
            self.append(node)
        self._sift_later(node)

    def add_below(self, parent: CallNode, node: CallNode) -> None:
        """Add a row under another, as the last."""
        parent.add(node)
        if self._filter is not None:
            self._weigh(node)
        elif parent.visible and parent.open:
            self._put_in(node)
        self._sift_later(node)

    def changed(self, node: CallNode) -> None:
        """Take note that a row looks different, and may now be one that is looked for, or no longer."""
        node.revision += 1
        if self._filter is not None and node.record is not None:
            self._weigh(node)
        self._sift_later(node)
        self.touch(node.key)

    def keep_up(self, pane: Self) -> None:
        """As a tree that is on no screen: filter as one that is on it, too."""
        super().keep_up(pane)
        if self._typed != pane._typed:
            self.keep_only(pane._typed)

    def counterparts(self, whole: Self) -> Iterator[tuple[CallNode, CallNode]]:
        """Yield the rows that a longer tree has, too, each with the one there."""
        yield from ()

    def adopt(self, whole: Self) -> None:
        """Show the rows of a longer tree, which is given up for that; what is folded stays so."""
        whole.keep_up(self)
        # These are unfolded as long as there is a filter.
        only_now = {node.key for node in self._folded}
        for mine, theirs in self.counterparts(whole):
            if mine.key in only_now:
                whole._folded.append(theirs)
            elif theirs.open != mine.open:
                whole.set_open(theirs, open_=mine.open)
        self._sifting = None
        super().adopt(whole)
        self._queries, self._folded = whole._queries, whole._folded
        self._filter, self._matched = whole._filter, whole._matched

    def _left_out(self, node: CallNode) -> bool:
        return self._filter is not None and not node.hits

    def _shown(self, node: CallNode) -> list[CallNode]:
        """The row itself and all under it that are to be seen, in order."""
        if self._left_out(node):
            return []
        return [node, *node.shown(filtered=self._filter is not None)]

    def _weigh(self, node: CallNode) -> None:
        """Match a row anew, and bring in or take out the rows for which that makes a difference."""
        assert self._filter is not None
        change = int(self._filter.matches(node)) - int(node.matched)
        if not change:
            return
        self._matched += change
        node.matched = change > 0
        # The highest row that comes or goes takes all under it along.
        flipped: CallNode | None = None
        at: CallNode | None = node
        if change < 0:
            highest = node
            while highest.parent is not None and highest.parent.hits == 1:
                highest = highest.parent
            if highest.hits == 1 and (index := self.index_of(highest.key)) is not None:
                self.splice(index, len(self._shown(highest)), ())
        while at is not None:
            if change > 0 and not at.hits:
                flipped = at
                if at is not node and not at.open:
                    at.open = True
                    self._folded.append(at)
            at.hits += change
            at = at.parent
        if flipped is not None and flipped.visible:
            self._put_in(flipped)
        self.tell_counts()

    def _put_in(self, node: CallNode) -> None:
        """Put a row and what is to be seen under it where it belongs among the entries."""
        siblings = self._queries if node.parent is None else node.parent.children
        above = node.parent
        for place in range(node.place - 1, -1, -1):
            if not self._left_out(siblings[place]):
                above = siblings[place].last_shown(filtered=self._filter is not None)
                break
        index = -1 if above is None else self.index_of(above.key)
        assert index is not None
        rows = self._shown(node)
        if index == len(self._entries) - 1:
            self.append(*rows)
        else:
            self.splice(index + 1, 0, rows)

    def set_open(self, node: CallNode, *, open_: bool) -> None:
        """Fold or unfold a row."""
        index = self.index_of(node.key)
        if index is None or node.open == open_:
            node.open = open_
            return
        filtered = self._filter is not None
        below = list(node.shown(filtered=filtered)) if not open_ else []
        node.open = open_
        self.splice(index + 1, len(below), list(node.shown(filtered=filtered)))
        node.revision += 1
        self.touch(node.key)
        if self._sifting is not None:
            # The rows that are found so far are those of the folds before.
            self._sift(self._sifting.wanted)

    def toggle(self, node: CallNode, *, open_: bool) -> None:
        """Fold or unfold a row, and put the cursor on it."""
        self.set_open(node, open_=open_)
        self.show_entry(node.key)
        self.settle()

    def action_fold(self) -> None:
        """Fold the row under the cursor, or go to the one above it."""
        node = self.cursor
        if node is None:
            return
        if node.foldable and node.open:
            self.toggle(node, open_=False)
        elif node.parent is not None:
            self.show_entry(node.parent.key)
            self.settle()

    def action_unfold(self) -> None:
        """Unfold the row under the cursor, or go into it."""
        node = self.cursor
        if node is None or not node.foldable:
            return
        if not node.open:
            self.toggle(node, open_=True)
        else:
            below = next(node.shown(filtered=self.matched is not None), None)
            if below is not None:
                self.show_entry(below.key)
                self.settle()

    def clicked(self, entry: CallNode, column: int, line: int) -> None:
        """Fold or unfold by a click on the arrow."""
        if entry.foldable and 2 * entry.depth <= column < 2 * entry.depth + 2:
            self.toggle(entry, open_=not entry.open)

    # The filter

    @property
    def filtering(self) -> bool:
        """Whether a filter is on or being typed."""
        return self._typing or self._filter is not None

    @property
    def matched(self) -> int | None:
        """How many rows are looked for and there; None without a filter."""
        return None if self._filter is None else self._matched

    def filter_title(self) -> list[tuple[str, str]]:
        """What is typed, for the border."""
        if not self.filtering:
            return []
        typed = clean_line(self._typed, SHOWN_FILTER) if self._typed.strip() else self._typed
        return [(f"  f {typed}" + ("▏" if self._typing else ""), "$accent")]

    def keep_only(self, typed: str) -> None:
        """Show only what is looked for, with what it stands under, at once; nothing typed shows all."""
        self._seek(typed, at_once=True)

    def _seek(self, typed: str, *, at_once: bool = False) -> None:
        self._typed = typed[:LONGEST_FILTER]
        wanted = read_filter(self._typed)
        if at_once and self._sifting is not None:
            self._sift(wanted, at_once=True)
        elif wanted != (self._filter if self._sifting is None else self._sifting.wanted):
            self._sift(wanted, at_once=at_once)
        self.tell_counts()

    def _sift(self, wanted: CallFilter | None, *, at_once: bool = False) -> None:
        """Find what is to be seen: the first of a long trace now, the rest in steps that let keys and paints by."""
        width = self._inside()
        sifting = Sifting(self._queries, wanted, self._folded, lambda node: self.estimate(node, width))
        self._sifting = sifting
        for _ in count() if at_once or not self.is_attached else range(STEPS_AT_ONCE):
            if not sifting.advance():
                self._take_sifted(sifting)
                return
        start_job(self, self._sift_on, "sift")

    async def _sift_on(self) -> None:
        while (sifting := self._sifting) is not None:
            if not sifting.advance():
                self._take_sifted(sifting)
                return
            await asyncio.sleep(0)

    def _sift_later(self, node: CallNode) -> None:
        """Have a row weighed that came or changed while others were sifted."""
        if self._sifting is not None:
            self._sifting.later.append(node)

    def _take_sifted(self, sifting: Sifting) -> None:
        """Show what was found."""
        if sifting.folding != len(self._folded):
            # The filter so far unfolded more for what came meanwhile.
            self._sift(sifting.wanted, at_once=True)
            return
        self._sifting = None
        cursor = self.cursor.key if self.cursor is not None else None
        if self._filter is None:
            self._left_at = (self._cursor, self._following)
        wanted = self._filter = sifting.wanted
        for node in self._folded:
            node.open = False
        for node in sifting.opened:
            node.open = True
        self._folded = sifting.opened
        self._matched = sifting.matched
        if wanted is not None:
            sifting.set_hits()
        self.replace_all(sifting.rows, sifting.index, sifting.heights)
        # As the tree is read: a row goes below the last one of the row before it, which must stand there by then.
        for node in sorted(set(sifting.later), key=lambda node: node.path):
            if wanted is not None:
                self._weigh(node)
            elif node.visible and self.index_of(node.key) is None:
                self._put_in(node)
        self.tell_counts()
        self._find_cursor(cursor)
        self.settle()

    def _find_cursor(self, cursor: Hashable | None) -> None:
        if self._filter is None:
            kept, following = self._left_at
            if following or kept is None or self.index_of(kept) is None:
                self.action_cursor_end()
            else:
                self.show_entry(kept)
            return
        first = next((row.key for row in self._entries if row.matched), None)
        stays = self.index_of(cursor) if cursor is not None else None
        self._following = False
        if stays is not None and self._entries[stays].matched:
            self.show_entry(self._entries[stays].key)
        elif first is not None:
            self.show_entry(first)

    # Keys

    def action_filter(self) -> None:
        """Ask what to show only; what is typed from here on is that."""
        self._typing = True
        self.tell_counts()

    def action_match(self, step: int) -> None:
        """Go to the next match, or the one before, around the ends."""
        if self._filter is None or not self._matched:
            return
        here, size = self._cursor_index(), len(self._entries)
        for distance in range(1, size + 1):
            node = self._entries[(here + step * distance) % size]
            if node.matched:
                self.show_entry(node.key)
                self.settle()
                return

    def on_key(self, event: events.Key) -> None:
        """Take what is typed for the filter; Esc ends a filter before it means anything else."""
        if not self.filtering or (not self._typing and event.key != "escape"):
            return
        match event.key:
            case "escape":
                self._typing = False
                self._seek("")
            case "enter":
                self._typing = False
                self.tell_counts()
            case "backspace":
                self._seek(self._typed[:-1])
            case "ctrl+u":
                self._seek("")
            case _ if event.character is not None and event.is_printable:
                self._seek(self._typed + event.character)
            case _:
                return
        event.stop()
        event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        """Take what is pasted for the filter."""
        if self._typing:
            event.stop()
            self._seek(self._typed + clean_line(event.text))

    def on_blur(self) -> None:
        """Keep the filter as it is typed when the reader goes elsewhere."""
        self._typing = False
        self.tell_counts()
