"""The real program in a real pseudo-terminal, seen through a terminal model."""

from __future__ import annotations

import codecs
import os
import signal
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pexpect
import pyte

from tests.e2e.at_work import cpu_seconds, wants_to_run
from tests.e2e.running import environment, program
from tests.waiting import PATIENCE, wait_until

CONVERSATION, TRACE, OBSERVERS, WORKSPACE = "\x1bOQ", "\x1bOR", "\x1bOS", "\x1b[15~"
"""The keys of the panes."""
LARGEST_READ = 1 << 20
_STILL = 0.15
RESTORED = (b"\x1b[?1049l", b"\x1b[?1003l", b"\x1b[?2004l", b"\x1b[?25h")
"""What leaves the terminal as it was: its screen, its mouse, its pastes, its cursor."""


class Terminal:
    """A running program, what it wrote, and what stands on its screen."""

    def __init__(self, child: pexpect.spawn[Any], columns: int, rows: int) -> None:
        self.child = child
        self.written = b""
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._text: str | None = None

    @property
    def _pid(self) -> int:
        assert self.child.pid is not None
        return self.child.pid

    @property
    def text(self) -> str:
        """The screen as lines of text."""
        if self._text is None:
            # As `display` of the screen, which measures every character again and takes most of the time.
            columns, buffer = range(self._screen.columns), self._screen.buffer
            self._text = "\n".join(
                "".join(line[x].data for x in columns)
                for line in map(buffer.__getitem__, range(self._screen.lines))
            )
        return self._text

    @property
    def output(self) -> str:
        """All that was written until now; a character of which only a part has come is left out."""
        return codecs.getincrementaldecoder("utf-8")().decode(self.written)

    def read(self, wait: float = 0.1) -> bool:
        """Read all that the program has written; False once it has ended."""
        data = b""
        try:
            # A picture of the screen comes in several pieces, none of which is looked at alone.
            while len(data) < LARGEST_READ:
                data += self.child.read_nonblocking(65536, timeout=0 if data else wait)
        except pexpect.TIMEOUT:
            pass
        except pexpect.EOF:
            if not data:
                return False
        if data:
            self.written += data
            self._stream.feed(data)
            self._text = None
        return True

    def wait_for(self, *wanted: str | Callable[[str], bool], within: float = PATIENCE) -> str:
        """Read until everything wanted stands on the screen; returns the screen."""
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            alive = self.read()
            text = self.text
            if all(each(text) if callable(each) else each in text for each in wanted):
                return text
            assert alive, f"the program ended; the last screen was\n{text}"
        raise AssertionError(f"{wanted!r} did not come; the screen is\n{self.text}\n{self._stacks()}")

    def wait_until(self, holds: Callable[[], bool], within: float = PATIENCE) -> None:
        """Read until something holds that is not on the screen."""
        self.wait_for(lambda _: holds(), within=within)

    def press_until(
        self, key: str, wanted: Callable[[str], bool] | None = None, *, within: float = PATIENCE
    ) -> None:
        """Press a key until it was taken, as a dialog takes none in its first moments.

        Without `wanted` it is taken when the program goes. `wanted` is what the key does at once: one that is pressed
        again after it was taken does something else.
        """
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            with suppress(OSError):
                # Whoever is gone takes no more.
                self.type(key)
            # By the clock, as a screen that is drawn often is read often; but not while the program still works on it.
            until = time.monotonic() + 3.0
            while time.monotonic() < until or (wants_to_run(self._pid) and time.monotonic() < deadline):
                if not self.read() or (wanted is not None and wanted(self.text)):
                    return
                if wanted is None and self.restored:
                    return
        raise AssertionError(f"{key!r} was not taken; the screen is\n{self.text}\n{self._stacks()}")

    def type(self, keys: str) -> None:
        """Send keys as a terminal would."""
        self.child.send(keys.encode())

    def settle(self, within: float = 60.0) -> None:
        """Read until the program has nothing left to do, which on a busy machine may take it a while.

        It wrote nothing, hardly computed and does not wait for a core; one that always moves is left at last.
        """
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            written, computed = len(self.written), cpu_seconds(self._pid)
            until = time.monotonic() + _STILL
            while time.monotonic() < until:
                if not self.read(_STILL / 3):
                    return
            idle = cpu_seconds(self._pid) - computed < _STILL / 4
            if len(self.written) == written and idle and not wants_to_run(self._pid):
                return

    def resize(self, columns: int, rows: int) -> None:
        """Change the size, as a person does who drags the window's corner."""
        self._screen.resize(rows, columns)
        self._text = None
        self.child.setwinsize(rows, columns)

    @property
    def restored(self) -> bool:
        """Whether the terminal is as it was before the program, or as it was given to another one."""
        return all(self._last_is(sequence) for sequence in RESTORED)

    @property
    def taken(self) -> bool:
        """Whether the terminal is the program's: nothing of it as it was, and every key sent as it is pressed."""
        cooked = termios.ICANON | termios.ECHO | termios.ISIG
        raw = not termios.tcgetattr(self.child.child_fd)[3] & cooked
        return raw and not any(self._last_is(sequence) for sequence in RESTORED)

    @property
    def cooked(self) -> bool:
        """Whether the terminal takes lines, shows what is typed, and makes signals of Ctrl+C and Ctrl+Z."""
        cooked = termios.ICANON | termios.ECHO | termios.ISIG
        modes: int = termios.tcgetattr(self.child.child_fd)[3]
        return modes & cooked == cooked

    def _stacks(self) -> str:
        """End the program of a failed test; returns its state and what each of its threads was doing."""
        before, state = len(self.written), ""
        with suppress(OSError):
            state = Path(f"/proc/{self._pid}/status").read_text().partition("State:")[2].partition("\n")[0]
            os.kill(self._pid, signal.SIGABRT)
        # One that is stopped says nothing.
        for _ in range(20):
            if not self.read(0.5):
                break
        return f"{state}\n{self.written[before:].decode(errors='replace')}"

    def _last_is(self, sequence: bytes) -> bool:
        opposite = sequence[:-1] + (b"h" if sequence.endswith(b"l") else b"l")
        return self.written.rfind(sequence) > self.written.rfind(opposite)

    def end(self, within: float = PATIENCE) -> int:
        """Read to the end of the program and return its exit code, or 128 + the signal that ended it."""
        deadline = time.monotonic() + within
        while self.read():
            assert time.monotonic() < deadline, f"the program did not end; the screen is\n{self.text}"
        # Its terminal is closed a moment before it has ended.
        wait_until(lambda: not self.child.isalive())
        self.child.close()
        if self.child.exitstatus is not None:
            return int(self.child.exitstatus)
        return 128 + int(self.child.signalstatus or 0)

    def quit(self) -> None:
        """Press Ctrl+Q, which asks nothing as long as nothing runs, and see that nothing broke or was left changed."""
        self.type("\x11")
        code = self.end()
        assert code == 0, f"exit code {code}: {self.output[-500:]!r}"
        assert self.restored
        assert b"Traceback" not in self.written


@contextmanager
def terminal(
    base: Path,
    *args: str,
    columns: int = 120,
    rows: int = 40,
    env: dict[str, str] | None = None,
    command: str | None = None,
) -> Iterator[Terminal]:
    """Start `ua-tui`, or another command, with these arguments in a pseudo-terminal of this size."""
    child = pexpect.spawn(
        command or program(),
        list(args),
        cwd=str(base),
        # A program that is aborted says what its threads were doing.
        env={**(env or environment(base)), "PYTHONFAULTHANDLER": "1"},
        dimensions=(rows, columns),
        timeout=PATIENCE,
    )
    child.delaybeforesend = None
    try:
        yield Terminal(child, columns, rows)
    finally:
        try:
            child.close(force=True)
        except pexpect.ExceptionPexpect:
            # On a busy machine a program that was killed is gone a moment later.
            wait_until(lambda: not child.isalive())
