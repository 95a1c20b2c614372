"""The rows of the fleet."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.cells import set_cell_size
from rich.style import Style
from textual.binding import BindingType

from ua_tui.core.events.units import duration, live_duration, money
from ua_tui.core.team.fleet.rows import FleetRow, FleetState
from ua_tui.tui.keys.places import key_binding
from ua_tui.tui.render.format import tail_cut
from ua_tui.tui.widgets.column_list import ColumnList

MARKS: dict[FleetState, tuple[str, str]] = {
    "needs_you": ("?", "needs you"),
    "running": ("…", "running"),
    "idle": ("·", "idle"),
    "waiting": ("·", "waiting"),
    "lost": ("⊘", "lost"),
    "done": ("✓", "done"),
    "failed": ("✗", "failed"),
    "cancelled": ("⊘", "cancelled"),
    "crashed": ("⊘", "crashed"),
}
_UNKNOWN = "–"
_WORD, _COST, _TIME, _WHERE, _OWNER = 9, 7, 7, 14, 10
_NARROW, _ROOMY, _WIDEST = 64, 96, 130


class FleetList(ColumnList[FleetRow]):
    """Shows sessions in columns; what they do now and whose they are where there is room.

    Args:
        now: the time, in seconds since the epoch.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        key_binding("move.open", "enter", "open", "follow the session, answer it; read a past one")
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "fleet--needs-you",
        "fleet--running",
        "fleet--lost",
        "fleet--failed",
    }

    def __init__(self, *, now: Callable[[], float] = time.time, id: str | None = None) -> None:
        super().__init__(id=id)
        self._now = now
        self._has_team = False

    def name_of(self, row: FleetRow) -> str:
        """The id of the row."""
        return row.id

    def show(self, rows: Sequence[FleetRow], at: str | None = None) -> None:
        """Show these rows; without a team there are fewer columns."""
        self._has_team = any(row.where or row.owner for row in rows)
        super().show(rows, at)

    def draw_header(self, width: int) -> str:
        """The names of the columns."""
        title, activity, team, owner = self._columns(width)
        parts = [f"  {'state':<{_WORD}}  {set_cell_size('title or first query', title)}"]
        if activity:
            parts.append(set_cell_size("now", activity))
        parts.append(f"{'cost':>{_COST}}  {'time':>{_TIME}}")
        if team:
            parts.append(set_cell_size("where", _WHERE))
        if owner:
            parts.append(set_cell_size("owner", _OWNER))
        return "  ".join(parts)

    def draw_row(self, row: FleetRow, width: int) -> list[tuple[str, Style]]:
        """A session in the columns."""
        title, activity, team, owner = self._columns(width)
        plain, muted = self.rich_style, self.get_component_rich_style("column-list--muted")
        state, heading = self._style_of(row.state) or muted, row.title or row.name or "empty"
        glyph, word = MARKS[row.state]
        parts = [
            (f"{glyph} {word:<{_WORD}}  ", state),
            (set_cell_size(tail_cut(heading, title), title), muted if row.is_over else plain),
        ]
        if activity:
            style = state if row.state == "needs_you" else muted
            parts.append((f"  {set_cell_size(tail_cut(row.activity, activity), activity)}", style))
        cost = money(row.cost_usd) or _UNKNOWN
        parts.append((f"  {cost:>{_COST}}  {self._time(row):>{_TIME}}", muted))
        if team:
            parts.append((f"  {set_cell_size(tail_cut(row.where or _here(row), _WHERE), _WHERE)}", muted))
        if owner:
            parts.append((f"  {set_cell_size(tail_cut(row.owner, _OWNER), _OWNER)}", muted))
        return parts

    def _columns(self, width: int) -> tuple[int, int, bool, bool]:
        """The widths of the title and of what it does now, and whether there is room for the place and the owner."""
        team, owner = self._has_team and width >= _NARROW, self._has_team and width >= _WIDEST
        room = width - (2 + _WORD + 2) - (2 + _COST + 2 + _TIME)
        room -= (2 + _WHERE if team else 0) + (2 + _OWNER if owner else 0)
        activity = (room - 2) * 2 // 5 if width >= _ROOMY else 0
        return max(1, room - (activity + 2 if activity else 0)), activity, team, owner

    def _style_of(self, state: FleetState) -> Style | None:
        match state:
            case "needs_you":
                return self.get_component_rich_style("fleet--needs-you")
            case "running":
                return self.get_component_rich_style("fleet--running")
            case "lost" | "crashed":
                return self.get_component_rich_style("fleet--lost")
            case "failed":
                return self.get_component_rich_style("fleet--failed")
            case _:
                return None

    def _time(self, row: FleetRow) -> str:
        seconds = row.seconds(self._now())
        if seconds is None:
            return _UNKNOWN
        return duration(seconds) if row.finished is not None else live_duration(seconds)


def _here(row: FleetRow) -> str:
    return "" if row.state == "waiting" else "this machine"
