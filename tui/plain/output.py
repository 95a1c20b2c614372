"""Where plain lines go: standard output, with a prompt at its end while somebody is asked to type."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

from tui.plain.one_query import OutputLines

__all__ = ["PlainOutput"]

_AGAIN_SECONDS = 0.2


class PlainOutput:
    """Writes lines one after the other, and never over one that stands.

    Args:
        at_terminal: whether somebody types into a terminal, and is to be prompted.
        rings: whether the bell may be rung.
        send: takes what is written; standard output by default.
    """

    def __init__(
        self, *, at_terminal: bool, rings: bool, send: Callable[[bytes], None] | None = None
    ) -> None:
        self.lines = OutputLines()
        self._at_terminal = at_terminal
        self._rings = rings
        self._send = send or self.lines.send
        self._encoding = sys.stdout.encoding or "utf-8"
        self._prompt = ""
        self._stands = False

    def write(self, line: str) -> None:
        """Write a line; where a prompt stands, below it, and the prompt again when nothing more comes."""
        if self._stands:
            self._put("\n")
            self._stands = False
            asyncio.get_running_loop().call_later(_AGAIN_SECONDS, self._prompt_again)
        self._put(line + "\n")

    def ask(self, prompt: str) -> None:
        """Prompt for a line, where somebody types."""
        if self._at_terminal:
            self._prompt = prompt
            self._prompt_again()

    def answered(self) -> None:
        """Note that what was prompted for was typed, or is not wanted any more."""
        self._prompt = ""
        self._stands = False

    def interrupt_line(self) -> None:
        """Begin a line of its own behind what the terminal shows of a key such as Ctrl+C."""
        if self._at_terminal and not self._stands:
            self._put("\n")

    def give_up(self) -> None:
        """End the line of a prompt that nobody answered."""
        if self._stands:
            self._put("\n")
        self._prompt = ""
        self._stands = False

    def ring(self) -> None:
        """Ring the bell, for whoever does not look at a terminal."""
        if self._rings:
            self._put("\a")

    def _prompt_again(self) -> None:
        if self._prompt and not self._stands:
            self._put(self._prompt)
            self._stands = True

    def _put(self, text: str) -> None:
        self._send(text.encode(self._encoding, "replace"))
