from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.waiting import PATIENCE, run_ready, until
from ua_tui.core.events.types import ArtifactSaved, Event, ObserverFinished, ObserverStarted, ToolCallStarted
from ua_tui.core.observation import ToolCall, ToolResult
from ua_tui.observers.base import Interest, ObserverContext, Outcome, Saved
from ua_tui.observers.catalogue import default_observers
from ua_tui.observers.execution.replay import observe_result
from ua_tui.observers.execution.runner import ObserverRunner

Make = Callable[..., ToolResult]


@dataclass
class Probe:
    """An observer whose work is what a test gives it."""

    name: str = "probe"
    work: Callable[[ToolResult], Outcome] = lambda result: Outcome()
    seen: list[str] = field(default_factory=list)

    def wants(self, call: ToolCall) -> bool | Interest:
        return call.name != "unwanted"

    def observe(self, result: ToolResult, context: ObserverContext) -> Outcome:
        self.seen.append(result.observation.output)
        return self.work(result)


def started(
    context: ObserverContext, *observers: Probe, **options: Any
) -> tuple[ObserverRunner, list[Event]]:
    events: list[Event] = []
    loop_thread = threading.get_ident()

    def publish(event: Event) -> None:
        assert threading.get_ident() == loop_thread
        events.append(event)

    runner = ObserverRunner(observers, context, publish, **options)
    runner.start()
    return runner, events


def held() -> tuple[Probe, threading.Event, threading.Event]:
    """An observer that works until its gate is opened, the event that it has begun, and the gate."""
    begun, gate = threading.Event(), threading.Event()

    def work(_: ToolResult) -> Outcome:
        begun.set()
        gate.wait(PATIENCE)
        return Outcome()

    return Probe(work=work), begun, gate


def finished(events: list[Event]) -> list[ObserverFinished]:
    return [event for event in events if isinstance(event, ObserverFinished)]


async def test_observers_are_made_when_a_call_begins_and_see_what_came_meanwhile(
    context: ObserverContext, result: Make
) -> None:
    probe, gate, made = Probe(), threading.Event(), list[int]()

    def make() -> list[Probe]:
        made.append(gate.wait(PATIENCE))
        return [probe]

    runner = ObserverRunner(make, context, lambda event: None, workers=1)
    runner.start()
    runner.handle_event(ObserverStarted(run_id="r", observer="probe", tool_use_id="t"))
    assert made == []
    for number in range(2):
        call = ToolCallStarted(
            query_id="q", tool_use_id=f"t{number}", name="mcp__a__b", input={}, iteration=1
        )
        runner.handle_event(call)
        runner.submit(result("mcp__a__b", f"text {number}", f"t{number}"))
    gate.set()
    assert await runner.drain() == []
    assert (probe.seen, made) == (["text 0", "text 1"], [True])


async def test_events_of_a_run_come_in_order(context: ObserverContext, result: Make) -> None:
    probe = Probe(work=lambda r: Outcome((Saved("a.json", "k", 3, "ff"),), items=2, rejected=1, duplicates=1))
    context.workspace.write("a.json", b"{}\n")
    runner, events = started(context, probe)
    runner.submit(result("mcp__a__b", "x"))
    runner.submit(result("unwanted", "x"))
    assert await runner.drain() == []
    assert [type(event) for event in events] == [ObserverStarted, ArtifactSaved, ObserverFinished]
    (done,) = finished(events)
    assert (done.status, done.artifacts) == ("saved", ["a.json"])
    assert (done.items, done.rejected, done.duplicates) == (2, 1, 1)


async def test_no_thread_is_started_for_each_run(context: ObserverContext, result: Make) -> None:
    """To start one could fail, or never return, while memory is short."""
    threads: set[threading.Thread] = set()

    def note(_: ToolResult) -> Outcome:
        threads.add(threading.current_thread())
        return Outcome()

    runner, _ = started(context, Probe(work=note), workers=2)
    await run_ready()
    for number in range(20):
        runner.submit(result("mcp__a__b", str(number)))
    assert await runner.drain() == []
    assert len(threads) <= 2
    assert all(thread.daemon for thread in threads)
    await until(lambda: not any(thread.is_alive() for thread in threads))


