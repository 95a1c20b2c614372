"""Asks whether to resume a session whose conversation is lost."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Static

from ua_tui.core.text import clean
from ua_tui.tui.keys.places import KeyPlace, key_binding
from ua_tui.tui.widgets.dialog import Box, Choice, Dialog, Foot

ADVICE = (
    "The session can be resumed with a new conversation in the same folder. Its files and journal are kept, "
    "but the agent does not know what was said before."
)


class FreshScreen(Dialog[bool]):
    """Asks whether to start a new conversation; `why` says what happened to the earlier one."""

    PLACE: ClassVar[KeyPlace] = KeyPlace("When a conversation cannot be resumed")
    FIRST = "fresh"
    BINDINGS: ClassVar[list[BindingType]] = [
        key_binding("fresh.begin", "f", "answer(True)", "start a new one"),
        key_binding("fresh.quit", "escape,q", "answer(False)", "quit"),
    ]

    def __init__(self, why: str) -> None:
        super().__init__()
        self._why = clean(why)

    def compose(self) -> ComposeResult:
        """Show what is lost, and what can be done."""
        with Box("The conversation is lost", "-asks"):
            yield Static(Content(self._why[:1].upper() + self._why[1:] + "."), classes="facts")
            yield Static(Content(ADVICE), classes="advice")
            yield Foot(
                Choice("f", "New conversation", "fresh", "answer(True)"),
                Choice("q", "Quit", "quit", "answer(False)"),
            )
