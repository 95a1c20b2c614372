"""The box shown in place of a pane or the prompt until it is loaded, so that the first frame has its layout."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

ASK = "Ask anything · @ names a file · / runs a command"
"""The text shown in an empty prompt."""


class Placeholder(Widget):
    """Shows the title of a pane, or the text of an empty prompt."""

    def __init__(self, id: str, title: str = "", text: str = "") -> None:
        super().__init__(id=id)
        self.border_title = Content(title) if title else None
        self._text = Content(text)

    def render(self) -> Content:
        """Show the text."""
        return self._text
