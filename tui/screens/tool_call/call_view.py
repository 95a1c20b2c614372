"""The document of a tool call, with its cursor; going down from its last row leads on to the files."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from tui.viewers.tool_call.sections import SectionsBody
from tui.viewers.view.document_view import DocumentView

__all__ = ["CallView"]


class CallView(DocumentView):
    """Shows the sections of a call; a newer form of them takes the place of the older without a blank between."""

    BINDINGS: ClassVar[list[BindingType]] = [
        # In a table of results these keys mean something else.
        Binding("a", "screen.copy_arguments", id="call.copy_arguments", show=False),
    ]

    class Passed(Message):
        """The person went down from the last row."""

    def show_call(self, body: SectionsBody) -> None:
        """Show a call, or what it has become, with cursor and folds as they were."""
        before = self.cursor_body
        if isinstance(before, SectionsBody):
            body.restore(before)
            self.extend(body)
        else:
            self.show(body)

    def action_scroll_down(self) -> None:
        """Go to the row below, or on to what comes after the last."""
        body = self.cursor_body
        if body is not None and body.entries and body.cursor >= body.entries - 1:
            self.post_message(self.Passed())
        else:
            super().action_scroll_down()
