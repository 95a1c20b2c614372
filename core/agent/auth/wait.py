"""The account that a person is to connect: its open link, and when the agent may go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from core.agent.auth.auth_watch import AuthWatch, IsConnected
from core.concurrency.spawn import Spawn
from core.events.types import AuthFinished, AuthRequired, Event, QueryFinished, ToolCallStarted

__all__ = ["AuthOutcome", "AuthWait"]

AuthOutcome = Literal["completed", "cancelled", "expired", "unattended"]
"""How the waiting for an account went."""


class AuthWait:
    """Waits for one account at a time, from its link to its end.

    Attributes:
        pending: the link a person has yet to open.

    Args:
        spawn: starts the work beside the session.
        service: gives the way to ask whether an account is active, once there is one.
        publish: takes the ends of waiting.
        runs: whether a query runs.
        go_on: lets the agent go on, as the account is connected.
        looks: whether to find out by itself that the account is connected.
    """

    def __init__(
        self,
        spawn: Spawn,
        service: Callable[[], IsConnected | None],
        *,
        publish: Callable[[Event], object],
        runs: Callable[[], bool],
        go_on: Callable[[], None],
        looks: bool,
    ) -> None:
        self.pending: AuthRequired | None = None
        self._publish = publish
        self._runs = runs
        self._go_on = go_on
        self._looks = looks
        self._owes_go_on = False
        self._watch = AuthWatch(spawn, service, self.connected)

    def take(self, event: Event) -> None:
        """Take an event of the session."""
        match event:
            case AuthRequired():
                self.pending = event
                if self._looks:
                    self._watch.begin(event)
            case ToolCallStarted():
                self._owes_go_on = False
            case QueryFinished(status=status) if self._owes_go_on:
                self._owes_go_on = False
                if status == "success":
                    self._go_on()
            case _:
                pass

    def finish(self, outcome: AuthOutcome) -> None:
        """Say how the waiting went; when it is complete the agent goes on by itself."""
        self._watch.end()
        if self._end(outcome) and outcome == "completed":
            self._go_on()

    def connected(self) -> None:
        """Let the agent go on with the account, which is connected by now.

        A query that still runs may be waiting for that itself: it is told afterwards, if it did nothing more.
        """
        if not self._runs():
            self.finish("completed")
        elif self.pending is not None:
            self._owes_go_on = True
            self._end("completed")

    def close(self) -> None:
        """Look no more."""
        self._watch.end()

    def _end(self, outcome: AuthOutcome) -> bool:
        waiting, self.pending = self.pending, None
        if waiting is not None:
            self._publish(AuthFinished(toolkit=waiting.toolkit, outcome=outcome))
        return waiting is not None
