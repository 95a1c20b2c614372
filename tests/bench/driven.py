"""A program in a pseudo-terminal whose every byte is stamped with the moment it came, and nothing else is done.

A terminal model takes a core for itself while text streams. What is wanted of the screen is therefore found in the
bytes: a character that stands nowhere else is on the screen with the first bytes that hold it, and a program at
rest has painted all when it writes no more.
"""

from __future__ import annotations

import os
import select
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.bench.child import Child
from tests.bench.processes import running_seconds, waiting_seconds

QUIET = 0.2
SAME_FRAME = 0.02
BUSY_SHARE = 0.3
FIRST_PROBE = 0x1401
PROBES = 600


class Taken(NamedTuple):
    """How long something took, and how much of that the program had work and no core; milliseconds."""

    took: float
    without_core: float


def reported(taken: Iterable[Taken]) -> str:
    """What each took, and how much of it this machine kept the program waiting."""
    return ", ".join(f"{each.took:.0f} ms with {each.without_core:.0f} ms of no core" for each in taken)


def probes() -> Iterator[str]:
    """Characters that stand in no text of ours, each one cell wide (Canadian syllabics)."""
    yield from map(chr, range(FIRST_PROBE, FIRST_PROBE + PROBES))


class Driven(Child):
    """The program, and all it wrote since the last `forget`."""

    def __init__(self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> None:
        super().__init__(command, cwd=cwd, env=env)
        self._written = bytearray()
        self._ends: list[int] = []
        self._times: list[float] = []
        self._without_core: list[tuple[float, float]] = []

    def send(self, text: str) -> float:
        """Type something; the moment it was typed (`time.perf_counter`)."""
        now = self._note()
        os.write(self._child.child_fd, text.encode())
        return now

    def resize(self, columns: int, rows: int) -> float:
        """Give the terminal another size, of which the system tells the program; the moment it was done."""
        now = self._note()
        self._child.setwinsize(rows, columns)
        return now

    def taken(self, began: float, ended: float | None) -> Taken:
        """How long something took that was not forgotten yet."""
        if ended is None:
            raise RuntimeError("the program painted nothing")
        before = [waited for at, waited in self._without_core if at <= began]
        until = [waited for at, waited in self._without_core if at <= ended]
        return Taken((ended - began) * 1_000, (until[-1] - before[-1]) * 1_000)

    def _note(self) -> float:
        now = time.perf_counter()
        self._without_core.append((now, waiting_seconds(self.pid)))
        return now

    def forget(self) -> None:
        """Begin anew to keep what is written."""
        self._written.clear()
        self._ends.clear()
        self._times.clear()
        self._without_core.clear()

    @property
    def written(self) -> int:
        """How many bytes came since the last `forget`."""
        return len(self._written)

    def came(self, text: str) -> float | None:
        """The moment the first bytes that hold `text` came; None when there were none."""
        place = self._written.find(text.encode())
        if place < 0:
            return None
        return self._times[bisect_left(self._ends, place + len(text.encode()))]

    def last(self) -> float | None:
        """The moment the last bytes came."""
        return self._times[-1] if self._times else None

    def until(self, text: str, seconds: float) -> float:
        """Read until `text` came; the moment it did."""
        until = time.monotonic() + seconds
        while (came := self.came(text)) is None:
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError(
                    f"{text!r} did not come; the last that did is {bytes(self._written[-400:])!r}"
                )
            self._read(left)
        return came

    def painted(self, seconds: float) -> float:
        """Read until something was written and nothing more follows; the moment the last of it came."""
        until = time.monotonic() + seconds
        while not self._times and time.monotonic() < until:
            self._read(until - time.monotonic())
        ended = -1
        while ended != len(self._written) and time.monotonic() < until:
            ended = len(self._written)
            self.watch(SAME_FRAME)
        if not self._times:
            raise TimeoutError("the program painted nothing")
        return self._times[-1]

    def watch(self, seconds: float) -> None:
        """Go on reading for a while."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self._read(left)

    def rest(self, seconds: float) -> None:
        """Read until the program writes nothing and does nothing."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            busy, ended = self._busy(), len(self._written)
            self.watch(QUIET)
            if len(self._written) == ended and self._busy() - busy < QUIET * BUSY_SHARE:
                return
        raise TimeoutError("the program does not come to rest")

    def _busy(self) -> float:
        return running_seconds(self.pid) + waiting_seconds(self.pid)

    def _read(self, seconds: float) -> None:
        if not select.select([self._child.child_fd], [], [], max(0.0, seconds))[0]:
            return
        try:
            data = os.read(self._child.child_fd, 65_536)
        except OSError as error:
            raise EOFError(f"the program ended: {bytes(self._written[-400:])!r}") from error
        self._times.append(self._note())
        self._written += data
        self._ends.append(len(self._written))
        self._answer(data)
