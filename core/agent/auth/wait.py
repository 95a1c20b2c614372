"""The account that a person is to connect: its open link, and when the agent may go on."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Literal

from core.concurrency.spawn import Handle, Spawn
from core.events.types import AuthFinished, AuthRequired, Event, QueryFinished, ToolCallStarted

__all__ = ["AccountPoll", "AuthOutcome", "AuthWait", "IsConnected"]

log = logging.getLogger(__name__)

IsConnected = Callable[[str], Awaitable[bool]]
"""Asks the service whether the account of a toolkit is active."""

OFTEN_SECONDS = 4.0
SELDOM_SECONDS = 15.0
OFTEN_FOR_SECONDS = 600.0
"""A link lives about as long; who comes back later does not mind some seconds more."""


class AccountPoll:
    """Follows one account at a time, from its link to its being active.

    Args:
        spawn: starts the work beside the session.
        service: gives the way to ask, once there is one; None where nobody can tell.
        connected: called once, when an account that was not active has become so.
    """

    def __init__(
        self,
        spawn: Spawn,
        service: Callable[[], IsConnected | None],
        connected: Callable[[], None],
        *,
        often: float | None = None,
    ) -> None:
        self._spawn = spawn
        self._service = service
        self._connected = connected
        self._often = OFTEN_SECONDS if often is None else often
        self._handle: Handle | None = None

    def start(self, event: AuthRequired) -> None:
        """Follow the account of this link instead of another one's."""
        self.stop()
        is_connected = self._service()
        if event.toolkit and is_connected is not None:
            self._handle = self._spawn(self._follow(event.toolkit, is_connected), "account", "auth")

    def stop(self) -> None:
        """Look no more."""
        handle, self._handle = self._handle, None
        if handle is not None:
            handle.cancel()

    async def _follow(self, toolkit: str, is_connected: IsConnected) -> None:
        started = time.monotonic()
        # An account that is active already is not the one that the link is for.
        was_active: bool | None = None
        while was_active is not True:
            try:
                active = await is_connected(toolkit)
            except Exception as error:
                log.info("whether %s is connected could not be asked: %s", toolkit, error)
            else:
                if active and was_active is False:
                    self._handle = None
                    self._connected()
                    return
                was_active = active
            past = time.monotonic() - started > OFTEN_FOR_SECONDS
            await asyncio.sleep(SELDOM_SECONDS if past else self._often)


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
        continue_query: Callable[[], None],
        polls: bool,
    ) -> None:
        self.pending: AuthRequired | None = None
        self._publish = publish
        self._runs = runs
        self._continue_query = continue_query
        self._polls = polls
        self._continue_after_query = False
        self._watch = AccountPoll(spawn, service, self.connected)

    def handle_event(self, event: Event) -> None:
        """Take an event of the session."""
        match event:
            case AuthRequired():
                self.pending = event
                if self._polls:
                    self._watch.start(event)
            case ToolCallStarted():
                self._continue_after_query = False
            case QueryFinished(status=status) if self._continue_after_query:
                self._continue_after_query = False
                if status == "success":
                    self._continue_query()
            case _:
                pass

    def finish(self, outcome: AuthOutcome) -> None:
        """Say how the waiting went; when it is complete the agent goes on by itself."""
        self._watch.stop()
        if self._finish_wait(outcome) and outcome == "completed":
            self._continue_query()

    def connected(self) -> None:
        """Let the agent go on with the account, which is connected by now.

        A query that still runs may be waiting for that itself: it is told afterwards, if it did nothing more.
        """
        if not self._runs():
            self.finish("completed")
        elif self.pending is not None:
            self._continue_after_query = True
            self._finish_wait("completed")

    def close(self) -> None:
        """Look no more."""
        self._watch.stop()

    def _finish_wait(self, outcome: AuthOutcome) -> bool:
        waiting, self.pending = self.pending, None
        if waiting is not None:
            self._publish(AuthFinished(toolkit=waiting.toolkit, outcome=outcome))
        return waiting is not None
