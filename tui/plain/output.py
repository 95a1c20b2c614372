"""Standard output as plain lines, with a prompt at the end while input is expected."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

import msgspec

from ua_tui.tui.plain.one_query import OutputLines

_AGAIN_SECONDS = 0.2


class PlainOutput(msgspec.Struct, eq=False, kw_only=True):
    """Writes lines one after the other, and never over an earlier one.

    Args:
        at_terminal: whether somebody types into a terminal, and is to be prompted.
        rings: whether the bell may be rung.
        lines: standard output.
        call_later: calls a function after some seconds; the running event loop's by default.
    """

    at_terminal: bool
    rings: bool
    call_later: Callable[[float, Callable[[], None]], object] | None = None
    lines: OutputLines = msgspec.field(default_factory=OutputLines)
    _prompt: str = ""
    _is_prompting: bool = False

    def write(self, line: str) -> None:
        """Write a line; below a prompt if there is one, which is written again when no more lines follow."""
        if self._is_prompting:
            self._put("\n")
            self._is_prompting = False
            call_later = self.call_later or asyncio.get_running_loop().call_later
            call_later(_AGAIN_SECONDS, self._prompt_again)
        self._put(line + "\n")

    def ask(self, prompt: str) -> None:
        """Write a prompt, if there is a terminal."""
        if self.at_terminal:
            self._prompt = prompt
            self._prompt_again()

    def answered(self) -> None:
        """Note that the prompt was answered, or is no longer needed."""
        self._prompt = ""
        self._is_prompting = False

    def interrupt_line(self) -> None:
        """Start a new line after what the terminal shows for a key such as Ctrl+C."""
        if self.at_terminal and not self._is_prompting:
            self._put("\n")

    def give_up(self) -> None:
        """End the line of an unanswered prompt."""
        if self._is_prompting:
            self._put("\n")
        self.answered()

    def ring(self) -> None:
        """Ring the bell for a user who is not looking."""
        if self.rings:
            self._put("\a")

    def _prompt_again(self) -> None:
        if self._prompt and not self._is_prompting:
            self._put(self._prompt)
            self._is_prompting = True

    def _put(self, text: str) -> None:
        self.lines.send(text.encode(sys.stdout.encoding or "utf-8", "replace"))
