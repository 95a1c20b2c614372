"""The rows of the fleet: sessions, batches and workers in columns."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from rich.style import Style
from textual.binding import BindingType

from ua_tui.core.events.units import duration, live_duration, money
from ua_tui.core.team.fleet.rows import FleetBatch, FleetRow, FleetState, FleetWorker
from ua_tui.tui.keys.places import key_binding
from ua_tui.tui.widgets.column_list import Column, ColumnList

MARKS: dict[FleetState, tuple[str, str]] = {
    "needs_you": ("?", "needs you"),
    "running": ("…", "running"),
    "starting": ("…", "starting"),
    "idle": ("·", "idle"),
    "waiting": ("·", "waiting"),
    "held": ("‖", "paused"),
    "lost": ("⊘", "lost"),
    "done": ("✓", "done"),
    "failed": ("✗", "failed"),
    "cancelled": ("⊘", "cancelled"),
    "crashed": ("⊘", "crashed"),
}
_UNKNOWN = "–"
_BAR = 12


class StateList(ColumnList[Any]):
    """Rows that have a state, some of which are marked.

    Args:
        now: the time, in seconds since the epoch.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        key_binding("move.open", "enter", "open", "follow the session, read a past one; sessions of a batch")
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "fleet--needs-you",
        "fleet--running",
        "fleet--lost",
        "fleet--failed",
    }

    def __init__(self, *, now: Callable[[], float] = time.time, id: str | None = None) -> None:
        super().__init__(id=id)
        self.now = now
        self.marked: set[str] = set()
        """The ids of rows that are marked for the next key."""

    def state_of(self, row: Any) -> FleetState:
        """The state of a row."""
        state: FleetState = row.state
        return state

    def name_of(self, row: Any) -> str:
        """The id of the row."""
        return str(row.id)

    def columns(self, width: int) -> Sequence[Column[Any]]:
        """The state, and what a subclass adds."""
        columns = [
            Column("state", 9, lambda row: MARKS[self.state_of(row)][1], self.style_of, gap=0),
            *self.more_columns(width),
        ]
        room = width - 2 - sum(column.gap + column.width for column in columns)
        name = columns[1]
        wide = max(1, min(room, self._widest(name)))
        columns[1] = Column(name.title, wide, name.text, name.style)
        return columns

    def _widest(self, column: Column[Any]) -> int:
        """How much of the room a column needs at most."""
        return max([len(column.title), *(len(column.text(row)) for row in self.rows)])

    def more_columns(self, width: int) -> list[Column[Any]]:
        """The columns behind the state; the first one gets what the others leave."""
        raise NotImplementedError

    def mark(self, row: Any) -> tuple[str, Style]:
        """The sign of its state, or that it is marked."""
        glyph = "●" if self.name_of(row) in self.marked else MARKS[self.state_of(row)][0]
        return glyph, self.style_of(row)

    def style_of(self, row: Any) -> Style:
        """The style of its state."""
        state = self.state_of(row)
        name = {"crashed": "lost", "starting": "running"}.get(state, state.replace("_", "-"))
        has_colour = f"fleet--{name}" in self.COMPONENT_CLASSES
        return self.get_component_rich_style(f"fleet--{name}") if has_colour else self.muted

    def number(self, title: str, width: int, text: Callable[[Any], str]) -> Column[Any]:
        """A column of numbers."""
        return Column(title, width, text, self.muted, right=True)


