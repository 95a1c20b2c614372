"""The dialog in which an MCP server asks the person to fill in a form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from ua_tui.core.events.types import ElicitationAsked
from ua_tui.tui.keys.places import KeyPlace, key_binding
from ua_tui.tui.screens.requests.arguments import reveal, reveal_line
from ua_tui.tui.screens.requests.form_fields import FieldRow
from ua_tui.tui.widgets.dialog import Box, Choice, Dialog, Foot

WARNING = (
    "This server asks for a password or a key, which servers must not do in a form. "
    "It gets whatever you type here."
)


@dataclass(frozen=True)
class ServerAnswer:
    """The person's answer to a server; `values` are those of the form, by the names of its fields."""

    action: Literal["accept", "decline", "cancel"]
    values: Mapping[str, object] = field(default_factory=dict)


class ServerFormScreen(Dialog[ServerAnswer | None]):
    """Shows the fields; Esc cancels. The result None means that the server no longer waits."""

    PLACE: ClassVar[KeyPlace] = KeyPlace(
        "When a server asks you",
        fixed=(
            ("↑ ↓", "previous, next field or choice"),
            ("Enter", "next field; in the last one: submit"),
            ("Space", "choose or mark"),
        ),
    )
    AT_ONCE = Dialog.AT_ONCE | {"select"}
    BINDINGS: ClassVar[list[BindingType]] = [
        key_binding("form.submit", "ctrl+s", "submit", "submit the form"),
        key_binding("form.decline", "ctrl+n", "decline", "decline"),
        key_binding("form.cancel", "escape", "cancel", "cancel"),
    ]

    def __init__(self, event: ElicitationAsked) -> None:
        super().__init__()
        self.event = event

    def compose(self) -> ComposeResult:
        """Show who asks, what, the fields and the answers."""
        event = self.event
        with Box("Request of a server", "-asks"):
            yield Static(Content(f"The MCP server {reveal_line(event.server)} asks you:"), classes="heading")
            yield Static(Content(reveal(event.message) or "(no message)"), classes="said")
            if any(each.secret for each in event.fields):
                yield Static(Content.assemble(("⚠ ", "bold $warning"), WARNING), classes="facts")
            # Together: Tab goes by position, and the answers stay in place when the fields scroll.
            with Vertical(classes="fields"):
                for each in event.fields:
                    yield FieldRow(each)
            yield Foot(
                Choice("Ctrl+S", "Submit", "submit"),
                Choice("Ctrl+N", "Decline", "decline"),
                Choice("Esc", "Cancel", "cancel"),
                hint="* required" if any(each.required for each in event.fields) else "",
            )

    def on_mount(self) -> None:
        """Focus the first field, or an answer if there is none."""
        for row in self.query(FieldRow):
            # A long message is read first.
            row.begin(scroll=False)
            return
        self.focus_choice("#decline")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go to the next field, or submit the form in the last one."""
        event.stop()
        rows = list(self.query(FieldRow))
        if rows and rows[-1] in event.input.ancestors:
            self.action_submit()
        else:
            self.focus_next()

    def action_submit(self) -> None:
        """Send what was entered, unless something is wrong with it: then show what, and where."""
        if not self.accepts_answers:
            return
        rows = list(self.query(FieldRow))
        wrong = [row for row in rows if not row.check()]
        if wrong:
            wrong[0].begin()
            wrong[0].scroll_visible(animate=False)
            return
        self.answer(ServerAnswer("accept", {row.field.name: row.value for row in rows}))

    def action_decline(self) -> None:
        """Decline."""
        self.answer(ServerAnswer("decline"))

    def action_cancel(self) -> None:
        """Cancel."""
        self.answer(ServerAnswer("cancel"))
