"""The question before a file or an empty folder is deleted."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Button, Static

from tui.widgets.dialog import Box, Choice, Dialog, Foot

__all__ = ["DeleteScreen"]


class DeleteScreen(Dialog[bool]):
    """Asks whether to delete; keeping has the focus.

    Args:
        name: what is to be deleted, as it may be shown.
        facts: what there is to know of it, such as its size.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "settle(True)", "Delete", id="delete.confirm", show=False),
        Binding("n,escape,q", "settle(False)", "Keep", id="delete.keep", show=False),
    ]

    def __init__(self, name: str, facts: str, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._name_shown = name
        self._facts = facts

    def compose(self) -> ComposeResult:
        """Say what would go."""
        with Box(classes="box -asks") as box:
            box.border_title = Content("Delete")
            yield Static(Content(self._name_shown), classes="heading")
            yield Static(Content(f"{self._facts} This cannot be undone."), classes="advice")
            yield Foot(Choice("n", "Keep", "keep"), Choice("d", "Delete", "delete"))

    def on_mount(self) -> None:
        """Put the focus on keeping."""
        self.focus_choice("#keep")

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Take an answer given with the mouse or with Enter."""
        event.stop()
        self.answer(event.button.id == "delete")

    def action_settle(self, delete: bool) -> None:
        """Answer."""
        self.answer(delete)
