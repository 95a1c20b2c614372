"""A batch goes on while workers are killed, the database is restarted, and a network is cut."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.bench.table import Row, Section
from tests.bench.team.desk import Desk, desk, until
from tests.tcp_proxy import TcpProxy

TASKS = 200
CUT_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class Faults:
    """What came out of a batch: results, messages sent, answers given, and how long takeovers lasted, in seconds."""

    code: int
    results: Sequence[dict[str, Any]]
    sent: dict[int, int]
    answered: dict[int, int]
    takeovers: Sequence[float]
    seconds: float
    again_seconds: float
    again_new: int
    attempts: int


def faults(tasks: int = TASKS) -> Section:
    """The rows of a batch with faults."""
    seen = run_faults(tasks)
    done = sum(each["state"] == "done" for each in seen.results)
    twice = sum(count > 1 for count in seen.sent.values())
    repeated = sum(count > 1 for count in seen.answered.values())
    slowest = max(seen.takeovers, default=0.0)
    detail = f"{seen.seconds:.0f} s, 3 workers of 2 sessions, {seen.attempts} jobs begun more than once"
    return Section(
        [
            Row("team: queries not answered after faults", tasks - done, "queries", 0, detail),
            Row("team: answers that the model gave again after a kill", repeated, "answers"),
            Row("team: messages sent twice", twice, "messages", 0, f"{sum(seen.sent.values())} sent"),
            Row("team: takeover of a killed worker's session", slowest, "s", 45.0, "from the kill"),
            Row("team: sessions begun by the same batch again", seen.again_new, "sessions", 0),
        ],
        [f"team: the same batch again took {seen.again_seconds:.1f} s"],
    )


def run_faults(tasks: int, *, cut: float = CUT_SECONDS) -> Faults:
    """Run a batch through two kills, a restart of the database, and a cut of `cut` seconds."""
    with desk() as team, TcpProxy("127.0.0.1", team.cluster.port) as proxy:
        workers = [team.start_worker("one"), team.start_worker("two")]
        apart = proxy.url(team.database.tcp)
        team.start_worker("apart", apart)
        given: list[tuple[int, list[dict[str, Any]], str]] = []
        started = time.monotonic()
        numbers = range(1, tasks + 1)
        batch = threading.Thread(target=lambda: given.append(team.batch(numbers, within=1_800.0)))
        batch.start()
        takeovers = [_kill(team, workers[0], tasks * 15 // 100)]
        team.start_worker("one-again")
        _reach(team, tasks * 35 // 100)
        team.cluster.restart()
        _reach(team, tasks // 2)
        proxy.pause()
        resume = threading.Timer(cut, proxy.resume)
        resume.start()
        takeovers.append(_kill(team, workers[1], tasks * 60 // 100))
        team.start_worker("two-again")
        batch.join()
        resume.join()
        seconds = time.monotonic() - started
        code, results, error = given[0]
        if code:
            raise RuntimeError(f"the batch ended with {code}:\n{error[-3000:]}")
        before = dict(team.answered)
        began = time.monotonic()
        team.batch(numbers, within=120.0)
        again = time.monotonic() - began
        (attempts,) = team.database.execute("SELECT count(*) FROM job WHERE attempt > 1")[0]
        return Faults(
            code=code,
            results=results,
            sent=dict(team.sent()),
            answered=before,
            takeovers=takeovers,
            seconds=seconds,
            again_seconds=again,
            again_new=sum((team.answered - type(team.answered)(before)).values()),
            attempts=attempts,
        )


def _reach(team: Desk, done: int) -> None:
    until(lambda: team.count("done", "failed") >= done, 900, f"{done} jobs")


def _kill(team: Desk, worker: Any, after: int) -> float:
    """Kill a worker once so many jobs are over; returns how long its sessions waited for another worker, at most."""
    _reach(team, after)
    mine = "SELECT id, attempt FROM job WHERE state = 'running' AND worker LIKE %s"
    pattern = f"%{worker.pid}%"
    until(lambda: bool(team.database.execute(mine, pattern)), 120, "a job of the worker")
    team.kill(worker)
    left = team.database.execute(mine, pattern)
    moved = "SELECT count(*) FROM job WHERE id = %s AND (attempt > %s OR state <> 'running')"
    started = time.monotonic()
    for job, attempt in left:
        until(lambda: team.database.execute(moved, job, attempt)[0][0] > 0, 120, "a takeover")  # noqa: B023
    return time.monotonic() - started
