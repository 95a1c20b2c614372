"""The list of sessions."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import ClassVar

from rich.cells import set_cell_size
from rich.style import Style
from textual.binding import BindingType

from ua_tui.core.events.units import duration, money
from ua_tui.core.history.headline import Summary
from ua_tui.tui.keys.places import key_binding
from ua_tui.tui.render.format import tail_cut
from ua_tui.tui.widgets.column_list import ColumnList

MARKS = {
    "finished": ("✓", "finished"),
    "running": ("…", "running"),
    "crashed": ("⊘", "crashed"),
    "corrupt": ("✗", "corrupt"),
    "unknown": ("·", "unknown"),
}
_UNKNOWN = "–"
_WHEN = 16


class SessionList(ColumnList[Summary]):
    """Shows summaries in columns."""

    BINDINGS: ClassVar[list[BindingType]] = [key_binding("move.open", "enter", "open", "read the session")]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"sessions--running", "sessions--crashed", "sessions--corrupt"}

    def __init__(self, *, zone: tzinfo | None = None, id: str | None = None) -> None:
        super().__init__(id=id)
        self._zone = zone

    def name_of(self, row: Summary) -> str:
        """The name of the session."""
        return row.name

    def draw_header(self, width: int) -> str:
        """The names of the columns."""
        counts, room = self._columns(width)
        left = f"  {'when':<{_WHEN}}  {set_cell_size('title or first query', room)}"
        # The time that the session was open, and not the time that the agent worked.
        right = f"  {'duration':>8}  {'cost':>7}  {'calls':>5}"
        return left + right + (f"  {'files':>5}  {'state':<8}" if counts else "")

    def draw_row(self, row: Summary, width: int) -> list[tuple[str, Style]]:
        """A session in the columns."""
        counts, room = self._columns(width)
        glyph, word = MARKS[row.state]
        plain, muted = self.rich_style, self.get_component_rich_style("column-list--muted")
        state = (
            self.get_component_rich_style(f"sessions--{row.state}")
            if row.state in {"running", "crashed", "corrupt"}
            else muted
        )
        heading = row.line
        time = _UNKNOWN if row.seconds is None else duration(row.seconds)
        cost = _UNKNOWN if row.cost is None else f"{'~' if row.is_estimated else ''}{money(row.cost)}"
        if row.unpriced:
            cost = "?"
        right = f"  {time:>8}  {cost:>7}  {_count(row.calls):>5}"
        parts = [
            (f"{glyph} ", state),
            (f"{self._when(row)}  ", muted),
            (set_cell_size(tail_cut(heading, room), room), plain if row.heading else muted),
            (right, muted),
        ]
        if counts:
            parts += [(f"  {_count(row.artifacts):>5}", muted), (f"  {word:<8}", state)]
        return parts

    def _columns(self, width: int) -> tuple[bool, int]:
        """Whether there is room for all counts, and the width of the heading."""
        counts = width >= 112
        used = 2 + _WHEN + 2 + 2 + 8 + 2 + 7 + 2 + 5 + ((2 + 5 + 2 + 8) if counts else 0)
        return counts, max(1, width - used)

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
