"""The status line of a past session: its state, duration, cost, tokens and model."""

from __future__ import annotations

from textual.content import Content

from core.history.stats import PastFacts
from tui.panes.status.bar import (
    ALWAYS,
    GOES_BACK,
    KEPT,
    Cell,
    StatusLine,
    short_count,
    short_model,
    short_time,
)

__all__ = ["PastStatus"]

STATES = {
    "finished": "· past session · finished",
    "crashed": "· past session · crashed",
    "running": "… running elsewhere · followed",
}


class PastStatus(StatusLine):
    """Shows a figure only if it is that of the whole session.

    Args:
        back: whether Esc returns to a list of sessions.
    """

    _facts: PastFacts | None = None
    _read = 0.0

    def __init__(self, *, back: bool = False) -> None:
        super().__init__()
        self._leads = back

    def _keys(self) -> list[list[str]]:
        if not self._leads:
            return super()._keys()
        return [[self._hint_of(*each) for each in keys] for keys in ([ALWAYS, GOES_BACK], [GOES_BACK])]

    def show(self, facts: PastFacts) -> None:
        """Show what is known of the session."""
        self._facts = facts
        self.show_progress(facts.read)
        self.refresh()

    def show_progress(self, read: float) -> None:
        """Show how much of the journal was read."""
        self._read = read
        self.refresh()

    def describe(self) -> list[tuple[str, str]]:
        """Nothing more than the line shows."""
        return []

    def _cells(self) -> list[Cell]:
        facts = self._facts
        if facts is None:
            return [Cell(Content.styled("· past session", "$text-muted"), KEPT)]
        style = {"crashed": "$warning", "running": "$accent"}.get(facts.state, "$text-muted")
        cells = [Cell(Content.styled(STATES[facts.state], style), 100)]
        if facts.demo:
            cells.insert(0, Cell(Content.styled(" DEMO ", "bold $warning reverse"), 99))
        if self._read < 1.0:
            cells.append(Cell(Content.styled(f"reading {self._read:>4.0%}", "$accent"), 98))
        muted = "$text-muted"
        if facts.seconds:
            cells.append(Cell(Content.styled(short_time(facts.seconds), muted), 90))
        if facts.cost is not None:
            cost = f"${facts.cost:.2f}" if facts.cost < 1000 else f"${facts.cost:.0f}"
            cells.append(Cell(Content.styled(cost, muted), 80))
        if facts.tokens:
            cells.append(Cell(Content.styled(f"{short_count(facts.tokens)} tok", muted), 70))
        if facts.model:
            cells.append(Cell(Content.styled(short_model(facts.model), muted), 40))
        return cells
