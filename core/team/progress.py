"""How far the session of a job is, from its events: those of its journal, then those of the running session."""

from __future__ import annotations

from pathlib import Path

from ua_tui.core.errors import advice_code
from ua_tui.core.events.types import (
    ApiRetry,
    ArtifactSaved,
    AuthFinished,
    AuthRequired,
    BudgetReached,
    ErrorRaised,
    Event,
    MessageFinished,
    QueryFinished,
    QueryReceived,
    SessionStarted,
    TokensSpent,
)
from ua_tui.core.records.journal_reader import read_events
from ua_tui.core.view.costs import Costs
from ua_tui.core.view.setup import Setup

_MADE = ("work_products/", "downloads/")


class JobProgress:
    """Follows the events of all attempts at a job; a subscriber of the bus.

    `started` says whether the session began. `ended` is the end of the last query, None while one runs. `failure` is
    the last error of the agent, `links` are the accounts that somebody has to connect, and `refused` says that the
    spending limit kept a query from running. `tokens` are those of all queries that ended, and `model` wrote the last
    message; `files` are those that were made for the person. `limited` says that the service of the model refuses
    requests for now.
    """

    def __init__(self) -> None:
        self.started = False
        self.ended: QueryFinished | None = None
        self.failure = ""
        self.refused = False
        self.limited = False
        self.links: dict[str, None] = {}
        self.tokens: int | None = None
        self.model = ""
        self.files: dict[str, None] = {}
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
                if event.usage is not None:
                    self.tokens = (self.tokens or 0) + event.usage.total
            case TokensSpent(parent_tool_use_id=None, model=str(model)) if model:
                self.model = model
            case ArtifactSaved(path=path) if path.startswith(_MADE):
                self.files[path] = None
            case ApiRetry(error=code):
                self.limited = advice_code("model", code) in ("model.limited", "model.overloaded")
            case MessageFinished():
                self.limited = False
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
    progress.failure, progress.refused, progress.limited = "", False, False
    return progress
