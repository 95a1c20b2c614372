"""What a team sees of a session that runs: its state, title, what it does now, its calls and its cost."""

from __future__ import annotations

from dataclasses import dataclass

from ua_tui.core.events.continuation import is_own
from ua_tui.core.events.types import Event, QueryReceived, ToolCallStarted
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.session.resume import PreviousState
from ua_tui.core.text import clean_line
from ua_tui.core.view.activity import Activity
from ua_tui.core.view.session import SessionView

_TITLE = 200


@dataclass(frozen=True, kw_only=True)
class StateRow:
    """The columns of a session's row that change while it runs.

    An earlier title has precedence over `title` unless it is `titled`, by a person.
    """

    state: str = "starting"
    title: str = ""
    titled: bool = False
    activity: str = ""
    calls: int = 0
    cost_usd: float | None = None
    conversation: str | None = None


class LiveState:
    """Follows the events of a session; a subscriber of its bus.

    Args:
        redactor: masks secrets in the texts.
        previous: the state of a session that is resumed.
    """

    def __init__(self, redactor: Redactor, previous: PreviousState | None = None) -> None:
        self._redactor = redactor
        self._title, self._titled = "", False
        view = previous.view if previous is not None else SessionView()
        self._calls, self._costs, self._setup = view.call_count, view.costs, view.setup
        self._activity = Activity(state="starting")

    def set_title(self, title: str) -> None:
        """Use the title that a person gave the session."""
        if title:
            self._title, self._titled = self._masked_title(title), True

    @property
    def row(self) -> StateRow:
        """The columns as they are now."""
        now = self._activity
        return StateRow(
            state="needs_you" if now.needs_person else now.state,
            title=self._title,
            titled=self._titled,
            activity=now.text(self._redactor.redact_value),
            calls=self._calls,
            cost_usd=self._costs.total,
            conversation=self._setup.conversation,
        )

    def handle_event(self, event: Event) -> None:
        """Update the state."""
        self._costs, self._setup = self._costs.after(event), self._setup.after(event)
        self._activity = self._activity.after(event)
        if isinstance(event, ToolCallStarted):
            self._calls += 1
        elif isinstance(event, QueryReceived) and not (self._title or is_own(event.text)):
            self._title = self._masked_title(event.text)

    def _masked_title(self, text: str) -> str:
        # Cut first: a query may have a megabyte.
        return clean_line(self._redactor.redact(clean_line(text, 4 * _TITLE)), _TITLE)
