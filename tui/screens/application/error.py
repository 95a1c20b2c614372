"""The agent failed: what happened, why, what to do, and a key that starts it again in place."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Grid
from textual.content import Content
from textual.widgets import Button, Static

from tui.screens.requests.arguments import reveal
from tui.widgets.dialog import Box, Choice, Dialog, Foot

__all__ = ["ErrorScreen"]

Answer = Literal["restart", "close", "quit"]
TRIES_AGAIN = "Restart: the start is tried again."
RESTARTS = "Restart: the agent starts again in this session and knows what was said. No query is sent again by itself."


class FactRows(Grid):
    """Labels and texts beside them, which wrap within their own column."""

    def __init__(self, rows: Sequence[tuple[str, str]]) -> None:
        cells = [
            Static(Content(text), classes=kind)
            for label, words in rows
            for kind, text in (("label", label), ("text", words))
        ]
        super().__init__(*cells)


class ErrorScreen(Dialog[Answer | None]):
    """Shows a failure whole; `r` restarts, Esc goes back to what was there. None: it recovered by itself."""

    UNREQUESTED = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "choose('restart')", "Restart", id="error.restart", show=False),
        Binding("q", "choose('quit')", "Quit", id="error.quit", show=False),
        Binding("escape", "choose('close')", "Close", id="error.close", show=False),
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
        """Say what failed, why, and what can be done; the conversation is not lost."""
        rows = [
            *_rows("Why", list(dict.fromkeys(self._causes))),
            *_rows("To do", self._advice),
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
        """Put the focus on what a person most likely wants."""
        self.focus_choice("#restart")

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Do what the button says."""
        event.stop()
        match event.button.id:
            case "restart":
                self.answer("restart")
            case "quit":
                self.answer("quit")
            case _:
                self.answer("close")

    def action_choose(self, choice: Answer) -> None:
        """Close with the choice of the key."""
        self.answer(choice)


def _rows(label: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    return [(label if not at else "", reveal(text)) for at, text in enumerate(texts)]
