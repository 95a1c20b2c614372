"""Changes to Textual's terminal driver: plain pastes and Esc, rare wake-ups, and an end when the terminal is gone."""

from __future__ import annotations

import fcntl
import os
import re
import selectors
import signal
import sys
import termios
import time
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Final

import msgspec
from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.drivers import linux_driver
from textual.drivers._writer_thread import WriterThread
from textual.message import Message

# Line breaks and tabs are text; every other control character could start a key sequence.
_CONTROLS: Final = dict.fromkeys(
    code for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n\r"
)
# Sequences of terminals begin with the left-out characters; Alt+x is Esc and one character in the same piece.
_TEXT: Final = re.compile(r"(?:[^\x00-\x1f\x7f-\x9f\[\]OP_\\]|P(?=[a-z ]))")
_ESCAPE_AND_TEXT: Final = re.compile(rf"\x1b(?={_TEXT.pattern}[^\x00-\x1f\x7f-\x9f])")
_ESCAPE: Final = "\x1b[27u"
"""The key Esc, in a form that begins no other sequence."""
_ENTERED: Final = re.compile(r"\A([^\n\x1b]*)\n+(?=\x1b|\Z)")
"""One line that was typed ahead. Several may be pasted text, of which no line is to be sent."""


class PasteGuard(msgspec.Struct, eq=False):
    """Removes the control characters between the marks of a bracketed paste.

    Some terminals and multiplexers pass escape sequences in a paste. Input comes in pieces, and a mark may be split
    between two of them. Input outside a paste is returned unchanged and at once.
    """

    _pasting: bool = False
    _before: str = ""
    _buffer: str = ""

    def __call__(self, data: str) -> str:
        """Return the next piece without the control characters of a paste; empty if all of it is buffered."""
        out: list[str] = []
        data = self._buffer + data
        self._buffer = ""
        while data:
            data = self._inside(data, out) if self._pasting else self._outside(data, out)
        return "".join(out)

    def _outside(self, data: str, out: list[str]) -> str:
        """Pass on what comes before a paste; return what follows its start mark."""
        seen = self._before + data
        at = seen.find(BRACKETED_PASTE_START)
        if at < 0:
            out.append(data)
            # A lone Esc is a key, too, and cannot be buffered: the start of a mark is only remembered.
            self._before = seen[-(len(BRACKETED_PASTE_START) - 1) :]
            return ""
        self._pasting, self._before = True, ""
        end = at + len(BRACKETED_PASTE_START) - (len(seen) - len(data))
        out.append(data[:end])
        return data[end:]

    def _inside(self, data: str, out: list[str]) -> str:
        """Clean a paste; return what follows its end mark."""
        at = data.find(BRACKETED_PASTE_END)
        if at >= 0:
            end = at + len(BRACKETED_PASTE_END)
            out.append(data[:at].translate(_CONTROLS) + BRACKETED_PASTE_END)
            self._pasting = False
            return data[end:]
        partial = next(
            (n for n in range(len(BRACKETED_PASTE_END) - 1, 0, -1) if data.endswith(BRACKETED_PASTE_END[:n])),
            0,
        )
        self._buffer = data[len(data) - partial :]
        out.append(data[: len(data) - partial].translate(_CONTROLS))
        return ""


class _GuardedParser(XTermParser):
    """Textual's parser, with every paste cleaned first, and an Esc that text follows at once taken for the key.

    Textual would take both for one sequence, and then for Alt with the first letter, or for a caret. Of Enter a
    terminal makes a line break until this program reads it: it is Enter again behind a line that was typed ahead.
    """

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._guard = PasteGuard()
        self._ends_in_escape = False
        self._is_typed_ahead = _has_input()

    def feed(self, data: str) -> Iterable[Message]:
        """Parse a piece; an empty one, which means that the terminal is gone, is passed on."""
        if self._is_typed_ahead:
            self._is_typed_ahead, data = False, _ENTERED.sub(r"\1\r", data)
        clean = self._guard(data)
        if data and not clean:
            return ()
        if self._ends_in_escape and _TEXT.match(clean):
            clean = _ESCAPE[1:] + clean
        self._ends_in_escape = clean.endswith("\x1b")
        return super().feed(_ESCAPE_AND_TEXT.sub(_ESCAPE, clean))

    def tick(self) -> Iterable[Message]:
        """Give what nothing more belongs to."""
        for message in super().tick():
            self._ends_in_escape = False
            yield message


def _has_input() -> bool:
    """Whether something was typed that this program has not read."""
    try:
        waiting = fcntl.ioctl(sys.__stdin__ or -1, termios.FIONREAD, bytes(4))
    except (OSError, ValueError):
        return False
    return any(waiting)


def guard_pastes() -> None:
    """Make Textual read the terminal with this parser."""
    linux_driver.XTermParser = _GuardedParser  # type: ignore[attr-defined]  # Textual offers no other way in


class DisconnectWriter(WriterThread):
    """Writes to the terminal; after a failure or its end, further output is discarded.

    Textual's own thread ends at the first error. Then its queue fills up, the event loop waits for it forever, and
    the hangup signal is never handled. After the end of the thread another program has the terminal.
    """

    def write(self, text: str) -> None:
        """Write text in the thread, if it runs."""
        if self.is_alive():
            super().write(text)

    def run(self) -> None:
        """Write until the end; if the terminal is gone, send SIGHUP to this process once."""
        try:
            super().run()
        except (OSError, ValueError):
            os.kill(os.getpid(), signal.SIGHUP)
            while self._queue.get() is not None:
                pass


class InputSelector(selectors.SelectSelector):
    """Waits for half a second at a time if nothing was typed for two seconds.

    Textual's input thread waits for a tenth of a second: it must notice that an escape sequence goes on no further,
    which follows a key, and that it is to end, which mostly follows one.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._last = clock()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for input; without a file to read, as long as requested."""
        if self.get_map() and timeout is not None and self._clock() - self._last > 2.0:
            timeout = max(timeout, 0.5)
        found = super().select(timeout)
        if found:
            self._last = self._clock()
        return found


def adapt_driver() -> None:
    """Make Textual's threads write and wait this way."""
    # Textual offers no other way in.
    linux_driver.WriterThread = DisconnectWriter  # type: ignore[attr-defined]
    ours = SimpleNamespace(SelectSelector=InputSelector, EVENT_READ=selectors.EVENT_READ)
    linux_driver.selectors = ours  # type: ignore[attr-defined, assignment]
