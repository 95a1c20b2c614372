"""Reads what a process uses from Linux' /proc, and ends processes by their id."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path


def resident_mb(pid: int) -> float | None:
    """The memory a process keeps in RAM, in MB; None where the system does not tell."""
    with suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1_024
    return None


def proportional_mb(pid: int) -> float | None:
    """The memory of a process, of what it shares its part, in MB; None where the system does not tell."""
    with suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1_024
    return None


def running_seconds(pid: int) -> float:
    """The time the threads of a process that still live have had a core, to the nanosecond."""
    total = 0
    for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with suppress(OSError, ValueError):
            total += int(task.read_text().split()[0])
    return total / 1e9


def waiting_seconds(pid: int) -> float:
    """The time the first thread of a process had work and no core; the scheduler tells it on Linux."""
    with suppress(OSError, ValueError):
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    return 0.0


def descendants(pid: int) -> list[int]:
    """The children of a process and their children."""
    found: list[int] = []
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError, ValueError):
            for child in map(int, tasks.read_text().split()):
                found += [child, *descendants(child)]
    return found


def own_processes(pid: int) -> list[int]:
    """A process and those below it that run the same interpreter: all that is ours, not the agent's command line."""

    def interpreter(each: int) -> str:
        with suppress(OSError):
            return os.readlink(f"/proc/{each}/exe")
        return ""

    return [pid, *(each for each in descendants(pid) if interpreter(each) == interpreter(pid))]


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended and was not waited for does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def kill(pids: list[int], seconds: float = 3.0) -> None:
    """End processes that did not end by themselves within `seconds`."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and any(alive(pid) for pid in pids):
        time.sleep(0.02)
    for pid in pids:
        if alive(pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
