"""Makes every paste plain text: nothing in it acts as a key, a click or an answer of the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.drivers import linux_driver
from textual.message import Message

# Line breaks and tabs are text; every other control character could start a key sequence.
_CONTROLS: Final = dict.fromkeys(
    code for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n\r"
)


class PasteGuard:
    """Removes the control characters between the marks of a bracketed paste.

    Some terminals and multiplexers pass escape sequences in a paste. Input comes in pieces, and a mark may be split
    between two of them. Input outside a paste is returned unchanged and at once.
    """

    def __init__(self) -> None:
        self._pasting = False
        self._before = ""
        self._buffer = ""

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
    """Textual's parser, with every paste cleaned first."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._guard = PasteGuard()

    def feed(self, data: str) -> Iterable[Message]:
        """Parse a piece; an empty one, which means that the terminal is gone, is passed on."""
        clean = self._guard(data)
        if data and not clean:
            return ()
        return super().feed(clean)


def guard_pastes() -> None:
    """Make Textual read the terminal with this parser."""
    linux_driver.XTermParser = _GuardedParser  # type: ignore[attr-defined]  # Textual offers no other way in
