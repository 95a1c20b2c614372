"""The queries that wait, above the prompt: the first line of each, the next one first."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.content import Content
from textual.widget import Widget

from ua_tui.tui.render.format import first_line, tail_cut

ROWS = 3


class QueueBar(Widget):
    """At most three rows, and how many more there are; none when nothing waits. A click calls `edit`."""

    def __init__(self, edit: Callable[[], None]) -> None:
        super().__init__()
        self.display = False
        self._edit = edit
        self._texts: tuple[str, ...] = ()
        self._paused = False

    def show(self, texts: Sequence[str], *, paused: bool) -> None:
        """Show what waits, oldest first; `paused` when it waits for the person."""
        self._texts, self._paused = tuple(texts), paused
        self.display = bool(texts)
        self.styles.height = min(ROWS, len(texts)) or 1
        self.refresh()

    def render(self) -> Content:
        """Draw a row for each of the first queries."""
        width = self.content_size.width
        mark, style = ("‖", "$warning") if self._paused else ("›", "$accent")
        more = len(self._texts) - ROWS
        lines = []
        for at, text in enumerate(self._texts[:ROWS]):
            rest = f"  +{more}" if more > 0 and at == ROWS - 1 else ""
            shown = tail_cut(first_line(text), max(0, width - 2 - len(rest)))
            lines.append(Content.assemble((f"{mark} ", style), (shown, "$foreground-muted"), (rest, style)))
        return Content("\n").join(lines)

    def on_click(self, event: events.Click) -> None:
        """Open the queue."""
        event.stop()
        self._edit()
