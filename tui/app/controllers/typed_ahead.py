"""Text that stays where a person was typing when a dialog opened by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events
from textual.widget import Widget

from tui.widgets.text_field import focused_field

if TYPE_CHECKING:
    from tui.app.port import AppPort

__all__ = ["TypedAhead", "is_text"]

EDITING = frozenset({"backspace", "delete", "left", "right", "home", "end", "ctrl+w", "ctrl+u"})
BREAKS = frozenset({"enter", "ctrl+j"})
SENDS = ("prompt.send", "prompt.steer")


def is_text(event: events.Event) -> bool:
    """Whether an event adds text to the field that has the focus."""
    return isinstance(event, events.Paste) or (isinstance(event, events.Key) and event.is_printable)


class TypedAhead:
    """Gives the field below a dialog what was typed before the dialog could be read.

    That is the prompt, or another field that had the focus. Only text and corrections go there. Command keys such as
    Esc are dropped: their effect would not be visible below the dialog. Nothing is sent either, because it would run
    while the dialog waits: it may have been meant as an answer, and stays in the field.
    """

    def __init__(self, app: AppPort) -> None:
        self._app = app

    def redirect(self, event: events.Event) -> bool:
        """Give a key or a paste to the field below if it was meant for that; False if the dialog is to get it."""
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            return False
        field = self._field_for(event)
        if field is None:
            return False
        key = event.key if isinstance(event, events.Key) else ""
        bindings = field._bindings.key_to_bindings.get(key, []) if key in EDITING else []
        if bindings:
            # Bindings belong to the screen on top, so the action is run by name, after the keys that came before.
            field.call_later(field.run_action, bindings[0].action)
        else:
            field._forward_event(event)
        return True

    def _field_for(self, event: events.Key | events.Paste) -> Widget | None:
        from textual.widgets import TextArea

        from tui.widgets.dialog import Dialog

        dialog = self._app.screen
        if not isinstance(dialog, Dialog) or not (field := dialog.field_below):
            return None
        if isinstance(event, events.Key):
            breaks = isinstance(field, TextArea) and event.key in BREAKS and not self._sends(event)
            if not (event.is_printable or event.key in EDITING or breaks):
                return None
        elif dialog.is_unrequested and focused_field(dialog) is None:
            # A paste cannot be an answer.
            return field
        return field if dialog.returns_text() else None

    def _sends(self, event: events.Key) -> bool:
        return any(event.key in self._app.keys.of(name) for name in SENDS)
