"""The list of the fleet: sessions, batches or workers in columns."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

from rich.style import Style

from ua_tui.core.events.units import duration, live_duration, money
from ua_tui.core.team.fleet.rows import WORDS, FleetBatch, FleetRow, FleetState, FleetWorker
from ua_tui.tui.keys.bindings import bindings
from ua_tui.tui.widgets.column_list import Column, ColumnList

_MARKS: dict[FleetState, str] = {
    "needs_you": "?", "running": "…", "starting": "…", "idle": "·", "waiting": "·", "held": "‖", "lost": "⊘",
    "done": "✓", "failed": "✗", "cancelled": "⊘", "stopped": "⊘", "crashed": "⊘",
}  # fmt: skip
Kind = Literal["sessions", "batches", "workers"]
AnyRow = FleetRow | FleetBatch | FleetWorker
_UNKNOWN = "–"
_BAR = 12


class FleetList(ColumnList[Any]):
    """Rows of one `kind`, some of which are `marked` for the next key, by their ids; each kind has its own cursor."""

    BINDINGS = bindings("FleetList")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "fleet--needs-you",
        "fleet--running",
        "fleet--lost",
        "fleet--failed",
    }

    def __init__(self, *, now: Callable[[], float] = time.time, id: str | None = None) -> None:
        super().__init__(id=id)
        self.now = now
        self.kind: Kind = "sessions"
        self.marked: set[str] = set()
        self._cursors: dict[Kind, str] = {}

    def on_resize(self) -> None:
        """Fit the details into the new width."""
        self.post_message(self.Highlighted())

    def show_kind(self, kind: Kind, rows: Sequence[AnyRow]) -> None:
        """Show rows of this kind."""
        if kind == self.kind:
            self.show(rows)
            return
        if self.chosen is not None:
            self._cursors[self.kind] = self.name_of(self.chosen)
        self.kind = kind
        self.show(rows, self._cursors.get(kind, ""))

    def name_of(self, row: AnyRow) -> str:
        """The id of a row."""
        return row.name if isinstance(row, FleetWorker) else row.id

    def mark(self, row: AnyRow) -> tuple[str, Style]:
        """The sign of its state, or that it is marked."""
        glyph = "●" if self.name_of(row) in self.marked else _MARKS[row.state]
        return glyph, self._style_of(row)

    def columns(self, width: int) -> Sequence[Column[Any]]:
        """The state, and as many columns as there is room for; `now` has what titles leave."""
        state = Column[Any]("state", 9, lambda row: WORDS[row.state], self._style_of, gap=0)
        of_kind = {"sessions": self._of_sessions, "batches": self._of_batches, "workers": self._of_workers}
        name, *others = of_kind[self.kind](width)
        room = width - 2 - state.width - name.gap - sum(each.gap + each.width for each in others)
        widest = max([len(name.title), *(len(name.text(row)) for row in self.listed)])
        if self.kind == "sessions":
            wide = room if width < 96 else min(widest, room * 3 // 5)
            if wide < room:
                others.insert(0, Column("now", room - wide - 2, lambda row: row.activity, self._style_of_now))
        else:
            wide = max(1, min(room, widest))
        return [state, Column(name.title, wide, name.text, name.style), *others]

    def _style_of(self, row: AnyRow) -> Style:
        name = {"crashed": "lost", "starting": "running"}.get(row.state, row.state.replace("_", "-"))
        has_colour = f"fleet--{name}" in self.COMPONENT_CLASSES
        return self.get_component_rich_style(f"fleet--{name}") if has_colour else self.muted

    def _style_of_now(self, row: FleetRow) -> Style:
        return self._style_of(row) if row.state == "needs_you" or row.unknown else self.muted

    def _number(self, title: str, width: int, text: Callable[[Any], str]) -> Column[Any]:
        return Column(title, width, text, self.muted, right=True)

    def _of_sessions(self, width: int) -> list[Column[Any]]:
        muted, plain = self.muted, self.rich_style
        has_team = any(row.where or row.owner for row in self.listed)
        columns = [
            Column[Any](
                "title or first query",
                0,
                lambda row: row.title or row.name or "empty",
                lambda row: muted if row.is_over else plain,
            )
        ]
        if width >= 110 and len({row.batch for row in self.listed if row.batch}) > 1:
            columns.append(Column("batch", 14, lambda row: row.batch_name, muted))
        if has_team and width >= 64:
            columns.append(Column("owner", 8, lambda row: row.owner, muted))
        columns += [
            self._number("cost", 7, _cost_of),
            self._number("time", 7, self._time),
        ]
        if has_team and width >= 140:
            columns.append(Column("where", 14, _place_of, muted))
        return columns

    def _of_batches(self, width: int) -> list[Column[Any]]:
        columns = [Column[Any]("batch", 0, lambda row: row.name, self.rich_style)]
        if width >= 64:
            columns.append(Column("owner", 8, lambda row: row.owner, self.muted))
        columns += [
            self._number("finished", 13, lambda row: f"{row.done:,} of {row.total:,}"),
            self._number("failed", 6, lambda row: _count(row.failed)),
            self._number("cost", 7, lambda row: money(row.cost_usd) or _UNKNOWN),
        ]
        if width < 96:
            return columns
        columns.insert(2, Column("progress", _BAR, lambda row: bar(row.over, row.total), self.muted))
        return [
            *columns,
            self._number("run", 5, lambda row: _count(row.running + row.needs_you)),
            self._number("waiting", 7, lambda row: _count(row.queued)),
            self._number("age", 7, lambda row: self._ago(row.submitted)),
        ]

    def _of_workers(self, width: int) -> list[Column[Any]]:
        return [
            Column("worker", 0, lambda row: row.name, self.rich_style),
            Column("", 8, lambda row: "draining" if row.draining else "", self.muted),
            self._number("slots", 8, lambda row: f"{row.busy} of {row.slots}"),
            *([Column[Any]("version", 16, lambda row: row.version, self.muted)] if width >= 80 else ()),
            self._number("seen", 11, lambda row: f"{self._ago(row.seen)} ago"),
        ]

    def _time(self, row: FleetRow) -> str:
        seconds = row.seconds(self.now())
        if seconds is None:
            return _UNKNOWN
        return duration(seconds) if row.finished is not None else live_duration(seconds)

    def _ago(self, seconds: float) -> str:
        return live_duration(max(0.0, self.now() - seconds))


def _place_of(row: FleetRow) -> str:
    return row.where or ("" if row.state in ("waiting", "held") else "this machine")


def _cost_of(row: FleetRow) -> str:
    return money(row.cost_usd, is_estimated=row.cost_is_estimated) or _UNKNOWN


def bar(done: int, total: int) -> str:
    """Draw how much is done."""
    full = _BAR * done // total if total else 0
    return "█" * full + "░" * (_BAR - full)


def _count(number: int) -> str:
    return f"{number:,}" if number else ""
