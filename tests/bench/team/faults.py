"""A batch through everything that happens to machines and networks: kills, crashes, cuts, frozen processes, slow lines.

The faults come at fixed parts of the run, so that fewer jobs, each of them slower, meet all of them, too.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from subprocess import TimeoutExpired
from typing import Any

from tests.bench.table import Row, Section
from tests.bench.team.desk import Desk, Worker, desk

JOBS, SECONDS = 160, 437.0
WORKERS, SLOTS, PARTS = 3, 3, 3
CUT_SECONDS, FROZEN_SECONDS, HOLE_SECONDS = 60.0, 50.0, 45.0
"""All are longer than the time after which a worker counts as lost."""
LATENCY, RESETS = 0.1, 0.01
"""Seconds that each piece waits in each direction, and the share of pieces that end their connection."""


@dataclass
class Story:
    """The faults of a run: what happened to which process, and which tasks it worked on then."""

    team: Desk
    seconds: float
    began: float = field(default_factory=time.monotonic)
    happened: list[tuple[str, str, float, list[int]]] = field(default_factory=list)

    def play(self) -> None:
        """Let everything happen, at its part of the run."""
        team = self.team
        one, two, three = team.workers.values()
        ends: list[threading.Timer] = []

        def later(seconds: float, what: str, worker: Worker, end: Callable[[], object]) -> None:
            def come() -> None:
                self._note(what, worker)
                end()

            ends.append(threading.Timer(seconds, come))
            ends[-1].start()

        for worker, part in ((one, 0.09), (two, 0.16)):
            self._at(part, "kill -9", worker)
            worker.send(signal.SIGKILL)
        self._at(0.23, "server restart")
        team.cluster.restart()
        self._at(0.30, "server crash")
        team.cluster.crash()
        self._at(0.37, f"cut for {CUT_SECONDS:g} s", three)
        three.proxy.cut(refuse=True)
        later(CUT_SECONDS, "cut ends", three, three.proxy.resume)
        self._at(0.55, f"SIGSTOP for {FROZEN_SECONDS:g} s", one)
        one.send(signal.SIGSTOP)
        later(FROZEN_SECONDS, "SIGCONT", one, lambda: one.send(signal.SIGCONT))
        self._at(0.69, f"black hole for {HOLE_SECONDS:g} s", two)
        two.proxy.pause()
        later(HOLE_SECONDS, "black hole ends", two, two.proxy.resume)
        self._at(0.79, f"{2_000 * LATENCY:g} ms latency, {RESETS:.0%} resets")
        for worker in team.workers.values():
            worker.proxy.delay, worker.proxy.reset_rate = LATENCY, RESETS
        for timer in ends:
            timer.join()

    def takeovers(self) -> list[tuple[str, list[float | None]]]:
        """What happened to each process, and after how many seconds another one asked for each of its tasks.

        None: the process itself went on with the task.
        """
        found = []
        for what, process, at, tasks in self.happened:
            times: list[float | None] = []
            for task in tasks:
                after = [each for each in self.team.requests if each.task == task and each.at > at]
                other = next((each.at - at for each in after if each.process != process), None)
                times.append(other)
            if process and "ends" not in what and what != "SIGCONT":
                found.append((f"{what} {process}", times))
        return found

    def _at(self, part: float, what: str, worker: Worker | None = None) -> None:
        time.sleep(max(0.0, self.began + part * self.seconds - time.monotonic()))
        self._note(what, worker)

    def _note(self, what: str, worker: Worker | None) -> None:
        now = time.monotonic()
        process = worker.process_name if worker is not None else ""
        sys.stderr.write(f"{now - self.began:6.0f} s  {what} {process}\n")
        self.happened.append((what, process, now, self.team.working(process, now) if process else []))


def faults(jobs: int = JOBS, seconds: float = SECONDS) -> Section:
    """Run a batch that would take about `seconds` without faults; returns what came of it."""
    # A task asks once more than it sends; the start of its agent takes the rest of its time.
    pause = max(0.3, seconds * WORKERS * SLOTS / jobs / (PARTS + 1) - 1.0)
    with desk(pause=pause, parts=PARTS) as team:
        team.restarts = True
        for number in range(WORKERS):
            team.start_worker(f"w{number + 1}", parallel=SLOTS)
        threading.Thread(target=team.keep_running, daemon=True).start()
        batch = team.submit(range(1, jobs + 1), "--max-cost-all", "500")
        story = Story(team, seconds)
        story.play()
        with suppress(TimeoutExpired):
            batch.wait(max(60.0, story.began + 4 * seconds - time.monotonic()))
        took = time.monotonic() - story.began
        code = batch.process.poll()
        if code is None:
            sys.stderr.write(team.run("team", "status", "--to", team.address()).stdout)
        ((deadlocks,),) = team.execute(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        )
        team.stop()
        settled = time.monotonic() + 15.0
        while team.left_processes() and time.monotonic() < settled:
            time.sleep(0.2)
        rows = batch.results
        states = Counter(each["state"] for each in rows)
        box, again = team.outbox, _doubled(team.answered())
        times = story.takeovers()
        killed = [each for what, found in times if what.startswith("kill") for each in found if each]
        lost = {
            (task, part)
            for task in range(1, jobs + 1)
            for part in range(1, PARTS + 1)
            if not box.begun[task, part] and task not in team.told
        }
        attempts = {str(key): count for key, count in Counter(each.get("attempt") for each in rows).items()}
        return Section(
            [
                _row("queries not answered", jobs - states["done"], f"{took:.0f} s, exit code {code}"),
                _row("queries doubled", _doubled(Counter(each["query"] for each in rows))),
                _row("messages doubled", _doubled(box.begun), f"{sum(box.begun.values())} begun"),
                _row("messages lost without notice", len(lost), f"{jobs * PARTS} wanted"),
                _row("jobs stuck", jobs - len(rows), f"{dict(states)}"),
                _row("processes left", len(team.left_processes())),
                _row("deadlocks", int(deadlocks)),
                Row("team: answers that the model gave again after faults", again, "answers"),
                Row(
                    "team: longest take-over after a kill",
                    max(killed, default=None),
                    "s",
                    compared="waiting for a free slot included",
                ),
                Row("team: jobs whose agent was told of an unknown outcome", len(team.told), "jobs"),
            ],
            [
                f"team: attempts {attempts}; calls whose caller went away {sum(box.cut.values())}",
                *(f"team: row {each['number']} failed: {each['error']}" for each in rows if each["error"]),
                *(f"team: lost {each}: the agent was told {team.refused.get(each[0])}" for each in sorted(lost)),
                *(f"team: {worker.name}: started {worker.starts} times, at most {worker.proxy.most_open} connections"
                  for worker in team.workers.values()),
                *(f"team: {what}: taken over after {_seconds(found)}" for what, found in times),
            ],
        )  # fmt: skip


def _row(what: str, count: int, compared: str = "") -> Row:
    return Row(f"team: {what} after faults", count, "", 0, compared)


def _doubled(counts: Counter[Any]) -> int:
    return sum(count > 1 for count in counts.values())


def _seconds(times: list[float | None]) -> str:
    return ", ".join("not" if each is None else f"{each:.0f} s" for each in times) or "nothing to take over"
