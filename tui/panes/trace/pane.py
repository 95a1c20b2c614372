"""The trace: every tool call as it happens, under the query and the sub-agent that made it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Self

from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.timer import Timer

from ua_tui.core.events.types import Event, QueryFinished
from ua_tui.core.events.units import quantity
from ua_tui.core.view.records import Call
from ua_tui.core.view.session import SessionView
from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.panes.columns import TableStyles
from ua_tui.tui.panes.requests import ShowCall, StopSubagent
from ua_tui.tui.panes.trace.calls import CallNode
from ua_tui.tui.panes.trace.rows import TraceTheme, render_node, render_totals
from ua_tui.tui.panes.trace.tree import CallTree
from ua_tui.tui.panes.trace.tree_rows import TreeRows
from ua_tui.tui.panes.trace.waterfall import WATERFALL_FROM_WIDTH, columns_of, scale_of
from ua_tui.tui.render.layout import PLAIN, Line, component_classes, read_theme, spread, wrap
from ua_tui.tui.virtual_list.virtual_list import VirtualList

TICK = 1.0
BORDER_CELLS = 6
"""Corners, lines and blanks beside the title of a border."""

_EMPTY = "Every tool call appears here as it happens, with its result and time."
_NO_MATCH = "No call matches. Esc shows all of them."


class TracePane(VirtualList[CallNode]):
    """Shows the session's tool calls as a tree; only rows that changed are drawn again.

    Attributes:
        calls: turns events into the rows of the tree.
        tree_rows: puts those rows into the list that no fold and no filter hides.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = set(component_classes(TraceTheme, "trace-").values())
    BINDINGS = bindings("TracePane")
    single_lines = True
    key_hints: ClassVar[tuple[tuple[str, str], ...]] = (
        ("move.open", "details"),
        ("find.search", "filter"),
        ("trace.next_failure", "next failure"),
        ("move.fold", "fold"),
        ("pane.maximise", "maximise"),
    )

    def __init__(self, *, id: str | None = None, clock: Callable[[], float] = time.time) -> None:
        """Make an empty trace; `clock` gives the time of day in seconds."""
        super().__init__(id=id)
        self.ticks = 0
        self.waterfall: bool | None = None
        self._with_totals = False
        self._theme = TraceTheme()
        self._muted = PLAIN
        self.tree_rows = TreeRows(self, self.show_counts)
        self.typed = self.tree_rows.query
        self.calls = CallTree(self.tree_rows, clock)
        self._timer: Timer | None = None
        self._scales: list[float] = []
        self._counts = 0, 0, 0
        self.show_counts()

    def on_mount(self) -> None:
        """Set up the one timer; it runs only while a row does."""
        self._timer = self.set_interval(TICK, self._advance, pause=True)
        self._run_timer()

    # -- events -----------------------------------------------------------------------------------

    def handle_event(self, event: Event, view: SessionView) -> None:
        """Add and end the rows that an event is about."""
        self.calls.handle_event(event, view)
        if isinstance(event, QueryFinished):
            # Its waterfall has another scale now.
            self.touch_all()

    def show_view(self, view: SessionView) -> None:
        """Paint once what a batch of events has changed."""
        self.calls.update(view)
        self._show_rows()

    def end(self) -> None:
        """Let no row look as if it continued."""
        self.calls.end_all()
        self._show_rows()

    def _show_rows(self) -> None:
        if self.off_screen:
            return
        self.tree_rows.refresh(as_new=True)
        counts = self.calls.count, len(self.calls.failures), self.tree_rows.matched
        if counts != self._counts:
            self._counts = counts
            self.show_counts()
        self._run_timer()
        if self._stale:
            self.update_rows()

    def _run_timer(self) -> None:
        if self._timer is not None:
            if self.calls.live:
                self._timer.resume()
            else:
                self._timer.pause()

    def _advance(self) -> None:
        self.ticks += 1
        now = self.calls.now()
        running = [node for node in self.calls.live.values() if node.kind == "query"]
        scales = [scale_of(query, now) for query in running]
        if scales != self._scales:
            self._scales = scales
            self.touch_all()
        for node in self.visible_entries:
            if node.key in self.calls.live:
                self.tree_rows.changed(node)
        self.update_rows()

    # -- a longer trace of the same session -------------------------------------------------------

    def twin(self) -> TracePane:
        """Make an empty trace with the same source that is on no screen."""
        twin = TracePane()
        twin.calls.read_like(self.calls)
        return twin

    def adopt(self, longer: Self) -> None:
        """Show a longer trace, which is given up for that; what is folded stays so."""
        longer.gather_for(self)
        mine, theirs = self.tree_rows, longer.tree_rows
        theirs.show_only(mine.query.text)
        for key, node in self.calls.by_key.items():
            if (other := longer.calls.by_key.get(key)) is not None:
                theirs.set_open(other, node.open)
                other.unfolded = node.unfolded
        theirs.refresh()
        super().adopt(longer)
        mine.adopt(theirs)
        self.calls.adopt(longer.calls)
        self.show_counts()
        self.update_rows()
        self._run_timer()

    # -- drawing ----------------------------------------------------------------------------------

    def restyle(self, palette: Mapping[str, Style]) -> None:
        """Read the styles of the trace from a new palette."""
        self._theme = read_theme(TraceTheme, "trace-", palette.__getitem__)
        self._muted = palette["lines--muted"]

    def render_entry(self, entry: CallNode, width: int) -> Sequence[Line]:
        """Render a row."""
        waterfall = self._has_waterfall(width)
        return render_node(
            entry, width, self._theme, now=self.calls.now(), tick=self.ticks, waterfall=waterfall
        )

    def _has_waterfall(self, width: int) -> bool:
        return width >= WATERFALL_FROM_WIDTH if self.waterfall is None else self.waterfall

    def render_head(self, width: int, height: int) -> Sequence[Line]:
        """Render the table of totals where it is wanted, and name the columns of a waterfall."""
        if not self.entries:
            return []
        theme = self._theme
        lines: list[Line] = []
        if self._with_totals:
            styles = TableStyles(self._muted, theme.name, theme.number, theme.number, theme.bad)
            lines = render_totals(self.tree_rows.roots, width, height - 1, styles)
        columns = columns_of(width, waterfall=self._has_waterfall(width))
        if columns.bar:
            lines.append(spread([], [Segment(columns.head, self._muted)], width))
        return lines

    def counts_as_new(self, entry: CallNode) -> bool:
        """Count calls, but neither their queries nor the messages between them."""
        return isinstance(entry.record, Call)

    def render_below(self, width: int) -> Sequence[Line]:
        """Say why there is no row."""
        text = _NO_MATCH if self.tree_rows.query.active else _EMPTY
        return [] if self.entries else [[], *wrap([(text, self._muted)], width)]

    # -- what is shown ----------------------------------------------------------------------------

    def show_counts(self) -> None:
        """Show on the border how many calls there are, how many failed, and what the filter shows of them."""
        if self.off_screen:
            return
        count, failures, rows = self.calls.count, len(self.calls.failures), self.tree_rows
        calls: list[str | Content | tuple[str, str]] = ["Trace"]
        failed: list[str | tuple[str, str]] = []
        if count:
            part = f"{rows.matched:,} of " if rows.is_filtered else ""
            calls.append(f" · {part}{quantity(count, 'call')}")
            text = f"{failures} failed"
            failed = [" · ", (text, "bold $text-error") if failures else text]
        query = rows.query
        typed = [(f"  f {query.shown}", "$accent")] if query.active else []
        title = Content.assemble(*calls, *failed, *typed)
        # What is typed must be seen while it is typed: a narrow border has no room for both.
        if typed and title.cell_length > self.outer_size.width - BORDER_CELLS:
            title = Content.assemble(*calls, *typed)
        self.border_title = title

    def reveal(self, tool_use_id: str) -> bool:
        """Unfold what hides a call and put the cursor on it; False when there is no such call."""
        node = self.calls.by_key.get(tool_use_id)
        if node is not None:
            self.tree_rows.reveal(node)
        return node is not None

    # -- keys and clicks --------------------------------------------------------------------------

    def open_entry(self, entry: CallNode) -> None:
        """Show a call in full; fold or unfold a query, or a message."""
        if isinstance(entry.record, Call):
            self.post_message(ShowCall(entry.key))
        else:
            self.tree_rows.toggle(entry)

    def click_entry(self, entry: CallNode, column: int, line: int) -> None:
        """Fold or unfold by a click on the arrow."""
        if entry.foldable and 2 * entry.depth <= column < 2 * entry.depth + 2:
            self.tree_rows.toggle(entry)

    def action_fold(self) -> None:
        """Fold the row under the cursor, or go to the one that it is under."""
        node = self.cursor
        if node is not None and node.foldable and node.open:
            self.tree_rows.toggle(node)
        elif node is not None and node.parent is not None:
            self.tree_rows.go_to(node.parent)

    def action_unfold(self) -> None:
        """Unfold the row under the cursor, or go to the first one under it."""
        node = self.cursor
        if node is None or not node.foldable:
            return
        if not node.open:
            self.tree_rows.toggle(node)
        else:
            for below in self.entries[self.cursor_index + 1 :][:1]:
                if below.parent is node:
                    self.tree_rows.go_to(below)

    def action_failure(self, direction: int) -> None:
        """Go to the next or the previous failed call, around the ends."""
        here = self.cursor
        path = here.path if here is not None else ()
        found = self.calls.failure_from(path, direction, only_matched=self.tree_rows.is_filtered)
        if found is not None:
            self.tree_rows.reveal(found)

    def action_toggle_waterfall(self) -> None:
        """Show or hide the waterfall; a wide pane shows it from the beginning."""
        self.waterfall = not self._has_waterfall(self.entry_width)
        self.touch_all()
        self.update_rows()

    def action_toggle_totals(self) -> None:
        """Show or hide the table of totals."""
        self._with_totals = not self._with_totals
        self.update_rows()

    def action_stop_subagent(self) -> None:
        """Stop the sub-agent under the cursor, or the one that the row under it works for."""
        lineage = self.cursor.lineage if self.cursor is not None else ()
        agent = next((node for node in lineage if node.kind == "agent" and node.running), None)
        if agent is None:
            self.notify("No sub-agent is running here.")
        else:
            self.post_message(StopSubagent(agent.key))

    # -- the filter -------------------------------------------------------------------------------

    def action_filter(self) -> None:
        """Begin to type a filter."""
        self.tree_rows.query.typing = True
        self.show_counts()

    def action_match(self, step: int) -> None:
        """Go to the next match, or to the previous one, around the ends."""
        here, count = self.cursor_index, len(self.entries)
        nodes = (self.entries[(here + step * distance) % count] for distance in range(1, count + 1))
        if (found := next((node for node in nodes if node.matched), None)) is not None:
            self.tree_rows.go_to(found)

    def on_blur(self) -> None:
        """Keep the filter as it is typed when the person goes elsewhere."""
        self.tree_rows.query.typing = False
        self.show_counts()
