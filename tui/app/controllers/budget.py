"""What the session costs, where a person can do something about it: the warning, the end, and a higher limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from core.errors import SettingsError
from core.events.types import BudgetRaised, BudgetReached, Event
from core.events.units import spent_of

if TYPE_CHECKING:
    from tui.app.app import UaTuiApp

__all__ = ["Spending"]


class Spending:
    """Tells in `app` that most of the budget is spent, and asks what to do when all of it is."""

    def __init__(self, app: UaTuiApp) -> None:
        self._app = app

    def handle_events(self, events: Sequence[Event]) -> None:
        """Handle a batch of events; what matters is how it ends."""
        last = None
        for event in events:
            if isinstance(event, BudgetReached | BudgetRaised):
                last = event
        match last:
            case BudgetReached(level="warning"):
                spent, limit = spent_of(last.spent_usd, last.limit_usd)
                text = f"{spent} of {limit} is spent; at the limit the work stops"
                self._app.notice.show(text, "/budget raises it", "warning")
            case BudgetReached(level="spent"):
                # The conversation has a line of it, and the status line a mark.
                self._app.notice.clear()
                self._open(requested=False)
            case BudgetRaised():
                self._app.notice.clear()
            case _:
                pass

    def open(self) -> None:
        """Show what is spent, as the person wants to see it."""
        self._open(requested=True)

    def _open(self, *, requested: bool) -> None:
        from tui.screens.session.budget import BudgetScreen

        facts = self._app.status.facts
        if self._app.session is None or isinstance(self._app.screen, BudgetScreen):
            return
        dialog = BudgetScreen(
            facts.spent,
            facts.limit,
            running=self._app.state in ("running", "stopping"),
            waiting=self._app.waiting,
            requested=requested,
        )
        self._app.push_screen(dialog, self._raise)

    def _raise(self, limit: float | None) -> None:
        session = self._app.session
        if limit is None or session is None:
            return
        try:
            session.raise_budget(limit)
        except SettingsError as error:
            self._app.notify(f"{error}.", severity="warning", markup=False)
        else:
            # With these the session goes on after another setup.
            self._app.settings = replace(self._app.settings, max_cost_usd=limit)
            if not self._app.frame.shows("conversation"):
                # Else a line there says so.
                self._app.notify(f"The session may cost {spent_of(0.0, limit)[1]} from now on.", markup=False)
