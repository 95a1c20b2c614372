"""The question before quitting while work runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Button, Static

from tui.screens.dialog import Box, Choice, Dialog, Foot

__all__ = ["QuitScreen"]


class QuitScreen(Dialog[bool]):
    """Asks whether to stop the work and leave; staying has the focus."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "leave", "Quit", show=False),
        Binding("n,escape", "stay", "Stay", show=False),
    ]

    def __init__(self, queued: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._queued = queued

    def compose(self) -> ComposeResult:
        """Say what would be stopped and what is kept."""
        queries = "query" if self._queued == 1 else "queries"
        waiting = f" {self._queued} queued {queries} would not run; queue.json keeps what waits."
        with Box(classes="box -asks") as box:
            box.border_title = Content("Quit")
            yield Static(Content("The agent is still at work."), classes="heading")
            yield Static(
                Content(f"Quitting stops it.{waiting if self._queued else ''} What it has saved stays."),
                classes="advice",
            )
            yield Foot(Choice("n", "Stay", "stay"), Choice("y", "Stop and quit", "leave"))

    def on_mount(self) -> None:
        """Put the focus on staying."""
        self.begin_with("#stay")

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Take an answer given with the mouse or with Enter."""
        event.stop()
        self.answer(event.button.id == "leave")

    def action_leave(self) -> None:
        """Stop the work and quit."""
        self.answer(True)

    def action_stay(self) -> None:
        """Go back to the work."""
        self.answer(False)
