"""The trace: every tool call as it happens, under the query and the sub-agent that made it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar, Self

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.timer import Timer

from core.events.types import Event
from tui.panes.trace.events import CallTree
from tui.panes.trace.rows import CallNode, TraceTheme, render_node
from tui.panes.trace.subagent_text import render_words
from tui.render.layout import Line, wrap

__all__ = ["TracePane"]

TICK = 1.0
BORDER_CELLS = 6
"""Corners, lines and blanks beside the title of a border."""


class TracePane(CallTree):
    """Shows the session's tool calls as a tree; only rows that changed are drawn again."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"trace--{name}"
        for name in ("query", "name", "argument", "note", "number", "running", "good", "warning", "bad")
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "failure(1)", "Next failure", id="trace.next_failure"),
        Binding("E", "failure(-1)", "Previous failure", id="trace.previous_failure", show=False),
    ]
    HELP = "Tool calls. Left and right fold, Enter shows a call whole, e and E go from failure to failure, f filters."

    class Opened(Message):
        """A call is to be shown whole."""

        def __init__(self, tool_use_id: str) -> None:
            super().__init__()
            self.tool_use_id = tool_use_id

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make an empty trace; `monotonic` is the clock of live rows, in seconds."""
        super().__init__(name=name, id=id, classes=classes, monotonic=monotonic)
        self._theme = TraceTheme()
        self._tick = 0
        self._timer: Timer | None = None
        self.tell_counts()

    def on_mount(self) -> None:
        """Set up the one timer; it runs only while a row does."""
        self._timer = self.set_interval(TICK, self._advance, pause=True)
        self._wind()

    # Events

    def handle_events(self, events: Sequence[Event]) -> None:
        """Take a batch of events in order, and paint once."""
        calls, failures = self._known.count, len(self._known.failures)
        for event in events:
            self._take(event)
        if (calls, failures) != (self._known.count, len(self._known.failures)):
            self.tell_counts()
        self._wind()
        self.settle()

    def adopt(self, whole: Self) -> None:
        """Show a longer trace, which is given up for that; what is folded stays so."""
        super().adopt(whole)
        self._wind()

    # Time

    def _wind(self) -> None:
        if self._timer is not None:
            if self._known.live:
                self._timer.resume()
            else:
                self._timer.pause()

    def _advance(self) -> None:
        self._tick += 1
        for node in self.on_screen:
            if node.key in self._known.live:
                self.changed(node)
        self.settle()

    # The view

    def tell_counts(self) -> None:
        """Show on the border how many calls there are, how many failed, and what is kept of them."""
        calls: list[str | Content | tuple[str, str]] = ["Trace"]
        failed: list[str | tuple[str, str]] = []
        if self._known.count:
            kept = "" if self.matched is None else f"{self.matched:,} of "
            calls.append(f" · {kept}{self._known.count:,} call{'' if self._known.count == 1 else 's'}")
            told = f"{len(self._known.failures)} failed"
            failed = [" · ", (told, "bold $text-error") if self._known.failures else told]
        typed = self.filter_title()
        title = Content.assemble(*calls, *failed, *typed)
        # What is typed must be seen while it is typed: a narrow border has no room for both.
        if typed and title.cell_length > self.outer_size.width - BORDER_CELLS:
            title = Content.assemble(*calls, *typed)
        self.border_title = title

    def restyled(self) -> None:
        """Read the styles of the trace again."""
        self._theme = TraceTheme.read(self.palette.__getitem__)

    def render_entry(self, entry: CallNode, width: int) -> Sequence[Line]:
        """Render a row."""
        if entry.kind == "words":
            return render_words(entry, width, self._theme)
        return [render_node(entry, width, self._theme, now=self._monotonic(), tick=self._tick)]

    def counts_as_new(self, entry: CallNode) -> bool:
        """Count calls, neither the queries they stand under nor what is said between them."""
        return entry.record is not None

    def render_empty(self, width: int) -> Sequence[Line]:
        """Say what will be here."""
        muted = self.palette["lines--muted"]
        if self.filtering:
            return [[], *wrap([("No call matches. Esc shows all of them.", muted)], width)]
        text = "Every tool call appears here as it happens: which tool, with what, how it ended and how long it took."
        return [[], *wrap([(text, muted)], width)]

    # Keys

    def action_failure(self, direction: int) -> None:
        """Go to the next or the previous failed call, around the ends."""
        here = self.cursor
        path = here.path if here is not None else ()
        found = self._known.failure_from(path, direction, only_matched=self.matched is not None)
        if found is not None:
            self.reveal(found.key)

    def opened(self, entry: CallNode) -> None:
        """Show a call whole; fold or unfold a query, or what was said."""
        if entry.record is not None:
            self.post_message(self.Opened(entry.key))
        else:
            self.toggle(entry, open_=not entry.open)
