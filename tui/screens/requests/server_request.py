"""The dialogs in which an MCP server asks the person to open a page, or to fill in a form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input

from ua_tui.core.events.types import ElicitationAsked
from ua_tui.tui.screens.requests.arguments import reveal, reveal_line
from ua_tui.tui.screens.requests.form_fields import FieldRow
from ua_tui.tui.screens.requests.link_dialog import LinkDialog
from ua_tui.tui.terminal.links import leads_to
from ua_tui.tui.widgets.dialog import Box, Choice, Dialog, Foot, Words, fields


@dataclass(frozen=True)
class ServerAnswer:
    """The person's answer to a server; `values` are those of the form, by the names of its fields."""

    action: Literal["accept", "decline", "cancel"]
    values: Mapping[str, object] = field(default_factory=dict)


class ServerScreen(LinkDialog[ServerAnswer | None]):
    """A request of a server; it can be declined and cancelled."""

    def __init__(self, event: ElicitationAsked) -> None:
        super().__init__()
        self.event = event
        self.address = event.url

    def action_give(self, action: Literal["accept", "decline", "cancel"]) -> None:
        """Answer without values."""
        self.answer(ServerAnswer(action))

    def action_back(self) -> None:
        """Cancel, or let the request wait."""
        self.wait_or(partial(self.action_give, "cancel"))

    @property
    def _back(self) -> Choice:
        return Choice("Esc", "Decide later" if self.can_wait else "Cancel", "cancel", "back")


class ServerLinkScreen(ServerScreen):
    """Shows where the page is; it is opened only when the person says so. Esc cancels.

    The result None means that it is not answered here.
    Continue, which tells the server that the person agreed, is possible once the link was opened or copied.
    """

    FIRST = "decline"

    def compose(self) -> ComposeResult:
        """Show who asks, what, where the link leads and the answers."""
        event, link = self.event, self.link
        with Box("Request from a server", "-asks"):
            yield Words(f"The MCP server {reveal_line(event.server)} asks you to open a page:", "heading")
            yield Words(reveal(event.message) or "(no message)", "said")
            host = Content.styled(leads_to(link), "bold $warning" if link else "")
            yield Words(Content.assemble(fields(("Opens", "")), host), "facts")
            yield Words(reveal_line(event.url), "link")
            for warning in self._warnings():
                yield Words(Content.assemble(("⚠ ", "bold $warning"), warning), "facts")
            yield Words("Open it only if you trust this host. Continue when you are done there.", "advice")
            yield Foot(
                Choice("o", "Open", "open", disabled=link is None),
                Choice("y", "Copy", "copy"),
                Choice("c", "Continue", "continue", disabled=True),
                Choice("d", "Decline", "decline", "give('decline')"),
                self._back,
            )

    def _warnings(self) -> list[str]:
        if (link := self.link) is None:
            return []
        warnings = []
        if link.url.startswith("http:"):
            warnings.append("The connection is not encrypted.")
        if "xn--" in link.host:
            warnings.append("The host name has letters that look like other letters.")
        return warnings

    def action_continue(self) -> None:
        """Tell the server that the person agreed, once the link was opened or copied."""
        if self.was_used:
            self.answer(ServerAnswer("accept"))
        elif self.accepts_answers:
            self.notify("Open or copy the link first.")

    def note_use(self) -> None:
        """Let the person continue."""
        super().note_use()
        self.query_one("#continue", Choice).disabled = False
        self.focus_choice("#continue")


WARNING = (
    "This server asks for a password or a key, which servers must not do in a form. "
    "It gets whatever you type here."
)


class ServerFormScreen(ServerScreen):
    """Shows the fields; Esc cancels. The result None means that it is not answered here."""

    AT_ONCE = Dialog.AT_ONCE | {"select"}

    def compose(self) -> ComposeResult:
        """Show who asks, what, the fields and the answers."""
        event = self.event
        with Box("Request from a server", "-asks"):
            yield Words(f"The MCP server {reveal_line(event.server)} asks you:", "heading")
            yield Words(reveal(event.message) or "(no message)", "said")
            if any(each.secret for each in event.fields):
                yield Words(Content.assemble(("⚠ ", "bold $warning"), WARNING), "facts")
            # Together: Tab goes by position, and the answers stay in place when the fields scroll.
            with Vertical(classes="fields"):
                for each in event.fields:
                    yield FieldRow(each)
            yield Foot(
                Choice("Ctrl+S", "Submit", "submit"),
                Choice("Ctrl+N", "Decline", "decline", "give('decline')"),
                self._back,
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
