"""The trust dialog for an MCP server from project files: what would be started or opened."""

from __future__ import annotations

from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from core.events.types import ServerTrustAsked
from tui.screens.requests.arguments import reveal_line
from tui.widgets.dialog import Box, Choice, Dialog, FactRows, Foot

__all__ = ["TrustScreen"]

Decision = Literal["trusted", "refused", "not_now"]


class TrustScreen(Dialog[Decision | None]):
    """Shows the definition of a server; `t` trusts it, `n` refuses it for good, Enter and Esc postpone the decision."""

    FIRST = "not_now"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "answer('trusted')", "Trust it", show=False),
        Binding("n", "answer('refused')", "Never", show=False),
        Binding("escape,enter", "answer('not_now')", "Not now", show=False),
    ]

    def __init__(self, event: ServerTrustAsked) -> None:
        super().__init__()
        self.event = event

    def compose(self) -> ComposeResult:
        """Show the definition of the server, and what trusting it means."""
        event = self.event
        starts = event.transport == "stdio"
        with Box("Trust an MCP server?", "-asks"):
            action = "start a program" if starts else "connect to a server"
            yield Static(Content(f"Files in this folder want to {action}."), classes="heading")
            rows = [("Server", event.server), ("Starts" if starts else "Opens", event.target)]
            rows += [("With" if at == 0 else "", each) for at, each in enumerate(event.given)]
            rows.append(("Defined in", event.source))
            yield FactRows([(label, reveal_line(text)) for label, text in rows], "-servers")
            means = (
                "It runs with your rights, now and each time a session starts in this folder."
                if starts
                else "The agent can use its tools and may send it your data, now and each time a session starts here."
            )
            changed = "If its definition changes, you are asked again."
            yield Static(Content(f"{means} {changed}"), classes="advice")
            yield Foot(
                Choice("t", "Trust it", "trusted", "answer('trusted')"),
                Choice("n", "Never", "refused", "answer('refused')"),
                Choice("Esc", "Not now", "not_now", "answer('not_now')"),
            )
