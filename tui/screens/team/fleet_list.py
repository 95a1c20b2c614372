"""The rows of the fleet."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.style import Style
from textual.binding import BindingType

from ua_tui.core.events.units import duration, live_duration, money
from ua_tui.core.team.fleet.rows import FleetRow, FleetState
from ua_tui.tui.keys.places import key_binding
from ua_tui.tui.widgets.column_list import Column, ColumnList

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

    def columns(self, width: int) -> Sequence[Column[FleetRow]]:
        """State and title, cost and time; what it does, where and whose it is where there is room."""
        muted = self.muted
        right = [
            Column("cost", 7, lambda row: money(row.cost_usd) or _UNKNOWN, muted, right=True),
            Column("time", 7, self._time, muted, right=True),
        ]
        if self._has_team and width >= 64:
            right.append(
                Column(
                    "where",
                    14,
                    lambda row: row.where or ("" if row.state == "waiting" else "this machine"),
                    muted,
                )
            )
        if self._has_team and width >= 130:
            right.append(Column("owner", 10, lambda row: row.owner, muted))
        room = width - (2 + 9 + 2) - sum(column.gap + column.width for column in right)
        activity = (room - 2) * 2 // 5 if width >= 96 else 0
        title = max(1, room - (activity + 2 if activity else 0))
        return [
            Column("state", 9, lambda row: MARKS[row.state][1], lambda row: self.mark(row)[1], gap=0),
            Column(
                "title or first query",
                title,
                lambda row: row.title or row.name or "empty",
                lambda row: muted if row.is_over else self.rich_style,
            ),
            *(
                [Column("now", activity, lambda row: row.activity, self._style_of_activity)]
                if activity
                else []
            ),
            *right,
        ]

    def mark(self, row: FleetRow) -> tuple[str, Style]:
        """The sign of its state."""
        name = {"crashed": "lost", "needs_you": "needs-you"}.get(row.state, row.state)
        has_colour = f"fleet--{name}" in self.COMPONENT_CLASSES
        return MARKS[row.state][0], self.get_component_rich_style(
            f"fleet--{name}"
        ) if has_colour else self.muted

    def _style_of_activity(self, row: FleetRow) -> Style:
        return self.mark(row)[1] if row.state == "needs_you" else self.muted

    def _time(self, row: FleetRow) -> str:
        seconds = row.seconds(self._now())
        if seconds is None:
            return _UNKNOWN
        return duration(seconds) if row.finished is not None else live_duration(seconds)
