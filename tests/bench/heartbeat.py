from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
import time
import traceback
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

BEAT = 0.002
LATE = 0.030
LOOK = 0.010
LAST_FRAMES = 7
PARKED = frozenset(("wait", "run", "get", "select", "_worker", "_work", "_run", "_do_waitpid", "_look"))
ROOT = str(Path(__file__).parents[2])
SHOWN_STALLS = 12


@dataclass
class Stall:
    """One beat that came late, `at` seconds: by how many milliseconds, and what the loop's thread did in that time."""

    phase: str
    at: float
    late: float
    working: float
    waiting: float
    collecting: float
    seen: list[str] = field(default_factory=list)


class Heartbeat:
    """A task that wants to run every 2 ms, and a thread that looks what keeps it from doing so.

    `phase` names the part of the session the beats are counted for; set it as the session goes on.
    """

    def __init__(self) -> None:
        self.phase = "start"
        self._began = time.perf_counter()
        self._beats: dict[str, list[float]] = {}
        self._stalls: list[Stall] = []
        self._due = float("inf")
        self._seen: list[str] = []
        self._collecting = 0.0
        self._collection_began = 0.0
        self._over = threading.Event()
        self._loop_thread = threading.get_ident()
        self._schedule = -1
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to beat, on the loop that runs now."""
        self._loop_thread = threading.get_ident()
        with suppress(OSError):
            self._schedule = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
        gc.callbacks.append(self._on_collection)
        threading.Thread(target=self._look, name="bench-sampler", daemon=True).start()
        self._task = asyncio.get_running_loop().create_task(self._beat())

    def stop(self) -> None:
        """Beat no more."""
        self._over.set()
        gc.callbacks.remove(self._on_collection)
        if self._task is not None:
            self._task.cancel()

    def report(self) -> dict[str, Any]:
        """Beats of each phase and the longest stalls, for JSON; times in milliseconds."""
        longest = sorted(self._stalls, key=lambda stall: -stall.late)[:SHOWN_STALLS]
        return {
            "phases": {
                phase: [round(late * 1_000, 3) for late in beats] for phase, beats in self._beats.items()
            },
            "stalls": [asdict(stall) for stall in longest],
        }

    async def _beat(self) -> None:
        while True:
            phase, self._seen, self._collecting = self.phase, [], 0.0
            worked, waited = time.thread_time(), self._waited()
            self._due = due = time.perf_counter() + BEAT
            await asyncio.sleep(BEAT)
            late = time.perf_counter() - due
            self._due = float("inf")
            self._beats.setdefault(phase, []).append(late)
            if late > LATE:
                if self._collection_began:  # just over, in another thread that has not told yet
                    self._collecting += time.perf_counter() - self._collection_began
                self._stalls.append(
                    Stall(
                        phase=phase,
                        at=due - self._began,
                        late=late * 1_000,
                        working=(time.thread_time() - worked) * 1_000,
                        waiting=(self._waited() - waited) * 1_000,
                        collecting=self._collecting * 1_000,
                        seen=self._seen,
                    )
                )

    def _waited(self) -> float:
        """How long the loop's thread had work and no core so far; the scheduler tells it on Linux."""
        return int(os.pread(self._schedule, 64, 0).split()[1]) / 1e9 if self._schedule >= 0 else 0.0

    def _on_collection(self, when: str, _info: dict[str, int]) -> None:
        if when == "start":
            self._collection_began = time.perf_counter()
        else:  # whichever thread collects, all wait for it
            self._collecting += time.perf_counter() - self._collection_began
            self._collection_began = 0.0

    def _look(self) -> None:
        while not self._over.wait(LOOK):
            if time.perf_counter() - self._due <= LATE:
                continue
            frames = sys._current_frames()
            names = {thread.ident: thread.name for thread in threading.enumerate()}
            loop = frames.pop(self._loop_thread, None)
            stack = [at for at in traceback.extract_stack(loop) if "<frozen " not in at.filename]
            ours = [at for at in stack[:-LAST_FRAMES] if _ours(at.filename)]
            others = [
                f"  {names.get(ident, ident)}: {_where(frame)}"
                for ident, frame in frames.items()
                if frame.f_code.co_name not in PARKED
            ]
            reported = [
                f"{_short(at.filename)}:{at.lineno} {at.name}" for at in [*ours, *stack[-LAST_FRAMES:]]
            ]
            self._seen.append("\n".join([" > ".join(reported), *others]))


def _ours(path: str) -> bool:
    return path.startswith(ROOT) and ".venv" not in path and "tests/bench" not in path


def _where(frame: FrameType) -> str:
    return f"{_short(frame.f_code.co_filename)}:{frame.f_lineno} {frame.f_code.co_name}"


def _short(path: str) -> str:
    return "/".join(path.split("/")[-2:])
