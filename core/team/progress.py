"""How far the session of a job is, from its events: those of its journal, then those of the running session."""

from __future__ import annotations

from pathlib import Path

from ua_tui.core.events.types import (
    AuthFinished,
    AuthRequired,
    BudgetReached,
    ErrorRaised,
    Event,
    QueryFinished,
    QueryReceived,
    SessionStarted,
)
from ua_tui.core.records.journal_reader import read_events
from ua_tui.core.view.costs import Costs
from ua_tui.core.view.setup import Setup


class JobProgress:
    """Follows the events of all attempts at a job; a subscriber of the bus.

    `started` says whether the session began. `ended` is the end of the last query, None while one runs. `failure` is
    the last error of the agent, `links` are the accounts that somebody has to connect, and `refused` says that the
    spending limit kept a query from running.
    """

    def __init__(self) -> None:
        self.started = False
        self.ended: QueryFinished | None = None
        self.failure = ""
        self.refused = False
        self.links: dict[str, None] = {}
        self._costs, self._setup = Costs(), Setup()

    @property
    def spoken(self) -> bool:
        """Whether the model wrote anything in its conversation."""
        return self._setup.spoken

    @property
    def succeeded(self) -> bool:
        """Whether the last query was answered."""
        return self.ended is not None and self.ended.status == "success"

    @property
    def cost_usd(self) -> float | None:
        """What all attempts have cost, with the estimate for the running query; None if nothing is known."""
        return self._costs.total

    def handle_event(self, event: Event) -> None:
        """Handle one event of the session, in order."""
        self._costs, self._setup = self._costs.after(event), self._setup.after(event)
        match event:
            case SessionStarted():
                self.started = True
            case QueryReceived():
                self.ended = None
            case QueryFinished():
                self.ended = event
            case ErrorRaised(where="agent"):
                self.failure = event.message
            case BudgetReached(refused=True):
                self.refused = True
            case AuthRequired():
                self.links[event.toolkit or "an account"] = None
            case AuthFinished(outcome="completed"):
                self.links.clear()
            case _:
                pass


def read_progress(folder: Path) -> JobProgress:
    """Read how far the session of a folder is, from its journal, which may be long: call it in a thread.

    Raises:
        JournalError: the folder has no journal, or it cannot be read.
    """
    progress = JobProgress()
    for event in read_events(folder):
        progress.handle_event(event)
    # What was refused or failed before may work now.
    progress.failure, progress.refused = "", False
    return progress
