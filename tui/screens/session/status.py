"""The status of the session in full sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Button

from tui.keys.places import KeyPlace, key_binding
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
    """Shows the status at the time it was opened: a label and a sentence for each item."""

    PLACE: ClassVar[KeyPlace] = KeyPlace("In the session status")
    BINDINGS: ClassVar[list[BindingType]] = [key_binding("status.close", "escape,q", "close", "back")]

    def __init__(self, rows: Sequence[tuple[str, str]]) -> None:
        super().__init__(requested=True)
        self._rows = rows

    def compose(self) -> ComposeResult:
        """Create the rows."""
        with Box(classes="box") as box:
            box.border_title = Content("Session status")
            facts = FactRows(self._rows)
            facts.add_class("-wide")
            yield facts
            yield Foot(Choice("Esc", "Close", "close"))

    def on_mount(self) -> None:
        """Focus Close."""
        self.focus_choice("#close")

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Close."""
        event.stop()
        self.action_close()

    def action_close(self) -> None:
        """Close."""
        self.dismiss(None)
