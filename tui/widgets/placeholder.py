"""The empty box that stands where a pane or the prompt will be, so that the first frame has its shape."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

__all__ = ["ASK", "Slot"]

ASK = "Ask for something · @ names a file · / runs a command"
"""What stands in the prompt while nothing is written there."""


class Slot(Widget):
    """Shows the title of a pane, or the words that stand in an empty prompt, until that takes its place."""

    def __init__(self, id: str, title: str = "", words: str = "") -> None:
        super().__init__(id=id)
        self.border_title = Content(title) if title else None
        self._words = Content(words)

    def render(self) -> Content:
        """Show the words."""
        return self._words
