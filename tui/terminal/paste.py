"""What is pasted is text, whatever is in it: no key, no click and no answer of the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.drivers import linux_driver
from textual.message import Message

__all__ = ["PasteGuard", "guard_pastes"]

# Line ends and tabs are text; every other control character could begin what the parser takes for a key.
_CONTROLS: Final = dict.fromkeys(
    code for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n\r"
)


class PasteGuard:
    """Takes the control characters out of what stands between the marks of a bracketed paste.

    Some terminals and multiplexers hand a paste on with its escapes. Fed piece by piece with what is read from the
    terminal; a mark may be cut in two by the end of a piece. What is outside a paste is returned as it came, at once.
    """

    def __init__(self) -> None:
        self._pasting = False
        self._before = ""
        self._held = ""

    def __call__(self, data: str) -> str:
        """Return the next piece without the controls of a paste; empty when all of it must wait for what follows."""
        out: list[str] = []
        data = self._held + data
        self._held = ""
        while data:
            data = self._inside(data, out) if self._pasting else self._outside(data, out)
        return "".join(out)

    def _outside(self, data: str, out: list[str]) -> str:
        """Let through what comes before a paste; return what follows its first mark."""
        seen = self._before + data
        at = seen.find(BRACKETED_PASTE_START)
        if at < 0:
            out.append(data)
            # A lone Esc is a key too and cannot be held back: the start of a mark is only remembered.
            self._before = seen[-(len(BRACKETED_PASTE_START) - 1) :]
            return ""
        self._pasting, self._before = True, ""
        end = at + len(BRACKETED_PASTE_START) - (len(seen) - len(data))
        out.append(data[:end])
        return data[end:]

    def _inside(self, data: str, out: list[str]) -> str:
        """Clean what is pasted; return what follows its last mark."""
        at = data.find(BRACKETED_PASTE_END)
        if at >= 0:
            end = at + len(BRACKETED_PASTE_END)
            out.append(data[:at].translate(_CONTROLS) + BRACKETED_PASTE_END)
            self._pasting = False
            return data[end:]
        kept = next(
            (n for n in range(len(BRACKETED_PASTE_END) - 1, 0, -1) if data.endswith(BRACKETED_PASTE_END[:n])),
            0,
        )
        self._held = data[len(data) - kept :]
        out.append(data[: len(data) - kept].translate(_CONTROLS))
        return ""


class _GuardedParser(XTermParser):
    """Reads the terminal as Textual does, with every paste cleaned first."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._guard = PasteGuard()

    def feed(self, data: str) -> Iterable[Message]:
        """Hand on a piece; the empty one, which says that the terminal is gone, stays as it is."""
        clean = self._guard(data)
        if data and not clean:
            return ()
        return super().feed(clean)


def guard_pastes() -> None:
    """Have the terminal read by a parser that takes nothing in a paste for a key."""
    linux_driver.XTermParser = _GuardedParser  # type: ignore[attr-defined]  # Textual offers no other way in
