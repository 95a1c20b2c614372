"""What somebody is typing goes on into the prompt when a question comes up over it."""

from __future__ import annotations

from textual import events
from textual.app import App

from tui.keys.keymap import keys_of

__all__ = ["TypedAheadApp"]

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
SENDS = frozenset({"send", "steer"})


class TypedAheadApp(App[str]):
    """An application whose dialogs leave to the prompt what was typed before they could be read.

    Only what a person writes and corrects goes there. Keys that command, such as Esc, are for nobody: what they
    would have done is not seen below the dialog. Nor is anything sent, which would run while the question waits:
    it may have been meant for an answer, and stays in the prompt.
    """

    async def on_event(self, event: events.Event) -> None:
        """Give a key or a paste to the prompt while the dialog on top leaves it to that."""
        if (
            isinstance(event, events.Key | events.Paste)
            and not event.is_forwarded
            and self._is_for_prompt(event)
        ):
            self._type_on(event)
        else:
            await super().on_event(event)

    def _is_for_prompt(self, event: events.Key | events.Paste) -> bool:
        from tui.panes.prompt.pane import Prompt
        from tui.widgets.dialog import Dialog

        if len(self.screen_stack) < 2 or not isinstance(self.screen, Dialog):
            return False
        if not isinstance(self.screen_stack[-2].focused, Prompt):
            return False
        if isinstance(event, events.Key) and not (
            event.is_printable or event.key in EDITING or event.key in TYPED
        ):
            return False
        if isinstance(event, events.Key) and self._sends(event):
            return False
        return self.screen.passes_typing_on

    def _sends(self, event: events.Key) -> bool:
        return (keys_of(self.app).deed("prompt", event.key) or "") in SENDS

    def _type_on(self, event: events.Key | events.Paste) -> None:
        prompt = self.screen_stack[-2].focused
        if prompt is None:
            return
        if isinstance(event, events.Key) and event.key in EDITING:
            # Bindings belong to the screen on top, so it is done by name; and behind the keys that came before.
            prompt.call_later(prompt.run_action, EDITING[event.key])
        else:
            prompt._forward_event(event)
