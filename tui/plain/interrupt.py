"""Ctrl+C as a key of this program alone: the terminal would send its signal to everything the session started."""

from __future__ import annotations

import os
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

__all__ = ["InterruptKey", "interrupt_key"]


class InterruptKey:
    """The key that would interrupt, made one that ends a line, so that it is read at once.

    Attributes:
        character: what is read for it; empty when the terminal has no such key.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._before: list[Any] = termios.tcgetattr(descriptor)
        key = self._before[6][termios.VINTR]
        disabled = os.fpathconf(descriptor, "PC_VDISABLE").to_bytes(1, "big")
        self._disabled = disabled
        self._key: bytes = disabled if not isinstance(key, bytes) else key
        self.character = "" if self._key == disabled else self._key.decode("latin-1")

    def take(self) -> None:
        """Take the key from the terminal; a shell that had the terminal meanwhile gave it back."""
        if self.character:
            modes = [*self._before[:6], list(self._before[6])]
            modes[6][termios.VINTR] = self._disabled
            modes[6][termios.VEOL] = self._key
            termios.tcsetattr(self._descriptor, termios.TCSANOW, modes)

    def give_back(self) -> None:
        """Leave the terminal as it was."""
        # A terminal that is gone needs nothing back.
        with suppress(termios.error):
            termios.tcsetattr(self._descriptor, termios.TCSANOW, self._before)


@contextmanager
def interrupt_key(descriptor: int, *, at_terminal: bool) -> Iterator[InterruptKey | None]:
    """Have Ctrl+C read as a character for as long as the context lasts; None without a terminal."""
    if not at_terminal:
        yield None
        return
    key = InterruptKey(descriptor)
    key.take()
    try:
        yield key
    finally:
        key.give_back()
