"""The status line of a past session, of one that is followed, and of a replay."""

from __future__ import annotations

from textual.content import Content

from ua_tui.core.history.event_replay import SessionStats
from ua_tui.tui.panes.status.facts import StatusFacts, money
from ua_tui.tui.panes.status.layout import KEPT, Cell, cell, short_count, short_model, short_time

PAST, RUNNING = "· past session", "… running elsewhere · followed"


class PastStatus:
    """A figure is shown only if it is that of the whole session.

    Attributes:
        stats: what is known of the session.
        read: the share of the journal that was read.
        unread: what the line says before anything is known.
    """

    def __init__(self) -> None:
        self.unread = PAST
        self.stats: SessionStats | None = None
        self.read = 0.0

    def describe(self) -> list[tuple[str, str]]:
        """Nothing more than the line shows."""
        return []

    def cells(self, state: str, frame: int, width: int) -> list[Cell]:
        """Return the parts of the line."""
        stats = self.stats
        if stats is None:
            return [cell(self.unread, KEPT)]
        text = RUNNING if stats.state == "running" else f"{PAST} · {stats.state}"
        style = {"crashed": "$warning", "running": "$accent"}.get(stats.state, "$text-muted")
        cells = [Cell(Content.styled(text, style), 100)]
        if stats.setup.demo:
            cells.insert(0, Cell(Content.styled(" DEMO ", "bold $warning reverse"), 99))
        if self.read < 1.0:
            cells.append(Cell(Content.styled(f"reading {self.read:>4.0%}", "$accent"), 98))
        if stats.seconds:
            cells.append(cell(short_time(stats.seconds), 90))
        if stats.unpriced:
            cells.append(cell("cost ?", 80))
        elif stats.cost is not None:
            cells.append(cell(money(stats.cost), 80))
        if stats.tokens:
            cells.append(cell(f"{short_count(stats.tokens)} tok", 70))
        if stats.setup.model:
            cells.append(cell(short_model(stats.setup.model), 40))
        return cells


class ReplayStatus:
    """What the line showed at that moment, marked as a replay."""

    def __init__(self, facts: StatusFacts) -> None:
        self._facts = facts

    def describe(self) -> list[tuple[str, str]]:
        """Describe everything that the line showed."""
        return self._facts.describe()

    def cells(self, state: str, frame: int, width: int) -> list[Cell]:
        """Return the parts of the line."""
        badge = cell(Content.styled(" REPLAY ", "bold $accent reverse"), 100)
        return [badge, *self._facts.cells(state, frame, width)]
