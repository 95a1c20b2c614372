"""Ctrl+C as a key of this program only: its signal would reach everything that the session started."""

from __future__ import annotations

import os
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any


class InterruptKey:
    """The interrupt key, changed to a key that ends a line, so that it is read at once.

    Attributes:
        character: what is read for it; empty if the terminal has no such key.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._before: list[Any] = termios.tcgetattr(descriptor)
        key = self._before[6][termios.VINTR]
        disabled = os.fpathconf(descriptor, "PC_VDISABLE").to_bytes(1, "big")
        self._disabled = disabled
        self._key: bytes = disabled if not isinstance(key, bytes) else key
        self.character = "" if self._key == disabled else self._key.decode("latin-1")

    def capture(self) -> None:
        """Capture the key; do so again when a shell had the terminal meanwhile, and restored it."""
        if self.character:
            modes = [*self._before[:6], list(self._before[6])]
            modes[6][termios.VINTR] = self._disabled
            modes[6][termios.VEOL] = self._key
            termios.tcsetattr(self._descriptor, termios.TCSANOW, modes)

    def release(self) -> None:
        """Leave the terminal as it was."""
        # A terminal that is gone needs nothing back.
        with suppress(termios.error):
            termios.tcsetattr(self._descriptor, termios.TCSANOW, self._before)


@contextmanager
def interrupt_key(descriptor: int, *, at_terminal: bool) -> Iterator[InterruptKey | None]:
    """Read Ctrl+C as a character within the context; None without a terminal."""
    if not at_terminal:
        yield None
        return
    key = InterruptKey(descriptor)
    key.capture()
    try:
        yield key
    finally:
        key.release()
