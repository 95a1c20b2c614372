"""How far the session of a job is, from its events: those of its journal, then those of the running session."""

from __future__ import annotations

from pathlib import Path

from ua_tui.core.events.types import (
    AuthFinished,
    AuthRequired,
    BudgetReached,
    ConversationCleared,
    ErrorRaised,
    Event,
    MessageFinished,
    QueryFinished,
    QueryReceived,
    SessionStarted,
    TokensSpent,
)
from ua_tui.core.history.journal_reader import PastJournal
from ua_tui.core.storage.workspace import JOURNAL


class JobProgress:
    """Follows the events of all attempts at a job; a subscriber of the bus.

    `started` says whether the session began, `spoken` whether the model wrote anything in its conversation. `ended` is
    the end of the last query, None while one runs. `failure` is the last error of the agent, `links` are the accounts
    that somebody has to connect, and `refused` says that the spending limit kept a query from running.
    """

    def __init__(self) -> None:
        self.started = False
        self.spoken = False
        self.ended: QueryFinished | None = None
        self.failure = ""
        self.refused = False
        self.links: dict[str, None] = {}
        self._conversation: str | None = None
        self._finished_usd: float | None = None
        self._running_usd: float | None = None

    @property
    def succeeded(self) -> bool:
        """Whether the last query was answered."""
        return self.ended is not None and self.ended.status == "success"

    @property
    def cost_usd(self) -> float | None:
        """What all attempts have cost, with the estimate for the running query; None if nothing is known."""
        if self._running_usd is None:
            return self._finished_usd
        return (self._finished_usd or 0.0) + self._running_usd

    def handle_event(self, event: Event) -> None:
        """Handle one event of the session, in order."""
        match event:
            case SessionStarted():
                self.started = True
                self._begin_conversation(event.provider_session_id)
            case ConversationCleared():
                self._begin_conversation(event.provider_session_id)
            case QueryReceived():
                self.ended = None
            case MessageFinished():
                self.spoken = True
            case TokensSpent(cost_usd=float(spent)):
                self._running_usd = (self._running_usd or 0.0) + spent
            case QueryFinished():
                self.ended = event
                cost = event.cost_usd if event.cost_usd is not None else self._running_usd
                self._running_usd = None
                if cost is not None:
                    self._finished_usd = (self._finished_usd or 0.0) + cost
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

    def _begin_conversation(self, conversation: str | None) -> None:
        if conversation != self._conversation:
            self._conversation, self.spoken = conversation, False


def read_progress(folder: Path) -> JobProgress:
    """Read how far the session of a folder is, from its journal, which may be long: call it in a thread.

    Raises:
        JournalError: the folder has no journal, or it cannot be read.
    """
    progress = JobProgress()
    journal = PastJournal(folder / JOURNAL)
    try:
        for _, events in journal.batches(0):
            for event in events:
                progress.handle_event(event)
    finally:
        journal.close()
    # What was refused or failed before may work now.
    progress.failure, progress.refused = "", False
    return progress
