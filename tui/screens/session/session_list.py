"""The list of sessions, which draws only visible rows, as there may be ten thousand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from typing import ClassVar

from rich.cells import set_cell_size
from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from core.events.units import duration, money
from core.history.headline import Summary
from tui.keys.places import key_binding, moving
from tui.render.format import tail_cut

__all__ = ["MARKS", "SessionList"]

MARKS = {
    "finished": ("✓", "finished"),
    "running": ("…", "running"),
    "crashed": ("⊘", "crashed"),
    "corrupt": ("✗", "corrupt"),
    "unknown": ("·", "unknown"),
}
HEADER = 1
_UNKNOWN = "–"
_WIDEST = 112
_WHEN = 16


class SessionList(ScrollView, can_focus=True):
    """Shows summaries in columns under a header; the cursor stays on its session when rows are added above it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *moving(
            up="move(-1)",
            down="move(1)",
            page_up="page(-1)",
            page_down="page(1)",
            first="go(0)",
            last="go(-1)",
        ),
        key_binding("move.open", "enter", "open", "read the session"),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "sessions--header",
        "sessions--muted",
        "sessions--running",
        "sessions--crashed",
        "sessions--corrupt",
        "sessions--cursor",
    }

    class Highlighted(Message):
        """The session under the cursor is another one, or has changed."""

    class Opened(Message):
        """A session is opened."""

    def __init__(self, *, zone: tzinfo | None = None, id: str | None = None) -> None:
        super().__init__(id=id)
        self._zone = zone
        self._rows: Sequence[Summary] = ()
        self._at = 0

    @property
    def chosen(self) -> Summary | None:
        """The session under the cursor."""
        return self._rows[self._at] if self._at < len(self._rows) else None

    @property
    def rows(self) -> Sequence[Summary]:
        """The listed sessions."""
        return self._rows

    def show(self, rows: Sequence[Summary], at: str | None = None) -> None:
        """Show these sessions; the cursor moves to the session `at`, or stays on its session or at its position."""
        before = self.chosen
        wanted = at if at is not None else before.name if before is not None else None
        below = self._at - int(self.scroll_offset.y)
        self._rows = rows
        place = next((place for place, row in enumerate(rows) if row.name == wanted), None)
        moved = place is not None and place != self._at
        self._at = min(self._at, max(0, len(rows) - 1)) if place is None else place
        self.virtual_size = Size(0, len(rows) + HEADER)
        if moved and before is not None and wanted == before.name and self.scroll_offset.y:
            # Rows that are added above do not move the cursor's row on the screen, unless it is at the top.
            self.scroll_to(y=max(0, self._at - below), animate=False, immediate=True)
        self._reveal()
        self.refresh()
        self.post_message(self.Highlighted())

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        self._go(self._at + by)

    def action_page(self, by: int) -> None:
        """Move the cursor by a screen."""
        self._go(self._at + by * max(1, self._room - 1))

    def action_go(self, to: int) -> None:
        """Move the cursor to the first or the last session."""
        self._go(to if to >= 0 else len(self._rows) - 1)

    def action_open(self) -> None:
        """Open the session under the cursor."""
        if self.chosen is not None:
            self.post_message(self.Opened())

    def on_click(self, event: events.Click) -> None:
        """Move the cursor; a double click opens."""
        event.prevent_default()
        offset = event.get_content_offset(self)
        if offset is None or offset.y < HEADER:
            return
        place = offset.y - HEADER + int(self.scroll_offset.y)
        if place < len(self._rows):
            self._go(place)
            if event.chain == 2:
                self.action_open()

    def on_resize(self) -> None:
        """Keep the cursor visible."""
        self.virtual_size = Size(0, len(self._rows) + HEADER)
        self._reveal()

    @property
    def _room(self) -> int:
        return max(1, self.scrollable_content_region.height - HEADER)

    def _go(self, to: int) -> None:
        if self._rows:
            self._at = max(0, min(to, len(self._rows) - 1))
            self._reveal()
            self.refresh()
            self.post_message(self.Highlighted())

    def _reveal(self) -> None:
        # The header covers the first line: a row is visible if it is below that.
        region = Region(0, self._at, 1, HEADER + 1)
        self.scroll_to_region(region, animate=False, immediate=True, force=True)

    # -- drawing -----------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """Draw the header, or a row."""
        width = self.scrollable_content_region.width
        if y < HEADER:
            style = self.get_component_rich_style("sessions--header")
            return Strip([Segment(self._header(width), style)]).adjust_cell_length(width, style)
        place = y - HEADER + int(self.scroll_offset.y)
        if place >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        return self._row(self._rows[place], width, lit=place == self._at)

    def _columns(self, width: int) -> tuple[bool, int]:
        """Whether there is room for all counts, and the width of the heading."""
        counts = width >= _WIDEST
        used = 2 + _WHEN + 2 + 2 + 8 + 2 + 7 + 2 + 5 + ((2 + 5 + 2 + 8) if counts else 0)
        return counts, max(1, width - used)

    def _header(self, width: int) -> str:
        counts, room = self._columns(width)
        left = f"  {'when':<{_WHEN}}  {set_cell_size('title or first query', room)}"
        # The time that the session was open, and not the time that the agent worked.
        right = f"  {'duration':>8}  {'cost':>7}  {'calls':>5}"
        return left + right + (f"  {'files':>5}  {'state':<8}" if counts else "")

    def _row(self, summary: Summary, width: int, *, lit: bool) -> Strip:
        counts, room = self._columns(width)
        glyph, word = MARKS[summary.state]
        plain, muted = self.rich_style, self.get_component_rich_style("sessions--muted")
        state = (
            self.get_component_rich_style(f"sessions--{summary.state}")
            if summary.state in {"running", "crashed", "corrupt"}
            else muted
        )
        heading = summary.line
        time = _UNKNOWN if summary.seconds is None else duration(summary.seconds)
        cost = _UNKNOWN if summary.cost is None else f"{'~' if summary.estimate else ''}{money(summary.cost)}"
        if summary.unpriced:
            cost = "?"
        right = f"  {time:>8}  {cost:>7}  {_count(summary.calls):>5}"
        parts = [
            (f"{glyph} ", state),
            (f"{self._when(summary)}  ", muted),
            (set_cell_size(tail_cut(heading, room), room), plain if summary.heading else muted),
            (right, muted),
        ]
        if counts:
            parts += [(f"  {_count(summary.artifacts):>5}", muted), (f"  {word:<8}", state)]
        if lit:
            cursor = self.get_component_rich_style("sessions--cursor")
            parts = [(text, cursor) for text, _ in parts]
        strip = Strip([Segment(text, style) for text, style in parts])
        return strip.adjust_cell_length(
            width, self.get_component_rich_style("sessions--cursor") if lit else plain
        )

    def _when(self, summary: Summary) -> str:
        try:
            if summary.started is None:
                # The name of the folder has it, too.
                at = datetime.strptime(summary.name[len("session_") :][:15], "%Y%m%d_%H%M%S").replace(
                    tzinfo=self._zone
                )
            else:
                at = datetime.fromtimestamp(summary.started, UTC).astimezone(self._zone)
        except (OverflowError, ValueError, OSError):
            return _UNKNOWN.ljust(_WHEN)
        return set_cell_size(f"{at:%Y-%m-%d %H:%M}", _WHEN)


def _count(number: int | None) -> str:
    return _UNKNOWN if number is None else f"{number}"
