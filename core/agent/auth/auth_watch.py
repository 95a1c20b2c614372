"""Looks whether an account that a person is to connect has become active, so that nobody has to say so."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from core.concurrency.spawn import Handle, Spawn
from core.events.types import AuthRequired

__all__ = ["AuthWatch", "IsConnected"]

log = logging.getLogger(__name__)

IsConnected = Callable[[str], Awaitable[bool]]
"""Asks the service whether the account of a toolkit is active."""

OFTEN_SECONDS = 4.0
SELDOM_SECONDS = 15.0
OFTEN_FOR_SECONDS = 600.0
"""A link lives about as long; who comes back later does not mind some seconds more."""


class AuthWatch:
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

    def begin(self, event: AuthRequired) -> None:
        """Follow the account of this link instead of another one's."""
        self.end()
        is_connected = self._service()
        if event.toolkit and is_connected is not None:
            self._handle = self._spawn(self._follow(event.toolkit, is_connected), "account", "auth")

    def end(self) -> None:
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
