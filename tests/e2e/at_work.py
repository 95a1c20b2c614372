"""Whether a program has something left to do, as the system tells: what it writes alone does not say."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def wants_to_run(pid: int) -> bool:
    """Whether a thread of the program or of its children runs, or waits for a core or a disk; else False."""
    return any(fields[0] in ("R", "D") for fields in _threads(pid))


def cpu_seconds(pid: int) -> float:
    """What the program and its children have computed so far; 0 where nobody tells."""
    return sum(int(fields[11]) + int(fields[12]) for fields in _threads(pid)) / _TICKS


def _threads(pid: int) -> Iterator[list[str]]:
    """The fields of each thread from its state on (proc(5), /proc/pid/stat)."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return
    for task in tasks:
        try:
            yield (task / "stat").read_text().rpartition(")")[2].split()
            children = (task / "children").read_text().split()
        except OSError:
            # It ended meanwhile.
            continue
        for child in children:
            yield from _threads(int(child))
