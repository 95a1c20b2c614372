"""The agent failed: what happened, why, what to do, and a key that restarts it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Grid
from textual.content import Content
from textual.widgets import Button, Static

from tui.keys.places import KeyPlace, key_binding
from tui.screens.requests.arguments import reveal
from tui.widgets.dialog import Box, Choice, Dialog, Foot

__all__ = ["ErrorScreen"]

Answer = Literal["restart", "close", "quit"]
TRIES_AGAIN = "Restart tries to start the agent again."
RESTARTS = (
    "Restart starts the agent again in this session, with the conversation so far. It sends no query again."
)


class FactRows(Grid):
    """Labels with texts beside them, which wrap within their own column."""

    def __init__(self, rows: Sequence[tuple[str, str]]) -> None:
        cells = [
            Static(Content(content), classes=kind)
            for label, text in rows
            for kind, content in (("label", label), ("text", text))
        ]
        super().__init__(*cells)


class ErrorScreen(Dialog[Answer | None]):
    """Shows a failure in full; `r` restarts, Esc closes. The result None means that the agent recovered by itself."""

    UNREQUESTED = True
    PLACE: ClassVar[KeyPlace] = KeyPlace("When the agent failed")
    BINDINGS: ClassVar[list[BindingType]] = [
        key_binding("error.restart", "r", "choose('restart')", "restart"),
        key_binding("error.quit", "q", "choose('quit')", "quit"),
        key_binding("error.close", "escape", "choose('close')", "close"),
    ]

    def __init__(
        self,
        message: str,
        causes: Sequence[str] = (),
        clock: Callable[[], float] = time.monotonic,
        *,
        advice: Sequence[str] = (RESTARTS,),
    ) -> None:
        super().__init__(clock)
        self._message = message
        self._causes = causes
        self._advice = advice

    def compose(self) -> ComposeResult:
        """Show what failed, why, and what can be done."""
        rows = [
            *_rows("Why", list(dict.fromkeys(self._causes))),
            *_rows("What to do", self._advice),
        ]
        with Box(classes="box -fails") as box:
            box.border_title = Content("The agent stopped")
            yield Static(Content(reveal(self._message)), classes="heading")
            yield FactRows(rows)
            yield Foot(
                Choice("r", "Restart", "restart"),
                Choice("Esc", "Close", "close"),
                Choice("q", "Quit", "quit"),
            )

    def on_mount(self) -> None:
        """Focus the most likely choice."""
        self.focus_choice("#restart")

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Choose what the button shows."""
        event.stop()
        match event.button.id:
            case "restart":
                self.answer("restart")
            case "quit":
                self.answer("quit")
            case _:
                self.answer("close")

    def action_choose(self, choice: Answer) -> None:
        """Close with a choice."""
        self.answer(choice)


def _rows(label: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    return [(label if not at else "", reveal(text)) for at, text in enumerate(texts)]
