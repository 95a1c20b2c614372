"""The trust dialog for an MCP server from project files: what would be started or opened."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Grid
from textual.content import Content
from textual.widgets import Button, Static

from core.events.types import ServerTrustAsked
from tui.screens.requests.arguments import reveal_line
from tui.widgets.dialog import Box, Choice, Dialog, Foot

__all__ = ["TrustScreen"]

Decision = Literal["trusted", "refused", "not_now"]


class TrustScreen(Dialog[Decision | None]):
    """Shows the definition of a server; `t` trusts it, `n` refuses it for good, Enter and Esc postpone the decision."""

    UNREQUESTED = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "decide('trusted')", "Trust it", show=False),
        Binding("n", "decide('refused')", "Never", show=False),
        Binding("escape,enter", "decide('not_now')", "Not now", show=False),
    ]

    def __init__(self, event: ServerTrustAsked, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self.event = event

    def compose(self) -> ComposeResult:
        """Show the definition of the server, and what trusting it means."""
        event = self.event
        starts = event.transport == "stdio"
        with Box(classes="box -asks") as box:
            box.border_title = Content("Trust an MCP server?")
            action = "start a program" if starts else "connect to a server"
            yield Static(Content(f"Files in this folder want to {action}."), classes="heading")
            rows = [("Server", event.server), ("Starts" if starts else "Opens", event.target)]
            rows += [("With" if at == 0 else "", each) for at, each in enumerate(event.given)]
            with Grid(classes="rows"):
                for label, text in (*rows, ("Defined in", event.source)):
                    yield Static(Content(label), classes="label")
                    yield Static(Content(reveal_line(text)))
            means = (
                "It runs with your rights, now and each time a session starts in this folder."
                if starts
                else "The agent can use its tools and may send it your data, now and each time a session starts here."
            )
            changed = "If its definition changes, you are asked again."
            yield Static(Content(f"{means} {changed}"), classes="advice")
            yield Foot(
                Choice("t", "Trust it", "trusted"),
                Choice("n", "Never", "refused"),
                Choice("Esc", "Not now", "not_now"),
            )

    def on_mount(self) -> None:
        """Focus the harmless answer."""
        self.focus_choice("#not_now")

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Answer with a button."""
        event.stop()
        match event.button.id:
            case "trusted" | "refused" | "not_now" as decision:
                self.action_decide(decision)
            case _:
                pass

    def action_decide(self, decision: Decision) -> None:
        """Answer."""
        self.answer(decision)
