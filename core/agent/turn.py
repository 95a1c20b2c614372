"""One query on its way through the agent: how it is steered, watched and stopped, and how it ended."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from ua_tui.core.agent.bounds import STEP_SECONDS
from ua_tui.core.agent.messages.translate import TurnOutcome
from ua_tui.core.bus import Publish
from ua_tui.core.errors import AgentError
from ua_tui.core.events.types import AgentSilent
from ua_tui.core.log import log
from ua_tui.core.observation import FinishedCall
from ua_tui.core.tasks import end_tasks

if TYPE_CHECKING:
    from ua_tui.core.agent.client import AgentClient


class TurnFailed(AgentError):
    """The agent ended a query with an error; `outcome` has its cost."""

    def __init__(self, outcome: TurnOutcome) -> None:
        super().__init__(outcome.error or "the agent failed without a message")
        self.outcome = outcome


class Turn(msgspec.Struct):
    """What is known of a query while the agent works on it.

    `done` gets the result from the agent. `sent` says that the agent has the query, `refusal` why it is stopped
    although nobody asked for that, `links` which links were reported.

    `steering` are the messages that were sent meanwhile and not yet accepted, oldest first. The agent accepts them
    after the next tool result. If none comes, it ends the turn and begins another one with them: for a person the turn
    ends when that one does. `before` is the result so far, and `steering_timeout` the timer that ends the turn if the
    agent does not accept the last message.
    """

    query_id: str
    query: str
    simple: bool
    done: asyncio.Future[TurnOutcome]
    links: set[str] = set()
    calls: list[FinishedCall] = []
    interrupted: bool = False
    refusal: str | None = None
    sent: bool = False
    steering_timeout: asyncio.TimerHandle | None = None
    steering: dict[str, str] = {}
    before: TurnOutcome | None = None

    @property
    def is_stopped(self) -> bool:
        """Whether it is being stopped, by a person or for its refusal."""
        return self.interrupted or self.refusal is not None

    def end(self, result: TurnOutcome) -> None:
        """Take the agent's result, which is that of the query unless the agent has yet to accept a message."""
        if (before := self.before) is not None:
            result = replace(result, turns=before.turns + result.turns, text=result.text or before.text)
        self.before = result
        if not self.steering:
            self.done.set_result(result)

    def outcome(self, result: TurnOutcome) -> TurnOutcome:
        """The outcome of the query for a person, given the agent's result."""
        status, error = result.status, result.error
        if self.refusal is not None and status != "success":
            status, error = "error", self.refusal
        if self.interrupted and status == "error":
            status, error = "interrupted", None
        return replace(result, status=status, error=error, tool_calls=tuple(self.calls))


_STOP_WITHIN = 6.0
_ASK_AGAIN = 0.4


class Stopping(msgspec.Struct, eq=False):
    """Stops the turns of an agent: asks it repeatedly, or kills it if it does not stop when a person wants that."""

    agent: AgentClient
    _tasks: set[asyncio.Task[None]] = set()

    async def stop(self, done: asyncio.Future[Any]) -> None:
        """Stop the turn that ends with `done`, by force if the agent does not stop when asked."""
        try:
            async with asyncio.timeout(_STOP_WITHIN):
                await self.agent.interrupt()
                await asyncio.shield(done)
        except TimeoutError:
            log.warning("the agent did not stop within %s s, so it is killed", _STOP_WITHIN)
            await self.agent.kill()
        except AgentError:
            log.info("the agent ended while it was being stopped")

    def ask_until(self, done: asyncio.Future[Any]) -> None:
        """Ask repeatedly until `done` is done, without waiting for it; the agent may not listen yet."""
        task = asyncio.create_task(self._ask_until(done))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Cancel the requests that are still running."""
        await end_tasks(*self._tasks)

    async def _ask_until(self, done: asyncio.Future[Any]) -> None:
        while not done.done():
            await self.agent.interrupt()
            await asyncio.wait((done,), timeout=_ASK_AGAIN)


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

    publish: Publish
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
            # An answer that is an error is an answer, too.
            with suppress(Exception):
                try:
                    async with asyncio.timeout(STEP_SECONDS):
                        await self.reacts()
                except TimeoutError:
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
