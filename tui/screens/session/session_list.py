"""The list of sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import ClassVar

from rich.style import Style

from ua_tui.core.events.units import duration, money
from ua_tui.core.history.headline import Summary
from ua_tui.core.history.index import branch
from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.widgets.column_list import Column, ColumnList

_MARKS = {
    "finished": "✓",
    "stopped": "⊘",
    "running": "…",
    "crashed": "⊘",
    "corrupt": "✗",
    "unknown": "·",
}
_UNKNOWN = "–"
_MARKED = "◆"
_WHEN = 16


class SessionList(ColumnList[Summary]):
    """Shows summaries in columns.

    Attributes:
        found: the line that a search has found in a session, by its name; none without a search.
        depths: how deep a fork is below the first session of its family, by its name.
        marked: the names of the marked sessions, at most two, in the order in which they were marked.
    """

    BINDINGS = bindings("SessionList")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "sessions--running",
        "sessions--crashed",
        "sessions--corrupt",
        "sessions--marked",
    }

    def __init__(self, *, zone: tzinfo | None = None, id: str | None = None) -> None:
        super().__init__(id=id)
        self._zone = zone
        self.found: Mapping[str, str] = {}
        self.depths: Mapping[str, int] = {}
        self.marked: tuple[str, ...] = ()

    def toggle_mark(self, name: str) -> None:
        """Mark a session, or no longer; a third mark removes the first."""
        others = tuple(each for each in self.marked if each != name)
        self.marked = others if len(others) < len(self.marked) else (*others, name)[-2:]
        self.refresh()

    def name_of(self, row: Summary) -> str:
        """The name of the session."""
        return row.name

    def columns(self, width: int) -> Sequence[Column[Summary]]:
        """When, what, how long, for how much, more counts where there is room; of a search, what it has found."""
        muted, found = self.muted, self.found
        right = [
            # The time that the session was open, and not the time that the agent worked.
            Column("duration", 8, _time, muted, right=True),
            Column("cost", 7, _cost, muted, right=True),
            Column("calls", 5, lambda row: _count(row.calls), muted, right=True),
        ]
        if width >= 112:
            right += [
                Column("files", 5, lambda row: _count(row.artifacts), muted, right=True),
                Column("state", 8, lambda row: row.state, lambda row: self.mark(row)[1]),
            ]
        room = width - 2 - _WHEN - 2
        if found:
            line = Column[Summary](
                "found", max(1, room - room // 3 - 2), lambda row: found.get(row.name, ""), muted
            )
            right = [line]
        return [
            Column("when", _WHEN, self._when, muted, gap=0),
            Column(
                "title or first query",
                max(1, room - sum(column.width + column.gap for column in right)),
                lambda row: branch(self.depths.get(row.name, 0)) + row.line,
                lambda row: self.rich_style if row.heading else muted,
            ),
            *right,
        ]

    def mark(self, row: Summary) -> tuple[str, Style]:
        """The sign of its state, or that it is marked."""
        if row.name in self.marked:
            return _MARKED, self.get_component_rich_style("sessions--marked")
        has_colour = row.state in {"running", "crashed", "corrupt"}
        style = self.get_component_rich_style(f"sessions--{row.state}") if has_colour else self.muted
        return _MARKS[row.state], style

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
            return _UNKNOWN
        return f"{at:%Y-%m-%d %H:%M}"


def _time(row: Summary) -> str:
    return _UNKNOWN if row.seconds is None else duration(row.seconds)


def _cost(row: Summary) -> str:
    if row.unpriced:
        return "?"
    return _UNKNOWN if row.cost is None else f"{'~' if row.is_estimated else ''}{money(row.cost)}"


def _count(number: int | None) -> str:
    return _UNKNOWN if number is None else f"{number}"
