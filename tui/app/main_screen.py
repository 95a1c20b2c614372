"""The screen under all others: it takes a new size and a change of the terminal's focus at once, for what they cost."""

from __future__ import annotations

from typing import ClassVar

from textual import events, messages
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.screen import Screen
from textual.scrollbar import ScrollBar
from textual.widget import Widget

from tui.layout.frame import PANES, Frame

__all__ = ["MainScreen"]


class MainScreen(Screen[None], inherit_bindings=False):
    """Holds the frame."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "step(1)", "Next pane", id="next_pane", show=False),
        Binding("shift+tab", "step(-1)", "Previous pane", id="previous_pane", show=False),
        *(
            Binding(f"{n},f{n + 1},alt+{n}", f"show('{name}')", title, id=f"show.{name}", show=False)
            for n, name, title in PANES
        ),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._terminal_focused = True
        self._arranged_for: Size | None = None

    def action_step(self, by: int) -> None:
        """Focus the next or the previous pane."""
        self.query_one(Frame).step(by)

    def action_show(self, name: str) -> None:
        """Show and focus a pane."""
        self.query_one(Frame).show(name)

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Show the first frame in the styles it was mounted with, which nothing has changed since."""
        if self._arranged_for is None:
            event.refresh_styles = False

    def on_resize(self, event: events.Resize) -> None:
        """Arrange the panes for the new size before anything is painted in it, so that all is painted once."""
        if event.size == self._arranged_for:
            # A screen that took a size tells itself, and would lay out and paint all of it again.
            event.prevent_default()
            return
        self._arranged_for = event.size
        # The layout would find this changed, and ask for another one and for all to be painted again.
        self.set_reactive(Widget.virtual_size, event.size)
        for frame in self.query(Frame):
            frame.lay_out()

    def on_layout(self, message: messages.Layout) -> None:
        """Lay nothing out for a scroll bar that took the size it was given: nothing stands in one."""
        if isinstance(message.widget, ScrollBar):
            message.stop()
            message.prevent_default()

    def _forward_event(self, event: events.Event) -> None:
        """Let a border be dragged: the panes on both sides of it would take the mouse for themselves."""
        if isinstance(event, events.MouseEvent) and not event.is_forwarded:
            frame = next((each for each in self.children if isinstance(each, Frame)), None)
            if frame is not None and frame.splits.take(event):
                return
        super()._forward_event(event)

    def update_node_styles(self, animate: bool = True) -> None:
        """Style everything anew, but not because the terminal's focus came or went.

        No rule that the panes are drawn by asks for that, and Textual styles the widget that has the focus by itself.
        """
        focused = self.app.app_focus
        if focused == self._terminal_focused:
            super().update_node_styles(animate)
        self._terminal_focused = focused
