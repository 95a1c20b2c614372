"""Lines of standard input, read in a thread beside the event loop."""

from __future__ import annotations

import asyncio
import codecs
import os
import termios
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import msgspec

MOST_IN_LINE = 1 << 20
"""Characters of a line without an end; more become another line."""


@contextmanager
def hidden_input(descriptor: int) -> Iterator[None]:
    """Do not show what is typed at a terminal within the context."""
    before = termios.tcgetattr(descriptor)
    hidden = [*before]
    hidden[3] = before[3] & ~termios.ECHO | termios.ECHONL
    termios.tcsetattr(descriptor, termios.TCSADRAIN, hidden)
    try:
        yield
    finally:
        # A terminal that is gone needs nothing back.
        with suppress(termios.error):
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


class TypedLines(msgspec.Struct, eq=False):
    """Reads lines from a file descriptor as they come; belongs to the running event loop.

    A thread reads it, because regular files do not report readiness. It does not use Python's own buffer, whose lock
    would delay the end of the program while a read is pending.

    Args:
        descriptor: what is read.
        interrupt: a character that discards the line it is in; none if empty.
        interrupted: called for each of them, in the event loop.
    """

    descriptor: int
    interrupt: str = ""
    interrupted: Callable[[], object] | None = None
    _loop: asyncio.AbstractEventLoop = msgspec.field(default_factory=asyncio.get_running_loop)
    _lines: deque[str] = msgspec.field(default_factory=deque)
    _came: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    _ended: bool = False

    def start(self) -> None:
        """Start reading."""
        threading.Thread(target=self._read, name="typed", daemon=True).start()

    @property
    def available(self) -> int:
        """How many lines are waiting."""
        return len(self._lines)

    async def next_line(self, behind: int = 0) -> str | None:
        """Wait for a line, skipping `behind` earlier ones; None if no more come."""
        while len(self._lines) <= behind and not self._ended:
            self._came.clear()
            await self._came.wait()
        if len(self._lines) <= behind:
            return None
        line = self._lines[behind]
        del self._lines[behind]
        return line

    def put_back(self, line: str) -> None:
        """Make `line` the next one again."""
        self._lines.appendleft(line)

    def _read(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        rest = ""
        while True:
            try:
                data = os.read(self.descriptor, 65536)
            except OSError:
                # The terminal is gone.
                data = b""
            text = rest + decoder.decode(data, final=not data)
            *broken, text = text.split(self.interrupt) if self.interrupt else [text]
            *lines, rest = text.split("\n")
            if len(rest) > MOST_IN_LINE:
                lines, rest = [*lines, rest], ""
            if not data and rest:
                lines.append(rest)
            try:
                for part in broken:
                    self._loop.call_soon_threadsafe(self._break_off, part.split("\n")[:-1])
                self._loop.call_soon_threadsafe(self._add, lines, not data)
            except RuntimeError:
                # The loop has closed.
                return
            if not data:
                return

    def _break_off(self, lines: list[str]) -> None:
        self._add(lines, False)
        if self.interrupted is not None:
            self.interrupted()

    def _add(self, lines: list[str], ended: bool) -> None:
        self._lines.extend(line.rstrip("\r") for line in lines)
        self._ended = ended
        self._came.set()
