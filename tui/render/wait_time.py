"""Which tool calls wait for the user, and for how long."""

from __future__ import annotations

from dataclasses import dataclass, field

from ua_tui.core.events.tool_names import tool_name
from ua_tui.core.events.types import (
    AuthFinished,
    AuthRequired,
    ElicitationAnswered,
    ElicitationAsked,
    Event,
    PermissionAnswered,
    PermissionAsked,
    ToolCallFinished,
    ToolCallStarted,
)

MIN_WAIT = 0.1
"""Seconds; a shorter wait is not that of a user."""
_WAITS_FOR_ACCOUNTS = "WAIT_FOR_CONNECTIONS"


class WaitingCalls:
    """Finds in events which tool calls wait for the user: for an answer, or until an account is connected."""

    def __init__(self) -> None:
        self._questions: dict[str, str] = {}
        self._for_accounts: set[str] = set()
        self._account_missing = False

    def changes(self, event: Event) -> list[tuple[str, bool]]:
        """Return the calls that begin to wait with an event (True), and those whose wait it ends (False).

        A question that is not about a call has an empty name.
        """
        match event:
            case PermissionAsked(request_id=request) | ElicitationAsked(request_id=request):
                call = self._questions[request] = event.tool_use_id or ""
                return [(call, True)]
            case PermissionAnswered(request_id=request) | ElicitationAnswered(request_id=request) if (
                request in self._questions
            ):
                return [(self._questions.pop(request), False)]
            case ToolCallStarted(name=name) if tool_name(name).short == _WAITS_FOR_ACCOUNTS:
                self._for_accounts.add(event.tool_use_id)
                return [(event.tool_use_id, True)] if self._account_missing else []
            case ToolCallFinished(tool_use_id=call) if call in self._for_accounts:
                self._for_accounts.remove(call)
                return [(call, False)] if self._account_missing else []
            case AuthRequired() | AuthFinished() if isinstance(event, AuthRequired) != self._account_missing:
                self._account_missing = not self._account_missing
                return [(call, self._account_missing) for call in self._for_accounts]
            case _:
                return []


@dataclass(slots=True)
class Wait:
    """Adds up the time in which at least one question was open; times are in seconds of any clock.

    `spans` are the beginnings and ends of these times.
    """

    seconds: float = 0.0
    spans: list[tuple[float, float]] = field(default_factory=list)
    _questions: int = 0
    _since: float = 0.0

    def begin(self, at: float) -> None:
        """A question was asked."""
        if not self._questions:
            self._since = at
        self._questions += 1

    def end(self, at: float) -> None:
        """A question was answered."""
        self._questions = max(0, self._questions - 1)
        if not self._questions:
            self.seconds += max(0.0, at - self._since)
            self.spans.append((self._since, at))

    @property
    def since(self) -> float | None:
        """When the wait that is not over began; None if there is none."""
        return self._since if self._questions else None

    def of(self, took: float) -> float:
        """Return the part of a duration spent waiting; 0 if that is too short to be noticed."""
        waited = min(self.seconds, took)
        return waited if waited >= MIN_WAIT else 0.0