async def test_one_failing_observer_leaves_the_others_alone(context: ObserverContext, result: Make) -> None:
    def fail(_: ToolResult) -> Outcome:
        raise RecursionError("too deep \x1b[31m")

    class Confused(Probe):
        def wants(self, call: ToolCall) -> bool:
            raise ValueError("cannot judge")

    runner, events = started(context, Probe("bad", fail), Probe("good"), Confused("confused"))
    runner.submit(result("mcp__a__b", "x"))
    assert await runner.drain() == []
    assert {event.observer: event.status for event in finished(events)} == {
        "bad": "failed", "good": "skipped", "confused": "failed",
    }  # fmt: skip
    error = next(event.error for event in finished(events) if event.observer == "bad")
    assert error is not None
    assert "too deep" in error
    assert "\x1b" not in error


class Nosy(Probe):
    def wants(self, call: ToolCall) -> Interest:
        return Interest.NONE if call.name == "unwanted" else Interest.CURIOUS


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Outcome(note="no search results"), []),
        (Outcome(), []),
        (Outcome((Saved("a.json", "k", 3, "ff"),)), [ObserverStarted, ArtifactSaved, ObserverFinished]),
        (Outcome(duplicates=1, note="already saved"), [ObserverStarted, ObserverFinished]),
        (Outcome(rejected=1), [ObserverStarted, ObserverFinished]),
    ],
)
async def test_a_curious_run_is_reported_only_if_it_found_something(
    context: ObserverContext, result: Make, outcome: Outcome, expected: list[type[Event]]
) -> None:
    probe = Nosy(work=lambda r: outcome)
    context.workspace.write("a.json", b"{}\n")
    runner, events = started(context, probe)
    runner.submit(result("mcp__a__b", "x"))
    runner.submit(result("unwanted", "x"))
    assert await runner.drain() == []
    assert [type(event) for event in events] == expected
    assert len({getattr(event, "run_id", None) for event in events} - {None}) <= 1
    assert len(probe.seen) == 1
    by_hand: list[Event] = []
    runs = observe_result(result("mcp__a__b", "x"), [probe], context, by_hand.append)
    assert [type(event) for event in by_hand] == expected
    assert [run.outcome for run in runs] == [outcome]


async def test_a_curious_run_that_fails_or_is_lost_is_reported(
    context: ObserverContext, result: Make
) -> None:
    gate, failed = threading.Event(), asyncio.Event()

    ended: list[str] = []

    def work(given: ToolResult) -> Outcome:
        if given.observation.output == "fail":
            raise ValueError("broken")
        gate.wait(PATIENCE)
        ended.append(given.call.tool_use_id)
        return Outcome(items=1)

    events: list[Event] = []

    def publish(event: Event) -> None:
        events.append(event)
        if isinstance(event, ObserverFinished):
            failed.set()

    runner = ObserverRunner([Nosy(work=work)], context, publish, workers=2)
    runner.start()
    for number, text in enumerate(("fail", "hang", "hang", "waits")):
        runner.submit(result("mcp__a__b", text, f"t{number}"))
    await failed.wait()
    await until(lambda: runner.backlog == 3)
    assert len(await runner.drain(0)) == 3
    gate.set()
    await until(lambda: len(ended) == 2)
    await run_ready()
    begun = [event.run_id for event in events if isinstance(event, ObserverStarted)]
    assert [event.run_id for event in finished(events)] == begun
    assert len(begun) == len(set(begun)) == 4
    assert {event.status for event in finished(events)} == {"failed"}


async def test_nothing_is_dropped_when_results_come_faster_than_they_are_observed(
    context: ObserverContext, result: Make
) -> None:
    probe, _, gate = held()
    runner, events = started(context, probe)
    texts = [f"{number} " + "x" * 20_000 for number in range(300)]
    for number, text in enumerate(texts):
        runner.submit(result("mcp__a__b", text, f"t{number}"))
    draining = asyncio.create_task(runner.drain(PATIENCE))
    await run_ready()
    assert (runner.backlog, draining.done()) == (300, False)
    gate.set()
    assert await draining == []
    assert sorted(probe.seen) == sorted(texts)
    assert len(finished(events)) == 300


