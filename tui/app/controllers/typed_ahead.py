"""Text that is typed where nothing takes it, and where a person was typing when a dialog opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual import events
from textual.widget import Widget

from ua_tui.tui.widgets.input_line import focused_field, takes_character, writes_character

if TYPE_CHECKING:
    from ua_tui.tui.app.app import UaTuiApp
    from ua_tui.tui.widgets.dialog import Dialog

EDITING = frozenset({"backspace", "delete", "left", "right", "home", "end", "ctrl+w", "ctrl+u"})
BREAKS = frozenset({"enter", "ctrl+j"})
SENDS = ("prompt.send", "prompt.steer")
PAUSE_SECONDS = 0.6
"""Somebody who types a sentence makes no longer pause between two keys; somebody who reads a dialog does."""
_SENTENCE = 3
"""Letters, with the one that opened the dialog: an answer has fewer."""


def is_text(event: events.Event) -> bool:
    """Whether an event adds text to the field that has the focus."""
    return isinstance(event, events.Paste) or (isinstance(event, events.Key) and writes_character(event))


class TypedAhead:
    """Gives text to the prompt, or to the field below a dialog, instead of to what has no use for it.

    - In a pane: a character that is no key there goes to the prompt, which gets the focus and what follows. So do
      the letters that were typed before it without a pause; what they did as keys stays done.
    - In a dialog that a key opened: if somebody types on without a pause, and what they type is no answer, the dialog
      closes, and the prompt gets all that was typed since that key, which is part of it if it is a character.
    - In a dialog that opened by itself: the field below, in which the person was typing, gets what was typed before the
      dialog could be read. Only text and corrections go there. Command keys such as Esc are dropped: their effect would
      not be visible below the dialog. Nothing is sent either, because it would run while the dialog waits: it may have
      been meant as an answer, and stays in the field.
    """

    def __init__(self, app: UaTuiApp) -> None:
        self._app = app
        self._last_key: tuple[float, str | None] = (float("-inf"), None)
        self._in_pane = ""
        self._opened: Dialog[Any] | None = None
        self._typed: str | None = None

    def redirect(self, event: events.Event) -> bool:
        """Give a key or a paste to the field below if it was meant for that; False if the dialog is to get it."""
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            return False
        if isinstance(event, events.Key) and self._note(event):
            return True
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

    def handle_unused(self, event: events.Key | events.Paste) -> None:
        """Handle a key without a binding, or a paste, that no widget has taken."""
        frame = self._app.frame
        if is_text(event) and not self._app.source.has_prompt and len(self._app.screen_stack) == 1:
            self._refuse(event)
        if not is_text(event) or frame.prompt.disabled:
            return
        if len(self._app.screen_stack) == 1:
            frame.show("prompt")
            text = event.text if isinstance(event, events.Paste) else self._in_pane or event.character
            frame.prompt.write(text or "")
        elif isinstance(event, events.Key):
            self._close_opened()

    def _refuse(self, event: events.Key | events.Paste) -> None:
        """Go back from a session that is only read, as from any other screen, or say that it is."""
        if isinstance(event, events.Key) and event.key in self._app.keys.of("screen.close"):
            self._app.shutdown.request()
        else:
            self._app.notify(self._app.source.refusal)

    def _note(self, event: events.Key) -> bool:
        """Note a key; returns whether it ended a dialog that was opened in the middle of a sentence."""
        text = event.character if writes_character(event) and event.character is not None else ""
        (last, opening), screen = self._last_key, self._app.screen
        in_pane = len(self._app.screen_stack) == 1 and focused_field(screen) is None
        # A chord such as Ctrl+Q is never pressed in the middle of a sentence.
        opens = text if in_pane else "" if text or event.key == "enter" else None
        self._last_key = event.time, opens
        before = self._in_pane if event.time - last <= PAUSE_SECONDS else ""
        self._in_pane = before + text if in_pane and text else ""
        if screen is not self._opened:
            self._opened, self._typed = self._requested(), opening
        if self._typed is None or event.time - last > PAUSE_SECONDS:
            self._typed = None
            return False
        self._typed += text
        if (field := focused_field(screen)) is not None:
            return bool(text) and not takes_character(field, text) and self._close_opened()
        if self._opened is None:
            return False
        # Before it is drawn, several letters are a sentence, whatever their keys are.
        is_early = bool(text) and not self._opened.is_drawn and len(self._typed) >= _SENTENCE
        return (is_early or self._opened.is_typing(event)) and self._close_opened()

    def _requested(self) -> Dialog[Any] | None:
        """The dialog on top, if the person opened it from the panes."""
        from ua_tui.tui.widgets.dialog import Dialog

        screen = self._app.screen
        if isinstance(screen, Dialog) and not screen.is_unrequested and len(self._app.screen_stack) == 2:
            return screen
        return None

    def _close_opened(self) -> bool:
        """Close the dialog that was opened in the middle of a sentence, and write the sentence into the prompt."""
        dialog, typed = self._opened, self._typed
        if dialog is None or typed is None or self._app.frame.prompt.disabled or dialog.is_closing:
            return False
        self._typed = None
        dialog.withdraw()
        self._app.frame.show("prompt")
        self._app.frame.prompt.write(typed)
        return True

    def _field_for(self, event: events.Key | events.Paste) -> Widget | None:
        from textual.widgets import TextArea

        from ua_tui.tui.widgets.dialog import Dialog

        dialog = self._app.screen
        if not isinstance(dialog, Dialog) or not (field := dialog.field_below):
            return None
        if isinstance(event, events.Key):
            sends = any(event.key in self._app.keys.of(name) for name in SENDS)
            breaks = isinstance(field, TextArea) and event.key in BREAKS and not sends
            if not (writes_character(event) or event.key in EDITING or breaks):
                return None
        return field if dialog.is_closing or dialog.returns_text() else None
