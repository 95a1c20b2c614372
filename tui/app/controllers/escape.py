"""What Esc does in the application, and the hints for the keys that work now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.message import Message

from ua_tui.core.view.session import SessionView
from ua_tui.tui.keys.keymap import hints_of
from ua_tui.tui.panes.status.bar import AT_REST, STOPS
from ua_tui.tui.widgets.placeholder import ASK

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events

    from ua_tui.tui.app.app import UaTuiApp

MOVED_SECONDS = 1.0
"""A person who presses Esc until they are in the prompt presses it once too often within this time."""
REPEAT_SECONDS = 0.15
"""A key that is held down comes again sooner than a finger can press it."""


class Escape:
    """Finds out what Esc does, and does it; shows that and the keys of what has the focus.

    In the prompt it stops the agent, and at rest leads to the conversation, or back to the list from which the session
    was opened; in a pane it leads to the prompt. What a widget does with Esc itself, such as clearing its filter, comes
    before. It stops no session that another program runs.

    Esc does not stop the agent within a second of an Esc that did something else, nor while it is held down: it says
    that the next one does.
    """

    def __init__(self, app: UaTuiApp) -> None:
        self._app = app
        self._pressed = self._before = self._warned = self._stopped = float("-inf")

    def note(self, event: events.Event) -> None:
        """Note when Esc is pressed, whatever it is for."""
        key = getattr(event, "key", None)
        if not event.is_forwarded and (key == "escape" or key in self._app.keys.of("stop")):
            self._before, self._pressed = self._pressed, event.time

    def note_return(self, _app: object) -> None:
        """Note that another program had the terminal, which an Esc may have closed."""
        self._pressed = Message().time

    def show_view(self, view: SessionView) -> None:
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
        prompt.agent_runs = app.state == "running" and not prompt.disabled
        # A widget says in `escape_clears` what Esc does there now, such as `clear filter`.
        words = (getattr(node, "escape_clears", "") for node in focused.ancestors_with_self)
        app.status.escape = next(filter(None, words), "") or self.word
        app.status.pane_keys = tuple(hints_of(focused, app.keys))
        text = app.frame.placeholder
        if focused is not prompt and not prompt.disabled:
            text = f"{shown('stop')} returns here · {shown('help.here')} lists the keys of this pane"
        elif prompt.agent_runs and text == ASK:
            # Another program's session says who runs it, and how it is stopped.
            text = f"{shown('prompt.send')} queues the next query · {shown('prompt.steer')} sends it now"
        if str(prompt.placeholder) != text:
            prompt.placeholder = Content(text)

    @property
    def word(self) -> str:
        """What Esc does now, in a word or two; empty if it does nothing."""
        return self._meaning()[0]

    def press(self) -> None:
        """Do it."""
        self._meaning()[1]()

    def _meaning(self) -> tuple[str, Callable[[], None]]:
        frame, source, close = self._app.frame, self._app.source, self._app.shutdown.request
        focused, prompt = frame.screen.focused, frame.prompt
        if prompt.disabled:
            if frame.is_zoomed:
                return "all panes", frame.action_maximise
            if source.closes_on_escape:
                return "back", close
            if frame.active == "conversation":
                return "", lambda: None
            return "conversation", lambda: frame.show("conversation")
        if focused is not None and focused is not prompt:
            return "prompt", self._to_prompt
        if self._app.state == "running" and not source.is_read_only:
            return STOPS, self._stop_or_warn
        if frame.is_zoomed:
            return "all panes", frame.action_maximise
        if source.closes_on_escape and not prompt.value:
            return "back", close
        return AT_REST, lambda: frame.show("conversation")

    def _stop_or_warn(self) -> None:
        # A press is judged once: a click on the status line has none before it.
        before, self._before = self._before, float("-inf")
        since = self._pressed - before
        is_warned = before in (self._warned, self._stopped)
        if since >= MOVED_SECONDS or (is_warned and since >= REPEAT_SECONDS):
            self._app.interrupt()
            self._stopped = self._pressed
            return
        self._warned = self._pressed
        if not is_warned:
            key = self._app.keys.shown("stop")
            self._app.notify(f"{key} again stops the agent.", timeout=3.0)

    def _to_prompt(self) -> None:
        frame = self._app.frame
        if frame.is_zoomed:
            frame.action_maximise()
        frame.show("prompt")
