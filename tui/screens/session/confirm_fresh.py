"""The question whether a session goes on although its conversation is gone."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Button, Static

from core.text import clean
from tui.widgets.dialog import Box, Choice, Dialog, Foot

__all__ = ["FreshScreen"]

ADVICE = (
    "The session can go on with a fresh conversation in the same folder: its files and its journal stay, "
    "but the agent knows nothing of what was said before."
)


class FreshScreen(Dialog[bool]):
    """Asks whether to go on with a fresh conversation; `why` says what became of the earlier one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "settle(True)", "Fresh conversation", id="fresh.begin", show=False),
        Binding("escape,q", "settle(False)", "Quit", id="fresh.quit", show=False),
    ]

    def __init__(self, why: str, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._why = clean(why)

    def compose(self) -> ComposeResult:
        """Say what is gone, and what can be done."""
        with Box(classes="box -asks") as box:
            box.border_title = Content("Its conversation is gone")
            yield Static(Content(self._why[:1].upper() + self._why[1:] + "."), classes="facts")
            yield Static(Content(ADVICE), classes="advice")
            yield Foot(Choice("f", "Fresh conversation", "fresh"), Choice("q", "Quit", "quit"))

    def on_mount(self) -> None:
        """Put the focus on the way on."""
        self.query_one("#fresh").focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Take an answer given with the mouse or with Enter."""
        event.stop()
        self.answer(event.button.id == "fresh")

    def action_settle(self, fresh: bool) -> None:
        """Answer."""
        self.answer(fresh)
