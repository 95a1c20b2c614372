"""A line to type in: what is pasted is normalised, and hidden text can be neither read nor copied."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from textual import events
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input


def focused_field(screen: Screen[Any]) -> Widget | None:
    """The widget of a screen that has the focus and takes typed text; None if a letter would be a command."""
    focused = screen.focused
    return focused if focused is not None and focused.check_consume_key("a", "a") else None


def writes_character(event: events.Key) -> bool:
    """Whether a key writes its character; a letter with Alt has one in Textual, too, but is a command."""
    return event.is_printable and not event.key.startswith("alt+")


def takes_character(field: Widget, character: str) -> bool:
    """Whether a character can be part of what is typed into a field: a field for amounts takes no letters."""
    restrict: str | None = getattr(field, "restrict", None)
    return restrict is None or re.fullmatch(restrict, character) is not None


class InputLine(Input):
    """A line of a form.

    Args:
        text: the initial text.
        example: what is shown while it is empty.
        normalize: makes one line of what was pasted, and of what was typed.
        hidden: whether the text is a secret.
    """

    def __init__(self, text: str, example: str, normalize: Callable[[str], str], *, hidden: bool) -> None:
        super().__init__(text, example, password=hidden, compact=True, select_on_focus=False)
        self._normalize = normalize

    @property
    def text(self) -> str:
        """The normalised input."""
        return self._normalize(self.value)

    def _on_paste(self, event: events.Paste) -> None:
        # Textual's own handler uses the first line, which is empty if a line break was copied before the key.
        event.prevent_default()
        event.stop()
        text = self._normalize(event.text)
        if self.selection.is_empty:
            self.insert_text_at_cursor(text)
        else:
            self.replace(text, *self.selection)

    def action_copy(self) -> None:
        """Copy the selection, unless it is hidden."""
        if not self.password:
            super().action_copy()

    def action_cut(self) -> None:
        """Cut the selection; hidden text is only deleted."""
        if self.password:
            self.delete_selection()
        else:
            super().action_cut()
