"""Notices that nothing has come from the agent for a while, and reports what is waited for until something comes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from ua_tui.core.agent.bounds import STEP_SECONDS
from ua_tui.core.events.types import AgentSilent, Event

REPORT_AFTER = 30.0
"""Seconds without a message after which a silence is reported."""

_STEP, _LATE = 5.0, 2.0

Waiting = Callable[[], tuple[str, str]]
"""What a query waits for: one of the values of `AgentSilent.waits_for`, and its name. `person` is not reported."""


class SilenceWatch:
    """Watches one query at a time, with one clock.

    Args:
        publish: publishes the events.
        waiting: what the query waits for.
        reacts: asks the agent's process for something that it can answer alone.
        after: seconds without a message after which a silence is reported.
        clock: monotonic time in seconds.
        sleep: waits for some seconds of that clock.
    """

    def __init__(
        self,
        publish: Callable[[Event], Event],
        waiting: Waiting,
        reacts: Callable[[], Awaitable[object]],
        *,
        after: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._publish = publish
        self._waiting = waiting
        self._reacts = reacts
        self._after = REPORT_AFTER if after is None else after
        self._clock = clock
        self._sleep = sleep
        self._since = 0.0
        self._until = 0.0
        self._came = asyncio.Event()

    def note_message(self, expected_in: float = 0.0) -> None:
        """Note that something came; the next message is expected only after `expected_in` seconds."""
        self._since = self._clock()
        self._until = self._since + expected_in + self._after
        self._came.set()

    async def watch(self, query_id: str) -> None:
        """Watch a query, from now on until this is cancelled."""
        self.note_message()
        while True:
            while (left := self._until - self._clock()) > 0:
                step, began = min(left, _STEP), self._clock()
                await self._sleep(step)
                if self._clock() - began > step + _LATE:
                    # This program was stopped, and could not read what came.
                    self.note_message()
            waits_for, name = self._waiting()
            if waits_for == "person":
                self.note_message()
                continue
            self._came.clear()
            if not await self._process_reacts():
                waits_for, name = "process", ""
            if self._came.is_set():
                continue
            event = AgentSilent(
                query_id=query_id,
                waits_for=waits_for,
                name=name,
                silent_ms=1000.0 * round(self._clock() - self._since),
            )
            self._publish(event)
            await self._came.wait()
            self._publish(AgentSilent(query_id=query_id, waits_for=waits_for, name=name, over=True))

    async def _process_reacts(self) -> bool:
        try:
            async with asyncio.timeout(STEP_SECONDS):
                await self._reacts()
        except TimeoutError:
            return False
        except Exception:
            # An answer that is an error is an answer, too.
            return True
        return True
