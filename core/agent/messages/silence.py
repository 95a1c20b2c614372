"""Notices that nothing has come from the agent for a while, and reports what is waited for until something comes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import msgspec

from ua_tui.core.agent.bounds import STEP_SECONDS
from ua_tui.core.events.types import AgentSilent, Event

REPORT_AFTER = 30.0
"""Seconds without a message after which a silence is reported."""

_STEP, _LATE = 5.0, 2.0

Waiting = Callable[[], tuple[str, str]]
"""What a query waits for: one of the values of `AgentSilent.waits_for`, and its name. `person` is not reported."""


class SilenceWatch(msgspec.Struct, eq=False):
    """Watches one query at a time, with one clock.

    Args:
        publish: publishes the events.
        waiting: what the query waits for.
        reacts: asks the agent's process for something that it can answer alone.
        after: seconds without a message after which a silence is reported.
        clock: monotonic time in seconds.
        sleep: waits for some seconds of that clock.
    """

    publish: Callable[[Event], Event]
    waiting: Waiting
    reacts: Callable[[], Awaitable[object]]
    after: float | None = None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _since: float = 0.0
    _until: float = 0.0
    _came: asyncio.Event = msgspec.field(default_factory=asyncio.Event)

    def note_message(self, expected_in: float = 0.0) -> None:
        """Note that something came; the next message is expected only after `expected_in` seconds."""
        self._since = self.clock()
        after = REPORT_AFTER if self.after is None else self.after
        self._until = self._since + expected_in + after
        self._came.set()

    async def watch(self, query_id: str) -> None:
        """Watch a query, from now on until this is cancelled."""
        self.note_message()
        while True:
            while (left := self._until - self.clock()) > 0:
                step, began = min(left, _STEP), self.clock()
                await self.sleep(step)
                if self.clock() - began > step + _LATE:
                    # This program was stopped, and could not read what came.
                    self.note_message()
            waits_for, name = self.waiting()
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
                silent_ms=1000.0 * round(self.clock() - self._since),
            )
            self.publish(event)
            await self._came.wait()
            self.publish(AgentSilent(query_id=query_id, waits_for=waits_for, name=name, over=True))

    async def _process_reacts(self) -> bool:
        try:
            async with asyncio.timeout(STEP_SECONDS):
                await self.reacts()
        except TimeoutError:
            return False
        except Exception:
            # An answer that is an error is an answer, too.
            return True
        return True
