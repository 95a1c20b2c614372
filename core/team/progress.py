"""How far the session of a job is, from its events: those of its journal, then those of the running session."""

from __future__ import annotations

from pathlib import Path

from ua_tui.core.errors import advice_code
from ua_tui.core.events.types import (
    ApiRetry,
    AuthFinished,
    AuthRequired,
    BudgetReached,
    ErrorRaised,
    Event,
    MessageFinished,
    QueryFinished,
    TokensSpent,
)
from ua_tui.core.records.journal_reader import read_events
from ua_tui.core.view.session import SessionView

_MADE = ("work_products/", "downloads/")


class JobProgress:
    """Follows the events of all attempts at a job; a subscriber of the bus.

    `view` is its session. `failure` is the last error of the agent, `links` are the accounts that somebody has to
    connect, and `refused` says that the spending limit kept a query from running. `model` wrote the last message.
    `limited` says that the service of the model refuses requests for now.
    """

    def __init__(self) -> None:
        self.view = SessionView()
        self.failure = self.model = ""
        self.refused = self.limited = False
        self.links: dict[str, None] = {}

    @property
    def ended(self) -> QueryFinished | None:
        """The end of the last query; None while one runs."""
        return self.view.last_query.end if self.view.last_query is not None else None

    @property
    def succeeded(self) -> bool:
        """Whether the last query was answered."""
        return self.ended is not None and self.ended.status == "success"

    @property
    def files(self) -> tuple[str, ...]:
        """Those that were made for the person."""
        return tuple(path for path in self.view.artifacts if path.startswith(_MADE))

    def handle_event(self, event: Event) -> None:
        """Handle one event of the session, in order."""
        self.view.add(event)
        match event:
            case TokensSpent(parent_tool_use_id=None, model=str(model)) if model:
                self.model = model
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
