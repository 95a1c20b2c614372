"""Typing that continues in the prompt when a dialog opens by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual import events
from textual.screen import Screen

if TYPE_CHECKING:
    from tui.app.port import AppPort

__all__ = ["TypedAhead"]

EDITING = {
    "backspace": "delete_left",
    "delete": "delete_right",
    "left": "cursor_left",
    "right": "cursor_right",
    "home": "cursor_line_start",
    "end": "cursor_line_end",
    "ctrl+w": "delete_word_left",
    "ctrl+u": "delete_to_start_of_line",
}
TYPED = frozenset({"enter", "ctrl+j"})
SENDS = ("prompt.send", "prompt.steer")


class TypedAhead:
    """Gives the prompt what was typed before a dialog above it could be read.

    Only text and corrections go there. Command keys such as Esc are dropped: their effect would not be visible below
    the dialog. Nothing is sent either, because it would run while the dialog waits: it may have been meant as an
    answer, and stays in the prompt.
    """

    def __init__(self, app: AppPort) -> None:
        self._app = app

    def redirect(self, event: events.Event) -> bool:
        """Give a key or a paste to the prompt if it was meant for that; False if the dialog is to get it."""
        if (
            not isinstance(event, events.Key | events.Paste)
            or event.is_forwarded
            or not self._is_for_prompt(event)
        ):
            return False
        prompt = self._below.focused
        if prompt is None:
            return True
        if isinstance(event, events.Key) and event.key in EDITING:
            # Bindings belong to the screen on top, so the action is run by name, after the keys that came before.
            prompt.call_later(prompt.run_action, EDITING[event.key])
        else:
            prompt._forward_event(event)
        return True

    @property
    def _below(self) -> Screen[Any]:
        return self._app.screen_stack[-2]

    def _is_for_prompt(self, event: events.Key | events.Paste) -> bool:
        from tui.panes.prompt.pane import Prompt
        from tui.widgets.dialog import Dialog

        dialog = self._app.screen
        if len(self._app.screen_stack) < 2 or not isinstance(dialog, Dialog):
            return False
        if not isinstance(self._below.focused, Prompt):
            return False
        if isinstance(event, events.Key):
            is_text = event.is_printable or event.key in EDITING or event.key in TYPED
            if not is_text or self._sends(event):
                return False
        return dialog.passes_typing_on

    def _sends(self, event: events.Key) -> bool:
        return any(event.key in self._app.keys.of(name) for name in SENDS)
