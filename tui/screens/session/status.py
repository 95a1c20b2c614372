"""What the status line shows, in whole sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Button

from tui.ports import ScreenHost
from tui.screens.application.error import FactRows
from tui.widgets.command import CommandSpec
from tui.widgets.dialog import Box, Choice, Dialog, Foot

__all__ = ["COMMAND", "StatusScreen", "open_screen"]

COMMAND = CommandSpec("status", "Session status", "The status line in sentences", order=80)


def open_screen(app: ScreenHost) -> None:
    """Show the status of the session."""
    app.status.open()


class StatusScreen(Dialog[None]):
    """Tells how things stood when it was opened: a label and a sentence for each thing."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Close", id="status.close", show=False)
    ]

    def __init__(self, told: Sequence[tuple[str, str]]) -> None:
        super().__init__(requested=True)
        self._told_rows = told

    def compose(self) -> ComposeResult:
        """Put down the rows."""
        with Box(classes="box") as box:
            box.border_title = Content("Status")
            rows = FactRows(self._told_rows)
            rows.add_class("-wide")
            yield rows
            yield Foot(Choice("Esc", "Close", "close"))

    def on_mount(self) -> None:
        """Put the focus on closing."""
        self.focus_choice("#close")

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Close."""
        event.stop()
        self.action_close()

    def action_close(self) -> None:
        """Go back."""
        self.dismiss(None)
