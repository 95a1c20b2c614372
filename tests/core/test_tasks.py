"""Tasks whose cancellation is lost once: they end all the same."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from tests.waiting import PATIENCE, run_ready
from ua_tui.core import tasks
from ua_tui.core.tasks import end_tasks, pause, until


async def lose_one(began: asyncio.Event) -> None:
    """Work that does not notice that it is cancelled, as when what it awaits fails for it."""
    began.set()
    with suppress(asyncio.CancelledError):
        await asyncio.Event().wait()


async def test_a_loop_ends_at_its_next_pause() -> None:
    began = asyncio.Event()

    async def loop() -> None:
        while True:
            await lose_one(began)
            await pause(None)

    task = asyncio.create_task(loop())
    await began.wait()
    task.cancel()
    await asyncio.wait([task], timeout=PATIENCE)
    assert task.cancelled()


async def test_a_pause_ends_with_its_time_or_its_event_and_is_cancelled_even_then() -> None:
    wake = asyncio.Event()
    assert not await pause(0.0, wake)
    wake.set()
    assert await pause(None, wake)
    wake.clear()
    task = asyncio.create_task(pause(None, wake))
    await run_ready()
    # Both in one turn of the event loop.
    wake.set()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_work_that_lost_its_cancellation_is_cancelled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "AGAIN_SECONDS", 0.01)
    began = asyncio.Event()

    async def work() -> None:
        await lose_one(began)
        await asyncio.Event().wait()

    async with asyncio.timeout(PATIENCE):
        await until(work(), began.wait())
        task = asyncio.create_task(work())
        await run_ready()
        await end_tasks(task)
    assert task.cancelled()


async def test_tasks_have_ended_when_whoever_ends_them_is_cancelled() -> None:
    may_end, began = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        try:
            began.set()
            await asyncio.Event().wait()
        finally:
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            await may_end.wait()

    task = asyncio.create_task(work())
    await began.wait()
    ending = asyncio.create_task(end_tasks(task))
    await run_ready()
    ending.cancel()
    await run_ready()
    assert not ending.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await ending
    assert task.done()
