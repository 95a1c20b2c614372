"""A program in a pseudo-terminal that answers as a plain one does, until it is told to leave."""

from __future__ import annotations

import os
import re
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import pexpect

from tests.bench.processes import descendants, kill

COLUMNS, ROWS = 120, 40
LEAVE_SECONDS = 15.0
ASKED = re.compile(rb"\x1b\[(c|6n|\?(\d+)\$p)")
"""What a program asks its terminal: what it is, where the cursor is, which modes it has."""


class Child(ABC):
    """A program that runs as long as the `with` block around it."""

    def __init__(self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> None:
        self._child = pexpect.spawn(
            command[0],
            list(command[1:]),
            cwd=str(cwd),
            env=dict(env),
            dimensions=(ROWS, COLUMNS),
            timeout=None,
        )

    @abstractmethod
    def _read(self, seconds: float) -> object:
        """Take in what comes within this time; may raise EOFError when nothing can come any more."""

    @property
    def pid(self) -> int:
        """The process in the terminal."""
        assert self._child.pid is not None
        return self._child.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """Ask the program to leave as a closing terminal would, and end what is still there afterwards."""
        started = [self.pid, *descendants(self.pid)]
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)
        until = time.monotonic() + LEAVE_SECONDS
        with suppress(EOFError):
            while self._child.isalive() and time.monotonic() < until:
                self._read(0.05)
        kill(started, seconds=1.0)
        self._child.close(force=True)

    def _answer(self, data: bytes, row: int = 1, column: int = 1) -> None:
        """Answer what is asked in `data`; the cursor is in this row and column, counted from 1."""
        for match in ASKED.finditer(data):
            if match[2] is not None:
                answer = b"\x1b[?%s;0$y" % match[2]
            else:
                answer = b"\x1b[?62;22c" if match[1] == b"c" else b"\x1b[%d;%dR" % (row, column)
            os.write(self._child.child_fd, answer)
