"""The screen below all others, which avoids needless layouts and restyling."""

from __future__ import annotations

from typing import ClassVar

from textual import events, messages
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.screen import Screen
from textual.scrollbar import ScrollBar
from textual.widget import Widget

from ua_tui.tui.keys.bindings import GROUPS, bindings
from ua_tui.tui.layout.frame import Frame
from ua_tui.tui.panes.spec import tab_specs


class MainScreen(Screen[None], inherit_bindings=False):
    """Holds the frame."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("MainScreen")[:2],
        *(
            Binding(
                each.keys,
                f"show('{each.name}')",
                f"show {each.title}",
                show=False,
                id=f"show.{each.name}",
                group=GROUPS["show"],
            )
            for each in tab_specs()
        ),
        *bindings("MainScreen")[2:],
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
        """Show the first frame in the styles it was mounted with; nothing has changed them since."""
        if self._arranged_for is None:
            event.refresh_styles = False

    def on_resize(self, event: events.Resize) -> None:
        """Arrange the panes for the new size before anything is painted in it, so that all is painted once."""
        if event.size == self._arranged_for:
            # A screen that was resized sends itself this event, and would lay out and paint everything again.
            event.prevent_default()
            return
        self._arranged_for = event.size
        # If the layout found this changed, it would ask for another layout and repaint everything.
        self.set_reactive(Widget.virtual_size, event.size)
        for frame in self.query(Frame):
            frame.lay_out()
        if self.is_current:
            self._note_requests()

    def _note_requests(self) -> None:
        """Note which layouts and repaints were requested, as Textual does later: all of it follows at once."""
        for widget in self.walk_children(Widget):
            if widget._layout_required:
                for ancestor in widget.ancestors:
                    if isinstance(ancestor, Widget):
                        ancestor._clear_arrangement_cache()
                        ancestor._layout_updates += 1
            widget._layout_required = widget._repaint_required = False

    def _on_timer_update(self) -> None:
        """Paint in one frame what was laid out and what changed; Textual paints it as changed, and then once more."""
        is_shown = self.is_current and not self.app._batch_count
        if is_shown and self._layout_required and self._repaint_required:
            # Also those that have not reported yet that they changed.
            self._dirty_widgets.update(self._compositor.visible_widgets)
            self._repaint_required = False
        super()._on_timer_update()

    def on_layout(self, message: messages.Layout) -> None:
        """Lay nothing out for a scroll bar that was resized: it has no children."""
        if isinstance(message.widget, ScrollBar):
            message.stop()
            message.prevent_default()

    def _forward_event(self, event: events.Event) -> None:
        """Let a border be dragged: otherwise the panes on both sides of it would get the mouse."""
        if isinstance(event, events.MouseEvent) and not event.is_forwarded:
            frame = next((each for each in self.children if isinstance(each, Frame)), None)
            if frame is not None and frame.splits.handle_mouse(event):
                return
        super()._forward_event(event)

    def update_node_styles(self, animate: bool = True) -> None:
        """Style everything again, but not because the terminal's focus came or went.

        No rule for the panes depends on that, and Textual styles the focused widget by itself.
        """
        focused = self.app.app_focus
        if focused == self._terminal_focused:
            super().update_node_styles(animate)
        self._terminal_focused = focused
