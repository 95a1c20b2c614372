"""Large, many or hostile results given to the real observers, with a heartbeat beside: `MODE RESULT_FILE`."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from core.agent.messages.result_storage import ResultStore
from core.agent.messages.results import RawResult, ResultAdapter
from core.concurrency.spawn import spawn_task
from core.concurrency.worker import WorkerProcess
from core.events.types import ArtifactSaved, Event, ObserverFinished
from core.observation import ToolResult
from core.storage.workspace import Workspace
from observers.base import ObserverContext
from observers.catalogue import default_observers
from observers.execution.offload import ResultOffload
from observers.execution.runner import ObserverRunner
from tests.bench.heartbeat import Heartbeat
from tests.bench.pages import TOOL, answer, lean, long, result
from tests.bench.processes import resident_mb

MB = 1_000_000
LARGE = 20 * MB
HUGE = 104 * MB
BURST = 3_000
BURST_BYTES = 30_000
BURST_SECONDS = 2.0
STEP = 0.01
LOOK = 0.01
SECONDS = 300.0
WORK = "work"


class Memory:
    """The most memory this process has kept in RAM since the measurement began, in MB beyond what it had then."""

    def __init__(self) -> None:
        self._began = resident_mb(os.getpid()) or 0.0
        self._most = self._began
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def growth(self) -> float:
        self._over.set()
        self._thread.join()
        return self._most - self._began

    def _look(self) -> None:
        while not self._over.wait(LOOK):
            self._most = max(self._most, resident_mb(os.getpid()) or 0.0)


class Bench:
    """The observers as a session has them, and what they publish."""

    def __init__(self) -> None:
        self.workspace = Workspace.create(Path.cwd(), datetime.now(UTC))
        self.aside = WorkerProcess(self.workspace)
        self.artifacts = 0
        self.items = 0
        self.shown_text: list[str] = []
        observers = default_observers()
        offload = ResultOffload(self.aside, [observer.name for observer in observers])
        self.runner = ObserverRunner(
            observers, ObserverContext(self.workspace), self._publish, offload=offload
        )
        self.runner.start(spawn_task)

    async def settled(self, number: int, block: str) -> ToolResult:
        """A result as the loop hands it over: read and stored by the settler, in a thread."""
        adapter = ResultAdapter(saved_results_root=None)
        settler = ResultStore(adapter, self.workspace, self.workspace.redactor, self.aside)
        call = result(number, "").call
        now = datetime.now(UTC)
        facts = {
            "tool_name": TOOL,
            "tool_use_id": call.tool_use_id,
            "tool_input": call.input,
            "started_at": now,
            "ended_at": now,
            "duration_ms": 1.0,
        }
        observation, _ = await asyncio.to_thread(settler.store, RawResult(block=block), facts)
        return msgspec.structs.replace(result(number, ""), observation=observation)

    async def rest(self) -> None:
        """Wait until all is observed."""
        lost = await self.runner.drain(SECONDS)
        if lost:
            raise RuntimeError(f"observers lost {len(lost)} runs: {lost[0]}")

    def _publish(self, event: Event) -> None:
        match event:
            case ArtifactSaved():
                self.artifacts += 1
            case ObserverFinished():
                self.items += event.items
                self.shown_text += [
                    shown_text
                    for shown_text in (event.error, event.note)
                    if shown_text and shown_text not in self.shown_text
                ]
            case _:
                pass


def _filled(size: int, *, cjk: bool) -> str:
    """A page of about `size` bytes."""
    row = len(answer(long(1, 100, cjk=cjk)).encode()) / 100
    return answer(long(1, int(size / row), cjk=cjk))


async def _observe(bench: Bench, text: str) -> dict[str, Any]:
    bench.runner.submit(result(1, text))
    await bench.rest()
    return {}


async def _settle(bench: Bench, text: str) -> dict[str, Any]:
    bench.runner.submit(await bench.settled(1, text))
    await bench.rest()
    return {}


async def _burst(bench: Bench, text: str) -> dict[str, Any]:
    """Submit the results in small groups, each with addresses of its own."""
    began = time.perf_counter()
    for number in range(BURST):
        bench.runner.submit(result(number, text.replace("/1/story-", f"/{number}/story-")))
        due = began + number / BURST * BURST_SECONDS
        if due > time.perf_counter() + STEP:
            await asyncio.sleep(STEP)
        elif number % 16 == 0:
            await asyncio.sleep(0)
    submitted = time.perf_counter() - began
    await bench.rest()
    return {"submitted": submitted, "results": BURST}


def _small() -> str:
    row = len(answer(lean(1, 100))) / 100
    return answer(lean(1, round(BURST_BYTES / row)))


MODES: dict[str, tuple[Callable[[], str], Callable[[Bench, str], Awaitable[dict[str, Any]]]]] = {
    "observe-ascii": (lambda: _filled(LARGE, cjk=False), _observe),
    "observe-cjk": (lambda: _filled(LARGE, cjk=True), _observe),
    "settle-ascii": (lambda: _filled(LARGE, cjk=False), _settle),
    "settle-cjk": (lambda: _filled(LARGE, cjk=True), _settle),
    "burst": (_small, _burst),
    "array": (lambda: "[" + "1234567," * (HUGE // 8) + "1]", _observe),
    "brackets": (lambda: "[" * 100_000, _observe),
    "objects": (lambda: '{"a":' * 5_000, _observe),
}


async def measured(mode: str) -> dict[str, Any]:
    """Run one mode; times in milliseconds and seconds, memory in MB."""
    make, work = MODES[mode]
    text = make()
    bench = Bench()
    bench.runner.submit(result(99_999_999, answer(lean(0, 3))))
    while bench.runner.backlog:  # noqa: ASYNC110  # the runner tells no one that it rests
        await asyncio.sleep(0.01)
    bench.artifacts = bench.items = 0
    heart = Heartbeat()
    heart.phase = WORK
    memory = Memory()
    heart.start()
    await asyncio.sleep(0.1)
    began = time.perf_counter()
    reported = await work(bench, text)
    took = time.perf_counter() - began
    await asyncio.sleep(0.1)
    growth = memory.growth()
    heart.stop()
    report = heart.report()
    await asyncio.to_thread(bench.aside.close)
    bench.workspace.close()
    return reported | {
        "longest": max(report["phases"][WORK]),
        "stalls": report["stalls"],
        "growth": growth,
        "took": took,
        "artifacts": bench.artifacts,
        "items": bench.items,
        "said": bench.shown_text,
    }


def main(mode: str, report: str) -> None:
    """Measure `mode`, and write what was found to the file `report`."""
    Path(report).write_text(json.dumps(asyncio.run(measured(mode))), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
