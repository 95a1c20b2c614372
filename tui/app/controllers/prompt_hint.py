"""The hint that says how to get back to the prompt from a pane, where letters are commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from core.events.types import Event

if TYPE_CHECKING:
    from tui.app.port import AppPort

__all__ = ["PromptHint"]

PANE_KEYS = "back to prompt · pane keys active"


class PromptHint:
    """Writes the hint into the empty prompt, and into the status line while the prompt is hidden."""

    def __init__(self, app: AppPort) -> None:
        self._app = app

    def handle_events(self, events: Sequence[Event]) -> None:
        """Update the hint: the state of the session may have changed."""
        self.update()

    def update(self) -> None:
        """Show the hint for the widget that has the focus."""
        app = self._app
        frame = app.frame
        focused, prompt = frame.screen.focused, frame.prompt
        if prompt.disabled or focused is None:
            # Nothing can be typed there; or the terminal lost the focus, which returns to the same widget.
            return
        keys = self._keys()
        text = frame.placeholder if focused is prompt else f"{keys}: {PANE_KEYS}{self._help()}"
        if str(prompt.placeholder) != text:
            prompt.placeholder = Content(text)
        app.status.prompt_keys = "" if frame.shows("prompt") else keys

    def _help(self) -> str:
        return f" ({self._app.keys.shown('help.here')} for help)"

    def _keys(self) -> str:
        """The keys that lead from the active pane to the prompt, one after the other."""
        shown = self._app.keys.shown
        if self._app.state != "running":
            return shown("stop")
        # While the agent works Esc stops it.
        match self._app.frame.active:
            case "conversation":
                return shown("next_pane")
            case "trace":
                return shown("previous_pane")
            case _:
                return f"{shown('show.conversation')} {shown('next_pane')}"
