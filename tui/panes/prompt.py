"""Where a person types: several lines, a history, and nothing lost while the agent works."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import TextArea

from tui.filters import strip_controls
from tui.history import PromptHistory

__all__ = ["Prompt"]

PLACEHOLDER = "Ask for something…"
PASTE_LIMIT = 8_000
_STUB = re.compile(r"\[pasted #(\d+): [^\]\n]*\]")

NEW_LINE_KEYS = frozenset({"ctrl+j", "shift+enter", "alt+enter", "ctrl+enter"})


class Prompt(TextArea):
    """A text area that sends on Enter, grows to eight lines and walks its history at its edges.

    A paste too long to edit by hand stands as one short mark in the text and is sent whole.
    """

    BINDINGS: ClassVar[list[BindingType]] = []

    @dataclass
    class Sent(Message):
        """The person pressed Enter on `text`, pastes written out."""

        text: str

    class TakeBack(Message):
        """The person wants the newest queued query back in the prompt."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(
            id=id,
            soft_wrap=True,
            show_line_numbers=False,
            highlight_cursor_line=False,
            placeholder=Content(PLACEHOLDER),
        )
        self.cursor_blink = False
        self._history = PromptHistory(None, "", str)
        self._pastes: dict[int, str] = {}
        self._queued = 0

    @property
    def value(self) -> str:
        """What would be sent: the text with its pastes written out."""
        return _STUB.sub(lambda mark: self._pastes.get(int(mark[1]), mark[0]), self.text)

    def use_history(self, history: PromptHistory) -> None:
        """Walk and feed `history` from now on."""
        for text in self._history.entries:
            history.add(text)
        self._history = history

    def show_queued(self, count: int) -> None:
        """Say how many queries wait behind the running one."""
        if count == self._queued:
            return
        self._queued = count
        self.border_subtitle = f"{count} queued · ↑ takes back" if count else ""

    def put(self, text: str) -> None:
        """Replace the text, cursor at its end."""
        self.load_text(self._fold(text))
        self.move_cursor(self.document.end)

    def action_send(self) -> None:
        """Send what was typed, unless it is only blanks."""
        text = self.value.strip()
        if not text:
            return
        self._history.add(text)
        self.load_text("")
        self._pastes.clear()
        self.post_message(self.Sent(text))

    def action_new_line(self) -> None:
        """Break the line at the cursor."""
        start, end = self.selection
        self._replace_via_keyboard("\n", start, end)

    def action_cursor_up(self, select: bool = False) -> None:
        """Move up; from the first row, to the older entry or the newest queued query."""
        if select or not self.navigator.is_first_wrapped_line(self.cursor_location):
            super().action_cursor_up(select)
        elif self._queued and not self.text:
            self.post_message(self.TakeBack())
        elif (older := self._history.older(self.value)) is not None:
            self.put(older)

    def action_cursor_down(self, select: bool = False) -> None:
        """Move down; from the last row, to the newer entry."""
        if select or not self.navigator.is_last_wrapped_line(self.cursor_location):
            super().action_cursor_down(select)
        elif (newer := self._history.newer()) is not None:
            self.put(newer)

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            self.action_send()
        elif event.key in NEW_LINE_KEYS:
            # Here and not by a binding, whose action would come after the keys that were typed behind it.
            event.stop()
            event.prevent_default()
            self.action_new_line()
        elif event.key.startswith("alt+"):
            # Textual gives Alt+2 the character 2; it is a command, not something typed.
            event.character = None
        elif event.is_printable:
            self._history.rewind()

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        text = self._fold(strip_controls_but_lines(event.text))
        if result := self._replace_via_keyboard(text, *self.selection):
            self.move_cursor(result.end_location)
            self.focus()

    def _fold(self, text: str) -> str:
        # A text area lays out every character on each key press: a long text must not be in it.
        if len(text) <= PASTE_LIMIT:
            return text
        number = len(self._pastes) + 1
        self._pastes[number] = text
        return f"[pasted #{number}: {text.count(chr(10)) + 1:,} lines, {len(text):,} characters]"


def strip_controls_but_lines(text: str) -> str:
    """Clean a paste: line breaks and tabs stay, whatever else would steer a terminal goes."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join("\t".join(strip_controls(part) for part in line.split("\t")) for line in lines)
