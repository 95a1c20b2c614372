"""The wait for an account that a person must connect: its link, and when the agent continues."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Literal

from ua_tui.core.concurrency.spawn import Handle, Spawn
from ua_tui.core.events.types import AuthFinished, AuthRequired, Event, QueryFinished, ToolCallStarted

log = logging.getLogger(__name__)

IsConnected = Callable[[str], Awaitable[bool]]
"""Asks the service whether the account of a toolkit is active."""

OFTEN_SECONDS = 4.0
SELDOM_SECONDS = 15.0
OFTEN_FOR_SECONDS = 600.0
"""About as long as a link is valid; after that, polling may be slower."""


class AccountPoll:
    """Polls one account at a time, until it is active.

    Args:
        spawn: starts background work.
        service: returns the function that asks, once there is one; None if there is no such service.
        connected: called once, when an inactive account has become active.
        clock: gives the time in seconds.
        sleep: waits for some seconds of that clock.
    """

    def __init__(
        self,
        spawn: Spawn,
        service: Callable[[], IsConnected | None],
        connected: Callable[[], None],
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._spawn = spawn
        self._service = service
        self._connected = connected
        self._clock = clock
        self._sleep = sleep
        self._handle: Handle | None = None

    def start(self, event: AuthRequired) -> None:
        """Poll the account of this link instead of an earlier one."""
        self.stop()
        is_connected = self._service()
        if event.toolkit and is_connected is not None:
            self._handle = self._spawn(partial(self._follow, event.toolkit, is_connected), "account", "auth")

    def stop(self) -> None:
        """Stop polling."""
        handle, self._handle = self._handle, None
        if handle is not None:
            handle.cancel()

    async def _follow(self, toolkit: str, is_connected: IsConnected) -> None:
        started = self._clock()
        # An account that is already active is not the one that the link is for.
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
            past = self._clock() - started > OFTEN_FOR_SECONDS
            await self._sleep(SELDOM_SECONDS if past else OFTEN_SECONDS)


AuthOutcome = Literal["completed", "cancelled", "expired", "unattended"]
"""How the wait for an account ended."""


class AuthWait:
    """Waits for one account at a time, from its link to its end.

    Attributes:
        pending: the link a person has yet to open.

    Args:
        spawn: starts background work.
        service: returns the function that asks whether an account is active, once there is one.
        publish: publishes the end of a wait.
        runs: whether a query runs.
        continue_query: lets the agent continue, because the account is connected.
        polls: whether to poll for the account.
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
        """Start or end a wait when an event of the session calls for it."""
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
        """Report how the wait ended; when it is complete the agent continues."""
        self._watch.stop()
        if self._finish_wait(outcome) and outcome == "completed":
            self._continue_query()

    def connected(self) -> None:
        """Let the agent continue with the account, which is now connected.

        A running query may be waiting for the account itself: the agent continues after it only if it made no further
        call.
        """
        if not self._runs():
            self.finish("completed")
        elif self.pending is not None:
            self._continue_after_query = True
            self._finish_wait("completed")

    def close(self) -> None:
        """Stop polling."""
        self._watch.stop()

    def _finish_wait(self, outcome: AuthOutcome) -> bool:
        waiting, self.pending = self.pending, None
        if waiting is not None:
            self._publish(AuthFinished(toolkit=waiting.toolkit, outcome=outcome))
        return waiting is not None
