"""Says how one gets back to the prompt from a pane, where a letter is a key and writes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

if TYPE_CHECKING:
    from tui.app.app import UaTuiApp

__all__ = ["WayBack"]

WORDS = "back here · letters are keys of the pane"


class WayBack:
    """Writes it into the empty prompt of `app`, and into the status line where the prompt is out of sight."""

    def __init__(self, app: UaTuiApp) -> None:
        self._app = app

    def begin(self) -> None:
        """Follow the focus from now on."""
        self._app.watch(self._app.screen_stack[0], "focused", self.look)

    def look(self) -> None:
        """Say what holds by now."""
        app = self._app
        here, prompt = app.screen_stack[0].focused, app.frame.prompt
        if prompt.disabled or here is None:
            # Nothing can be written there; or the terminal lost the focus, which comes back to where it was.
            return
        keys = self._keys()
        lead = "lead" if " " in keys else "leads"
        words = app.frame.WORDS if here is prompt else f"{keys} {lead} {WORDS}"
        if str(prompt.placeholder) != words:
            prompt.placeholder = Content(words)
        app.status.prompt_keys = "" if app.frame.shows("prompt") else keys

    def _keys(self) -> str:
        """The keys that lead to the prompt from where one is, one after the other."""
        shown = self._app.keys.shown
        if self._app.state != "running":
            return shown("stop")
        # While the agent works Esc is for that.
        match self._app.frame.active:
            case "conversation":
                return shown("next_pane")
            case "trace":
                return shown("previous_pane")
            case _:
                return f"{shown('show.conversation')} {shown('next_pane')}"
