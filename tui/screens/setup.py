"""No way to reach a model is configured: what to set, in plain words, and a demo that needs nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Button, Static

from tui.screens.arguments import reveal
from tui.screens.dialog import Box, Choice, Dialog, Foot

__all__ = ["SetupScreen"]

Answer = Literal["demo", "quit"]

WAYS = (
    ("An Anthropic key", "export ANTHROPIC_API_KEY=…"),
    ("A Claude subscription", "claude login"),
    (
        "Any server that speaks the Messages API (Z.AI, Ollama, LM Studio, llama.cpp)",
        "export ANTHROPIC_BASE_URL=…  ANTHROPIC_AUTH_TOKEN=…",
    ),
)
EXTRA = ("Optional: 500+ tools such as Gmail and web search, through Composio", "export COMPOSIO_API_KEY=…")


class SetupScreen(Dialog[Answer | None]):
    """Explains the ways to a model; Enter or `d` starts the demo instead."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "choose('demo')", "Start the demo", show=False),
        Binding("q,escape", "choose('quit')", "Quit", show=False),
    ]

    def __init__(self, message: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._message = message

    def compose(self) -> ComposeResult:
        """List the ways, one after the other, each with what to type."""
        parts: list[tuple[str, str]] = []
        for title, command in (*WAYS, EXTRA):
            parts += [(f"{title}\n", ""), (f"    {command}\n", "$accent")]
        with Box(classes="box") as box:
            box.border_title = Content("Before the first question")
            yield Static(Content("No way to reach a model is set up yet."), classes="heading")
            yield Static(
                Content("To look around first, press d: the demo plays a whole session, no network, no key."),
                classes="facts",
            )
            if self._message:
                yield Static(Content(reveal(self._message)), classes="facts")
            yield Static(
                Content("For real work set one of these before starting ua-tui, or write it to .env here:"),
                classes="advice",
            )
            yield Static(Content.assemble(*parts), classes="ways")
            yield Foot(Choice("d", "Start the demo", "demo"), Choice("q", "Quit", "quit"))

    def on_mount(self) -> None:
        """Put the focus on the demo."""
        self.begin_with("#demo")

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Do what the button says."""
        event.stop()
        self.answer("demo" if event.button.id == "demo" else "quit")

    def action_choose(self, choice: Answer) -> None:
        """Close with the choice of the key."""
        self.answer(choice)
