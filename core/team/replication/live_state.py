"""What a team sees of a session that runs: its state, title, what it does now, its calls and its cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ua_tui.core.events import types as ev
from ua_tui.core.events.continuation import is_own
from ua_tui.core.events.tool_names import main_argument, tool_label, tool_name
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.session.resume import PreviousState
from ua_tui.core.text import clean_line

_TITLE, _ACTIVITY = 200, 120
_MESSAGES = {ev.ThinkingDelta: "thinks", ev.TextDelta: "writes"}


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
        title: the title that a person gave the session; otherwise it is the first query.
        previous: the state of a session that is resumed.
    """

    def __init__(self, redactor: Redactor, title: str = "", previous: PreviousState | None = None) -> None:
        self._redactor = redactor
        self._title = title
        self._titled = bool(title)
        self._state = "starting"
        self._calls = previous.tally.tool_calls if previous is not None else 0
        self._spent = previous.tally.cost_usd if previous is not None else None
        self._conversation = previous.conversation if previous is not None else None
        self._estimates: dict[str, float] = {}
        self._queries: set[str] = set()
        self._running: dict[str, str] = {}
        self._questions: dict[str, str] = {}
        self._doing = ""

    def set_title(self, title: str) -> None:
        """Use the title that a person gave the session."""
        if title:
            self._title, self._titled = self._line(title, _TITLE), True

    @property
    def row(self) -> StateRow:
        """The columns as they are now."""
        cost = self._spent
        if self._estimates:
            cost = (cost or 0.0) + sum(self._estimates.values())
        asks = self._state not in {"done", "failed"} and bool(self._questions)
        activity = ""
        if asks:
            activity = next(reversed(self._questions.values()))
        elif self._queries:
            activity = next(reversed(self._running.values())) if self._running else self._doing
        return StateRow(
            state="needs_you" if asks else self._state,
            title=self._title,
            titled=self._titled,
            activity=activity,
            calls=self._calls,
            cost_usd=cost,
            conversation=self._conversation,
        )

    def handle_event(self, event: ev.Event) -> None:
        """Update the state."""
        match event:
            case ev.SessionStarted():
                self._state = "starting"
                self._conversation = event.provider_session_id or self._conversation
            case ev.ConversationCleared():
                self._conversation = event.provider_session_id
            case ev.McpStatus() if self._state == "starting":
                self._state = "idle"
            case ev.ErrorRaised(where="agent") if not self._queries:
                self._state = "failed"
            case ev.SessionFinished():
                self._state = "failed" if self._state == "failed" else "done"
                self._queries.clear()
            case ev.QueryReceived():
                self._begin_query(event)
            case ev.QueryFinished():
                self._end_query(event)
            case ev.TokensSpent(cost_usd=float(cost)):
                self._estimates[event.query_id] = self._estimates.get(event.query_id, 0.0) + cost
            case ev.TextDelta() | ev.ThinkingDelta():
                self._doing = _MESSAGES[type(event)]
            case ev.ToolCallStarted():
                self._calls += 1
                self._running[event.tool_use_id] = self._call(event.name, event.input)
            case ev.ToolCallFinished():
                self._running.pop(event.tool_use_id, None)
            case _:
                self._handle_question(event)

    def _handle_question(self, event: ev.Event) -> None:
        match event:
            case ev.PermissionAsked():
                names = dict.fromkeys(tool_name(each).short for each in event.subjects)
                what = ", ".join(names) or self._call(event.tool_name, event.input)
                self._questions[event.request_id] = self._line(f"asks: {what}", _ACTIVITY)
            case ev.ElicitationAsked():
                self._questions[event.request_id] = self._line(
                    f"{event.server} asks: {event.message}", _ACTIVITY
                )
            case ev.PermissionAnswered() | ev.ElicitationAnswered():
                self._questions.pop(event.request_id, None)
            case ev.AuthRequired():
                self._questions[f"login {event.toolkit}"] = self._line(
                    f"needs a login to {event.toolkit}", _ACTIVITY
                )
            case ev.AuthFinished():
                self._questions.pop(f"login {event.toolkit}", None)
            case ev.ServerTrustAsked():
                self._questions[f"server {event.server}"] = self._line(
                    f"asks about {event.server}", _ACTIVITY
                )
            case ev.ServerTrustAnswered():
                self._questions.pop(f"server {event.server}", None)
            case _:
                pass

    def _begin_query(self, event: ev.QueryReceived) -> None:
        self._queries.add(event.query_id)
        self._state, self._doing = "running", ""
        if not (self._title or is_own(event.text)):
            self._title = self._line(event.text, _TITLE)

    def _end_query(self, event: ev.QueryFinished) -> None:
        estimate = self._estimates.pop(event.query_id, None)
        cost = estimate if event.cost_usd is None else event.cost_usd
        # What a lost program left unfinished ends when the session is resumed: its cost is among what it had cost.
        if cost is not None and event.query_id in self._queries:
            self._spent = (self._spent or 0.0) + cost
        self._queries.discard(event.query_id)
        if not self._queries:
            self._running.clear()
            self._questions.clear()
            self._state = "idle"

    def _call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """A call by the name that a person knows, with its most informative argument."""
        # Masked before it is cut, as half a secret is not recognised; an argument may have a megabyte.
        short = {
            key: value[: 4 * _ACTIVITY] if isinstance(value, str) else value
            for key, value in arguments.items()
        }
        masked = self._redactor.redact_value(short)
        return self._line(f"{tool_label(name, masked)}  {main_argument(name, masked)}".rstrip(), _ACTIVITY)

    def _line(self, text: str, limit: int) -> str:
        # Cut first: a query may have a megabyte.
        return clean_line(self._redactor.redact(clean_line(text, 4 * limit)), limit)
