from __future__ import annotations

import sys
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Static


class EmptyApp(App[None]):
    """The least a Textual application can be: four empty panes with borders, and with `input` a line to type in."""

    CSS: ClassVar[str] = """
    Vertical { width: 1fr; }
    Static { height: 1fr; border: round $primary; }
    """

    def compose(self) -> ComposeResult:
        with Horizontal():
            for column in (("Conversation", "Trace"), ("Observers", "Workspace")):
                with Vertical():
                    for title in column:
                        pane = Static()
                        pane.border_title = title
                        yield pane
        if "input" in sys.argv:
            line = Input(placeholder="Ask anything")
            line.cursor_blink = False
            yield line


if __name__ == "__main__":
    EmptyApp().run()
