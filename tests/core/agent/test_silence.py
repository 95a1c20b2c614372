from __future__ import annotations

import asyncio
from contextlib import suppress

from tests.waiting import ManualClock, run_ready
from ua_tui.core.agent.turn import REPORT_AFTER, SilenceWatch
from ua_tui.core.events.describe import describe
from ua_tui.core.events.types import AgentSilent, Event


class Bench:
    """A watch whose clock moves only when a test says so."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.move = self.clock.advance
        self.waits_for = ("model", "")
        self.reacts = True
        self.events: list[AgentSilent] = []
        self.watch = SilenceWatch(
            self._publish, lambda: self.waits_for, self._react, clock=self.clock, sleep=self.clock.sleep
        )

    def _publish(self, event: Event) -> Event:
        assert isinstance(event, AgentSilent)
        self.events.append(event)
        return event

    async def _react(self) -> None:
        if not self.reacts:
            raise TimeoutError

    async def __aenter__(self) -> Bench:
        self._task = asyncio.create_task(self.watch.watch("q1"))
        await run_ready()
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task


def sentences(bench: Bench) -> list[str]:
    return [describe(event).sentence for event in bench.events]


async def test_a_silence_is_reported_once_and_so_is_its_end() -> None:
    assert REPORT_AFTER == 30.0
    async with Bench() as bench:
        await bench.move(29)
        assert bench.events == []
        await bench.move(1)
        await bench.move(100)
        assert sentences(bench) == ["No answer from the model's service for 30 s."]
        bench.watch.note_message()
        await run_ready()
        assert [event.over for event in bench.events] == [False, True]
        await bench.move(31)
        assert [event.over for event in bench.events] == [False, True, False]


async def test_a_time_in_which_this_program_was_stopped_is_no_silence() -> None:
    async with Bench() as bench:
        await bench.move(20)
        # Its clock goes on, and nothing of it runs.
        bench.clock.now += 60.0
        await bench.move(29)
        assert bench.events == []
        await bench.move(1)
        assert sentences(bench) == ["No answer from the model's service for 30 s."]


async def test_every_message_begins_it_again_and_an_announced_wait_is_no_silence() -> None:
    async with Bench() as bench:
        for _ in range(10):
            await bench.move(20)
            bench.watch.note_message()
        bench.watch.note_message(expected_in=60)
        await bench.move(89)
        assert bench.events == []
        await bench.move(1)
        assert [event.silent_ms for event in bench.events] == [90_000]


async def test_what_is_waited_for_is_named() -> None:
    async with Bench() as bench:
        bench.waits_for = ("tool", "crawl_parallel")
        await bench.move(34)
        bench.watch.note_message()
        await run_ready()
        bench.waits_for = ("subagent", "news-expert")
        await bench.move(34)
    assert sentences(bench) == [
        "crawl_parallel has been running for 30 s without a result.",
        "Answers are arriving from crawl_parallel again.",
        "No message from news-expert for 30 s.",
    ]


async def test_a_person_who_is_asked_may_take_any_time() -> None:
    async with Bench() as bench:
        bench.waits_for = ("person", "")
        await bench.move(3600)
        assert bench.events == []
        bench.waits_for = ("model", "")
        await bench.move(29)
        assert bench.events == []
        await bench.move(2)
        assert len(bench.events) == 1


async def test_a_process_that_does_not_react_is_named_whatever_runs() -> None:
    async with Bench() as bench:
        bench.waits_for, bench.reacts = ("tool", "crawl_parallel"), False
        await bench.move(34)
    assert sentences(bench) == ["The agent's process has not responded for 30 s."]
