"""The budget of the session: a warning when most of it is spent, a dialog at the limit, and a higher limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ua_tui.core.errors import SettingsError
from ua_tui.core.events.types import BudgetRaised, BudgetReached, Event
from ua_tui.core.events.units import spent_of

if TYPE_CHECKING:
    from ua_tui.tui.app.controllers.queries import Queries
    from ua_tui.tui.app.port import AppPort


class Budget:
    """Warns when most of the budget is spent, and asks what to do when all of it is."""

    def __init__(self, app: AppPort, queries: Queries) -> None:
        self._app = app
        self._queries = queries

    def handle_events(self, events: Sequence[Event]) -> None:
        """Handle a batch of events; only the last one about the budget counts."""
        last = None
        for event in events:
            if isinstance(event, BudgetReached | BudgetRaised):
                last = event
        match last:
            case BudgetReached(level="warning"):
                spent, limit = spent_of(last.spent_usd, last.limit_usd)
                text = f"{spent} of {limit} is spent; the agent stops at the limit"
                self._app.notice.show(text, "/budget raises it", "warning")
            case BudgetReached(level="spent"):
                # The conversation has a line about it, and the status line a mark.
                self._app.notice.clear()
                self._open(requested=False)
            case BudgetRaised():
                self._app.notice.clear()
            case _:
                pass

    def open(self) -> None:
        """Show what is spent because the user asked for it."""
        self._open(requested=True)

    def _open(self, *, requested: bool) -> None:
        from ua_tui.tui.screens.session.budget import BudgetScreen

        costs = self._app.status.facts.costs
        if self._app.session is None or isinstance(self._app.screen, BudgetScreen):
            return
        dialog = BudgetScreen(
            costs.total or 0.0,
            costs.limit,
            unpriced=costs.all_unpriced,
            cached=costs.tokens.cached_share,
            running=self._app.state in ("running", "stopping"),
            waiting=len(self._queries.waiting),
            requested=requested,
        )
        self._app.push_screen(dialog, self.raise_limit)

    def raise_limit(self, limit: float | None) -> None:
        """Let the session cost up to `limit` US dollars; None leaves the limit as it is."""
        session = self._app.session
        if limit is None or session is None:
            return
        try:
            session.raise_budget(limit)
        except SettingsError as error:
            self._app.notify(f"{error}.", severity="warning", markup=False)
        else:
            # The session is resumed with these settings after another setup.
            self._app.settings = replace(self._app.settings, max_cost_usd=limit)
            if not self._app.frame.shows("conversation"):
                # Otherwise a line in the conversation says so.
                self._app.notify(f"Spending limit: {spent_of(0.0, limit)[1]} from now on.", markup=False)
