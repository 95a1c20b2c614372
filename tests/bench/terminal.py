from __future__ import annotations

import os
import re
import select
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyte

from tests.bench.child import COLUMNS, ROWS, Child

VISIBLE = 40

UNKNOWN = re.compile(rb"\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1b[P_^][^\x1b]*\x1b\\")
"""Sequences of newer terminals, which pyte would print: a plain terminal passes over them."""
CUT = re.compile(rb"\x1b(\[[<>=?]?[0-9;$]*|[P_^][^\x1b]*)?$")


class Terminal(Child):
    """A real pseudo-terminal with a program in it, and the screen a person would see there."""

    def __init__(self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> None:
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self.screen)
        self._rest = b""
        self.started = time.perf_counter()
        super().__init__(command, cwd=cwd, env=env)

    def send(self, text: str) -> None:
        """Type something."""
        os.write(self._child.child_fd, text.encode())

    def wait(self, ready: Callable[[pyte.Screen], bool], seconds: float) -> float:
        """Read until the screen is as wanted; the moment the last bytes for it came (`time.perf_counter`)."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            came = self._read(left)
            if came is None:
                break
            if came and ready(self.screen):
                return came
        raise TimeoutError("the screen did not become as expected:\n" + "\n".join(self.screen.display))

    def watch(self, seconds: float) -> None:
        """Go on reading for a while."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and self._read(left) is not None:
            pass

    def _read(self, seconds: float) -> float | None:
        """Take in what comes; 0 when nothing came, None when nothing can come any more."""
        if not select.select([self._child.child_fd], [], [], seconds)[0]:
            return 0.0
        try:
            data = os.read(self._child.child_fd, 65_536)
        except OSError:
            return None
        came = time.perf_counter()
        data = self._rest + data
        cut = CUT.search(data)
        data, self._rest = (data[: cut.start()], data[cut.start() :]) if cut else (data, b"")
        cursor = self.screen.cursor
        self._answer(data, cursor.y + 1, cursor.x + 1)
        self._stream.feed(UNKNOWN.sub(b"", data))
        return came


def has_frame(screen: pyte.Screen) -> bool:
    """Whether the first frame is there: enough characters that are not blank."""
    return sum(len("".join(line.split())) for line in screen.display) >= VISIBLE


def shows(text: str) -> Callable[[pyte.Screen], bool]:
    """A test for a text that stands on one line of the screen."""
    return lambda screen: any(text in line for line in screen.display)