class FleetList(StateList):
    """Shows sessions; what they do now, whose they are and where they run where there is room."""

    def __init__(self, *, now: Callable[[], float] = time.time, id: str | None = None) -> None:
        super().__init__(now=now, id=id)
        self._has_team = self._has_batches = False

    def show(self, rows: Sequence[FleetRow], at: str | None = None) -> None:
        """Show these rows; without a team there are fewer columns."""
        self._has_team = any(row.where or row.owner for row in rows)
        self._has_batches = len({row.batch for row in rows if row.batch}) > 1
        super().show(rows, at)

    def columns(self, width: int) -> Sequence[Column[FleetRow]]:
        """As many columns as there is room for; a title leaves room for `now` that no title needs."""
        state, title, *others = super().columns(width)
        if width < 96:
            return [state, title, *others]
        wide = min(super()._widest(title), title.width * 3 // 5)
        now: Column[FleetRow] = Column(
            "now", title.width - wide - 2, lambda row: row.activity, self._style_of_activity
        )
        return [state, Column(title.title, wide, title.text, title.style), now, *others]

    def _widest(self, column: Column[Any]) -> int:
        """As much as there is: `now` gets what the title leaves."""
        return 1_000

    def more_columns(self, width: int) -> list[Column[Any]]:
        """Title, batch, owner, cost, time and place."""
        muted = self.muted
        columns: list[Column[Any]] = [
            Column(
                "title or first query",
                0,
                lambda row: row.title or row.name or "empty",
                lambda row: muted if row.is_over else self.rich_style,
            )
        ]
        if self._has_batches and width >= 110:
            columns.append(Column("batch", 14, lambda row: row.batch_name, muted))
        if self._has_team and width >= 64:
            columns.append(Column("owner", 8, lambda row: row.owner, muted))
        columns += [
            self.number("cost", 7, lambda row: money(row.cost_usd) or _UNKNOWN),
            self.number("time", 7, self._time),
        ]
        if self._has_team and width >= 140:
            columns.append(Column("where", 14, _place_of, muted))
        return columns

    def _style_of_activity(self, row: FleetRow) -> Style:
        return self.style_of(row) if row.state == "needs_you" or row.unknown else self.muted

    def _time(self, row: FleetRow) -> str:
        seconds = row.seconds(self.now())
        if seconds is None:
            return _UNKNOWN
        return duration(seconds) if row.finished is not None else live_duration(seconds)


def _place_of(row: FleetRow) -> str:
    return row.where or ("" if row.state in ("waiting", "held") else "this machine")


class BatchList(StateList):
    """Shows batches with how far they are."""

    def state_of(self, row: FleetBatch) -> FleetState:
        """What a batch does."""
        if row.paused and row.over < row.total:
            return "held"
        if row.needs_you:
            return "needs_you"
        if row.over < row.total:
            return "running" if row.running else "waiting"
        if row.failed:
            return "failed"
        return "cancelled" if row.total and row.cancelled == row.total else "done"

    def more_columns(self, width: int) -> list[Column[Any]]:
        """Name, owner, and the numbers of jobs."""
        columns = [
            Column("batch", 0, lambda row: row.name, self.rich_style),
            Column("owner", 8, lambda row: row.owner, self.muted),
            self.number("done", 13, lambda row: f"{row.done:,} of {row.total:,}"),
            self.number("failed", 6, lambda row: _count(row.failed)),
            self.number("cost", 7, lambda row: money(row.cost_usd) or _UNKNOWN),
        ]
        if width < 96:
            return columns
        columns.insert(2, Column("progress", _BAR, lambda row: bar(row.over, row.total), self.muted))
        return [
            *columns,
            self.number("run", 5, lambda row: _count(row.running + row.needs_you)),
            self.number("waiting", 7, lambda row: _count(row.queued)),
            self.number("age", 7, lambda row: live_duration(max(0.0, self.now() - row.submitted))),
        ]


class WorkerList(StateList):
    """Shows workers: their machine, their places for jobs, and when they were heard of last."""

    def state_of(self, row: FleetWorker) -> FleetState:
        """Whether it works, or is gone."""
        if not row.is_alive(self.now()):
            return "lost"
        return "running" if row.busy else "idle"

    def name_of(self, row: FleetWorker) -> str:
        """The name of the worker."""
        return row.name

    def more_columns(self, width: int) -> list[Column[Any]]:
        """Name, slots, version, and when it was seen."""
        return [
            Column("worker", 0, lambda row: row.name, self.rich_style),
            Column("", 8, lambda row: "draining" if row.draining else "", self.muted),
            self.number("slots", 8, lambda row: f"{row.busy} of {row.slots}"),
            Column("version", 16, lambda row: row.version, self.muted),
            self.number("seen", 11, lambda row: f"{live_duration(max(0.0, self.now() - row.seen))} ago"),
        ]


def bar(done: int, total: int, width: int = _BAR) -> str:
    """Draw how much is done."""
    full = width * done // total if total else 0
    return "█" * full + "░" * (width - full)


def _count(number: int) -> str:
    return f"{number:,}" if number else ""
