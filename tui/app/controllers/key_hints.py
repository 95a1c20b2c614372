"""Hints about keys: in the status line those of the place that has the focus, in the prompt how to get back to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from ua_tui.core.events.types import Event
from ua_tui.tui.keys.hints import hints_of, word_of_escape

if TYPE_CHECKING:
    from ua_tui.tui.app.controllers.escape import Escape
    from ua_tui.tui.app.port import AppPort

PANE_KEYS = "back to prompt · pane keys active"


class KeyHints:
    """Updates the hints when the focus, the session or what Esc does has changed."""

    def __init__(self, app: AppPort, escape: Escape) -> None:
        self._app = app
        self._escape = escape

    def handle_events(self, events: Sequence[Event]) -> None:
        """Update the hints: the state of the session may have changed."""
        self.update()

    def update(self) -> None:
        """Show the hints for the widget that has the focus."""
        app = self._app
        focused, prompt = app.frame.screen.focused, app.frame.prompt
        if focused is None:
            # Nothing can be typed; or the terminal lost the focus, which returns to the same widget.
            return
        shown = app.keys.shown
        app.status.escape = word_of_escape(focused) or self._escape.word
        app.status.pane_keys = tuple(hints_of(focused, app.keys))
        way_back = f"{shown('stop')}: {PANE_KEYS} ({shown('help.here')} for help)"
        text = way_back if focused is not prompt and not prompt.disabled else app.frame.placeholder
        if str(prompt.placeholder) != text:
            prompt.placeholder = Content(text)
