"""Waiting for what another task, thread or process does: the one place where tests wait on real time.

What a test can drive itself it drives: give the code under test a `ManualClock`, set an event, await a task. The bounds
here are safety nets, which only a broken test reaches; assert what happened, never how long it took.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from ua_tui.tui.replay.player import Player

PATIENCE = 120.0
"""Seconds after which what is waited for counts as never to come, also on a busy machine."""
PAUSE = 0.01
"""Seconds between two checks."""

Value = TypeVar("Value")


async def until(
    holds: Callable[[], Value], within: float = PATIENCE, reported: Callable[[], object] | None = None
) -> Value:
    """Let the event loop run until something holds; returns its value.

    `reported` describes the state for the error if it never does.
    """
    deadline = time.monotonic() + within
    while not (value := holds()):
        assert time.monotonic() < deadline, _never(within, reported)
        await asyncio.sleep(PAUSE)
    return value


async def until_in_thread(holds: Callable[[], Value], within: float = PATIENCE) -> Value:
    """Wait like `until` for a condition that blocks, such as a query of a database: it is checked in a thread."""
    deadline = time.monotonic() + within
    while not (value := await asyncio.to_thread(holds)):
        assert time.monotonic() < deadline, _never(within, None)
        await asyncio.sleep(PAUSE)
    return value


def wait_until(
    holds: Callable[[], Value], within: float = PATIENCE, reported: Callable[[], object] | None = None
) -> Value:
    """Block until something holds, such as a state of another process; returns its value."""
    deadline = time.monotonic() + within
    while not (value := holds()):
        assert time.monotonic() < deadline, _never(within, reported)
        time.sleep(PAUSE)
    return value


def is_settled(player: Player) -> bool:
    """Whether everything that was requested of a replay is done, and all that is due is shown."""
    is_due = player.is_playing and player.recording.position(player._due_offset()) > player.position
    return bool(player._requested._waiters) and player._wanted is None and not is_due


async def run_ready(turns: int = 20) -> None:
    """Let the tasks run that can run without waiting for anything outside of the event loop."""
    for _ in range(turns):
        await asyncio.sleep(0)


async def run_all_ready(most_turns: int = 5_000) -> None:
    """Let tasks run until all of them wait for a time, a thread or something outside, however long that takes.

    A task that never waits ends this after so many turns.
    """
    ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]  # what asyncio is about to run
    quiet = 0
    for _ in range(most_turns):
        await asyncio.sleep(0)
        quiet = 0 if ready else quiet + 1
        if quiet == 3:
            break


class ManualClock:
    """A clock that stands still until a test advances it; `clock()` gives its time, `sleep` waits for it."""

    def __init__(self, now: float = 100.0) -> None:
        self.now = now
        self._sleeping: list[tuple[float, asyncio.Future[None]]] = []

    def __call__(self) -> float:
        """The time in seconds."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Return once the clock was advanced by this much; a sleep of nothing lets other tasks run."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        wakes = asyncio.get_running_loop().create_future()
        self._sleeping.append((self.now + seconds, wakes))
        await wakes

    async def advance(self, seconds: float) -> None:
        """Move the clock, wake who slept until then in order, and let them run."""
        end = self.now + seconds
        await run_ready()
        while due := [each for each in self._sleeping if each[0] <= end]:
            moment, wakes = min(due, key=lambda each: each[0])
            self._sleeping.remove((moment, wakes))
            self.now = max(self.now, moment)
            if not wakes.done():
                wakes.set_result(None)
            await run_ready()
        self.now = end


def _never(within: float, reported: Callable[[], object] | None) -> str:
    return f"what was waited for did not come within {within:g} s: {reported() if reported else ''}"