async def test_what_is_lost_at_the_deadline_is_named_and_ended_once(
    context: ObserverContext, result: Make
) -> None:
    gate = threading.Event()
    probe = Probe(work=lambda r: Outcome(items=gate.wait(PATIENCE)))
    runner, events = started(context, probe, workers=2)
    for number in range(4):
        runner.submit(result("mcp__a__slow", "x", f"t{number}"))
    await until(lambda: len(probe.seen) == 2)
    lost = await runner.drain(0)
    assert sorted(lost) == [f"probe of mcp__a__slow (t{number})" for number in range(4)]
    gate.set()
    runner.submit(result("mcp__a__slow", "x", "t-late"))
    await until(lambda: len(finished(events)) == 5)
    assert sorted(event.tool_use_id for event in finished(events)) == ["t-late", "t0", "t1", "t2", "t3"]
    assert {event.status for event in finished(events)} == {"failed"}
    assert sum(isinstance(event, ObserverStarted) for event in events) == 5


@pytest.mark.parametrize(
    "tool", ["mcp__composio__COMPOSIO_SEARCH_NEWS", "Bash", "mcp__local_toolkit__write_local_file"]
)
async def test_every_default_observer_judges_any_call(
    context: ObserverContext, result: Make, tool: str
) -> None:
    events: list[Event] = []
    runner = ObserverRunner(default_observers(), context, events.append)
    runner.start()
    runner.submit(result(tool, "odd", path=7, tools={"a": None}, output_path=[]))
    assert await runner.drain() == []
    assert all(event.status != "failed" for event in finished(events))


async def test_a_runner_that_was_never_started_works_at_its_end(
    context: ObserverContext, result: Make
) -> None:
    probe, events = Probe(), list[Event]()
    runner = ObserverRunner([probe], context, events.append, workers=2)
    for number in range(2):
        runner.submit(result("mcp__a__b", "x", f"t{number}"))
    before = asyncio.all_tasks()
    assert await runner.drain(PATIENCE) == []
    assert asyncio.all_tasks() == before
    assert sorted(event.tool_use_id for event in finished(events)) == ["t0", "t1"]


async def test_a_drain_that_is_cancelled_leaves_no_work_of_its_own_behind(
    context: ObserverContext, result: Make
) -> None:
    probe, begun, gate = held()
    events: list[Event] = []
    runner = ObserverRunner([probe], context, events.append, workers=2)
    runner.submit(result("mcp__a__b", "x", "t1"))
    before = asyncio.all_tasks()
    draining = asyncio.create_task(runner.drain(PATIENCE))
    await asyncio.to_thread(begun.wait, PATIENCE)
    draining.cancel()
    await asyncio.wait({draining})
    assert draining.cancelled()
    assert asyncio.all_tasks() == before
    assert runner.abandon() == ["probe of mcp__a__b (t1)"]
    assert [event.error for event in finished(events)] == ["the session ended before it finished"]
    gate.set()


@dataclass
class Late(Probe):
    """An observer that reads what others have saved."""

    is_last: bool = True


async def test_one_of_the_last_waits_for_everything_that_was_submitted_before(
    context: ObserverContext, result: Make
) -> None:
    ended: list[str] = []
    hold = threading.Event()

    def slow(given: ToolResult) -> Outcome:
        if given.observation.output == "1":
            assert hold.wait(PATIENCE)
        ended.append(f"slow {given.observation.output}")
        return Outcome()

    def late(given: ToolResult) -> Outcome:
        ended.append(f"late {given.observation.output}")
        return Outcome()

    runner, _ = started(context, Late("late", late), Probe("slow", slow))
    for number in "123":
        runner.submit(result("mcp__a__b", number))
    # Results that come later are observed meanwhile.
    await until(lambda: sorted(ended) == ["slow 2", "slow 3"])
    hold.set()
    await runner.finish_submitted()
    assert sorted(ended[:3]) == ["slow 1", "slow 2", "slow 3"]
    assert ended[3:] == ["late 1", "late 2", "late 3"]
    assert await runner.drain() == []


async def test_waiting_for_what_was_submitted_ends_when_the_session_does(
    context: ObserverContext, result: Make
) -> None:
    probe, _, hold = held()
    runner, _ = started(context, probe, Late("late"))
    runner.submit(result("mcp__a__b", "1"))
    await until(lambda: probe.seen)
    waiting = asyncio.create_task(runner.finish_submitted())
    assert len(await runner.drain(0)) == 2
    await asyncio.wait_for(waiting, PATIENCE)
    hold.set()
