"""The text that a person types into the border of a list, key by key, to search or to filter."""

from __future__ import annotations

from collections.abc import Callable

from textual import events

from ua_tui.core.text import clean_line


class TypedQuery:
    """Edits one line of text: printable keys, Backspace and Ctrl+U; Enter accepts it, Esc clears it.

    Args:
        name: what it is called, such as `filter`.
        changed: is called with the text whenever it changes.
        accepted: is called when Enter ends the typing.
        cleared: is called when Esc is pressed, with whether the text was still being typed.
    """

    def __init__(
        self,
        name: str,
        *,
        changed: Callable[[str], None],
        accepted: Callable[[], None],
        cleared: Callable[[bool], None],
    ) -> None:
        self.name = name
        self.text = ""
        self.typing = False
        self._changed = changed
        self._accepted = accepted
        self._cleared = cleared

    @property
    def active(self) -> bool:
        """Whether there is a text, or one is being typed."""
        return self.typing or bool(self.text.strip())

    @property
    def shown(self) -> str:
        """The text for the border, with a caret while it is typed."""
        text = clean_line(self.text, 30) if self.text.strip() else self.text
        return text + ("▏" if self.typing else "")

    def edit(self, text: str) -> None:
        """Replace the text."""
        self.text = text[:200]
        self._changed(self.text)

    def handle_key(self, event: events.Key) -> None:
        """Handle a key while the text is typed, or Esc while there is a text; leave others alone."""
        if not self.typing and not (self.active and event.key == "escape"):
            return
        match event.key:
            case "escape":
                was_typing, self.typing = self.typing, False
                self._cleared(was_typing)
            case "enter":
                self.typing = False
                self._accepted()
            case "backspace":
                self.edit(self.text[:-1])
            case "ctrl+u":
                self.edit("")
            case _ if event.character is not None and event.is_printable:
                self.edit(self.text + event.character)
            case _:
                return
        event.stop()
        event.prevent_default()

    def handle_paste(self, event: events.Paste) -> None:
        """Add what is pasted while the text is typed."""
        if self.typing:
            event.stop()
            self.edit(self.text + clean_line(event.text))
