"""A large result, and many at once, given to the real observers: stalls and memory. `MODE RESULT_FILE` measures one."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from tests.bench.apart import report_of
from tests.bench.heartbeat import Heartbeat
from tests.bench.pages import TOOL, answer, lean, long, result
from tests.bench.processes import resident_mb
from tests.bench.table import Row, Section
from tests.waiting import until
from ua_tui.core.agent.messages.result_files import ResultStore
from ua_tui.core.agent.messages.results import RawResult, ResultAdapter
from ua_tui.core.concurrency.worker import WorkerProcess
from ua_tui.core.events.types import ArtifactSaved, Event
from ua_tui.core.observation import ToolResult
from ua_tui.core.storage.workspace import Workspace
from ua_tui.observers.base import ObserverContext
from ua_tui.observers.catalogue import default_observers
from ua_tui.observers.execution.offload import ResultOffload
from ua_tui.observers.execution.runner import ObserverRunner

STALL = 30.0
BURST_GROWTH = 150.0
LARGE = 20_000_000
BURST = 3_000
BURST_BYTES = 30_000
BURST_SECONDS = 2.0
STEP = 0.01
SECONDS = 300.0
WORK = "work"


def large(base: Path, _runs: int) -> Section:
    """What a result of 20 MB, and 3,000 results in two seconds, do to the event loop and to the memory."""
    one, many = (report_of("tests.bench.large", mode, base / mode, seconds=SECONDS) for mode in MODES)
    took = f"{one['took']:.1f} s, memory + {one['growth']:.0f} MB"
    saved = f"{many['artifacts']} saved, done at {many['took']:.1f} s"
    return Section(
        [
            Row("longest stall, 20 MB of Japanese stored and observed", one["longest"], "ms", STALL, took),
            Row(
                f"results of {BURST_BYTES // 1_000} KB that were not saved",
                BURST - many["artifacts"],
                "",
                0.0,
                saved,
            ),
            Row(f"memory for {BURST:,} results of 30 KB", many["growth"], "MB", BURST_GROWTH),
            Row("longest stall meanwhile", many["longest"], "ms"),
        ]
    )


class Memory:
    """The most memory this process has kept in RAM since the measurement began, in MB beyond what it had then."""

    def __init__(self) -> None:
        self._began = self._most = resident_mb(os.getpid()) or 0.0
        self._over = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def growth(self) -> float:
        self._over.set()
        return self._most - self._began

    def _watch(self) -> None:
        while not self._over.wait(STEP):
            self._most = max(self._most, resident_mb(os.getpid()) or 0.0)


class Bench:
    """The observers as a session has them."""

    def __init__(self) -> None:
        self.workspace = Workspace.create(Path.cwd(), datetime.now(UTC))
        self.worker = WorkerProcess(self.workspace)
        self.artifacts = 0
        observers = default_observers()
        offload = ResultOffload(self.worker)
        context = ObserverContext(self.workspace)
        self.runner = ObserverRunner(observers, context, self._publish, offload=offload)
        self.runner.start()

    async def stored(self, block: str) -> ToolResult:
        """A result as the loop hands it over: read and stored in a thread."""
        store = ResultStore(ResultAdapter(self.workspace.path), self.workspace, self.worker)
        call = result(1, "").call
        facts = {"tool_name": TOOL, "tool_use_id": call.tool_use_id, "tool_input": call.input}
        observation, _ = await asyncio.to_thread(store.store, RawResult(block=block), facts)
        return msgspec.structs.replace(result(1, ""), observation=observation)

    async def rest(self) -> None:
        """Wait until all is observed."""
        if lost := await self.runner.drain(SECONDS):
            raise RuntimeError(f"observers lost {len(lost)} runs: {lost[0]}")

    def _publish(self, event: Event) -> None:
        self.artifacts += isinstance(event, ArtifactSaved)


async def _one(bench: Bench, text: str) -> None:
    bench.runner.submit(await bench.stored(text))


async def _many(bench: Bench, text: str) -> None:
    """Submit the results in small groups, each with addresses of its own."""
    began = time.perf_counter()
    for number in range(BURST):
        bench.runner.submit(result(number, text.replace("/1/story-", f"/{number}/story-")))
        ahead = began + number / BURST * BURST_SECONDS > time.perf_counter() + STEP
        if ahead or number % 16 == 0:
            await asyncio.sleep(STEP if ahead else 0)


def _page_of(size: int, rows: Any) -> str:
    """A page of about `size` bytes."""
    return answer(rows(1, round(size / len(answer(rows(1, 100)).encode()) * 100)))


def _japanese(number: int, count: int) -> list[dict[str, Any]]:
    return long(number, count, cjk=True)


MODES = {"one": (_one, LARGE, _japanese), "many": (_many, BURST_BYTES, lean)}


async def measured(mode: str) -> dict[str, Any]:
    """Run one mode; times in milliseconds and seconds, memory in MB."""
    work, size, rows = MODES[mode]
    text = _page_of(size, rows)
    bench = Bench()
    bench.runner.submit(result(99_999_999, answer(lean(0, 3))))
    await until(lambda: not bench.runner.backlog)
    bench.artifacts = 0
    heart, memory = Heartbeat(), Memory()
    heart.phase = WORK
    heart.start()
    began = time.perf_counter()
    await work(bench, text)
    await bench.rest()
    took = time.perf_counter() - began
    heart.stop()
    longest = max(heart.report()["phases"][WORK])
    growth = memory.growth()
    await asyncio.to_thread(bench.worker.close)
    bench.workspace.close()
    return {"longest": longest, "growth": growth, "took": took, "artifacts": bench.artifacts}


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(asyncio.run(measured(sys.argv[1]))), encoding="utf-8")
