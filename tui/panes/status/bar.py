"""The status line: state, time, cost, tokens, context, model, permission mode, servers and tracing."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.reactive import reactive
from textual.timer import Timer
from textual.widget import Widget

from ua_tui.core.telemetry.environment import Exports
from ua_tui.core.view.session import SessionView
from ua_tui.tui.keys.keymap import Hint, keys_of
from ua_tui.tui.panes.status.facts import BUSY, StatusFacts
from ua_tui.tui.panes.status.layout import lay_out, part_at
from ua_tui.tui.widgets.modal import unscrolled_size

if TYPE_CHECKING:
    from ua_tui.core.settings.model import Settings

FRAMES_A_SECOND = 10
ALWAYS, QUITS = ("help.all", "keys"), ("quit", "quit")
ACTIONS = {"help.all": "app.help", "quit": "app.quit"}
"""The action of a click on a key at the right, by the name of the key."""
PANE_RANKS, AT_REST_RANKS, FREE_SPACE = (71, 61, 48, 28), (56,), 4
"""The ranks of the keys of a pane, and of those at rest in the prompt; the others only fill free space."""
STOPS, AT_REST = "stops", "panes"
"""What Esc does in the prompt while the agent runs, and while it does not."""
OPENS = {"servers": "connections", "cost": "budget", "tracing": "trace-link"}
"""The command that opens what a cell belongs to; a cell without one opens the complete status."""


def traces(settings: Settings) -> list[str]:
    """Where a session with these settings sends its traces; the demo sends nothing."""
    return [] if settings.demo else Exports.of(token=settings.logfire_token, environ=os.environ).describe()


class StatusLine(Widget):
    """One line, laid out once for a width: what changes while work runs keeps its cells.

    A timer runs only while the session is busy, redraws this line alone and reads the session's state. It leaves a
    line alone that a batch of events has just redrawn, so that both need one frame.

    Args:
        facts: what is shown.
    """

    @dataclass
    class Opened(Message):
        """A cell was clicked: `command` is the command that opens what it belongs to, empty where there is none."""

        command: str

    virtual_size = unscrolled_size()
    state: reactive[str] = reactive("starting")
    hint: reactive[str] = reactive("")
    escape: reactive[str] = reactive("")
    """What Esc does on the panes now; empty if it does nothing."""
    pane_keys: reactive[tuple[Hint, ...]] = reactive(())
    """The keys of the pane that has the focus, the most useful ones first."""

    def __init__(self, facts: StatusFacts) -> None:
        super().__init__()
        self.facts = facts
        self.starts_with: Callable[[], str] = lambda: ""
        """What a session that is starting waits for."""
        self.quits = QUITS
        """The key that quits, and what that is called here; another word is shown even while the agent works."""
        self._timer: Timer | None = None
        self._frame = 0
        self._drawn = False
        self._read_state: Callable[[], str] = lambda: self.state
        self._line = Content("")

    def follow(self, read_state: Callable[[], str]) -> None:
        """Read the session's state with `read_state`, now and on every tick."""
        self._read_state = read_state
        self.state = read_state()

    def show_view(self, view: SessionView) -> None:
        """Show the session as it is now."""
        self.facts.view = view
        self.refresh_state()

    def refresh_state(self) -> None:
        """Show the session's state as it is now."""
        self.state = self._read_state()
        self._drawn = True
        self.refresh()

    def on_mount(self) -> None:
        """Start the spinner if the session is busy from the start."""
        self._run_timer()

    def watch_state(self, state: str) -> None:
        """Run the spinner while the session is busy, and only then."""
        self.facts.stopping_since = self.facts.clock() if state == "stopping" else None
        self._run_timer()

    def _run_timer(self) -> None:
        busy = self.state in BUSY
        if busy and self._timer is None and self.is_running:
            self._timer = self.set_interval(1 / FRAMES_A_SECOND, self._tick, name="status spinner")
        elif not busy and self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _tick(self) -> None:
        self._frame += 1
        self.state = self._read_state()
        drawn, self._drawn = self._drawn, False
        # Below a dialog every change draws the entire screen again: once a second is enough there.
        if self._frame % FRAMES_A_SECOND == 0 or (self.app.screen is self.screen and not drawn):
            self.refresh()

    def render(self) -> Content:
        """Draw the cells that fit, the most important first, and keys at the right."""
        hint = self.hint or (self.state == "starting" and self.starts_with())
        hints = [[hint]] if hint else self._keys()
        width = self.content_size.width
        cells = self.facts.cells(self.state, self._frame, width)
        self._line = lay_out(cells, hints, width, [] if hint or self._is_covered else self._more_keys())
        return self._line

    def _keys(self) -> list[list[str]]:
        """The keys at the right: all that are useful, or fewer where there is less room."""
        always, quits = (
            self._label(keys_of(self.app).shown(name), word) for name, word in (ALWAYS, self.quits)
        )
        is_running, is_covered, returns = self.state == "running", self._is_covered, self.escape == "back"
        leaves = self.quits != QUITS and not returns
        if leaves and not is_covered:
            keys = [quits, always]
        else:
            keys = [always] if (is_running or returns) and not is_covered else [always, quits]
        at_rest = self.escape == AT_REST and (leaves or not is_running)
        if self.escape and not at_rest and not is_covered:
            keys.insert(0, self._escape)
        return [keys[:count] for count in range(len(keys), 0, -1)]

    def _more_keys(self) -> list[tuple[str, int]]:
        """The keys of the pane that has the focus, the most useful first, with their ranks."""
        labels = [self._label(hint.shown, hint.word) for hint in self.pane_keys]
        ranks: tuple[int, ...] = PANE_RANKS if self.escape != STOPS else ()
        if self.escape == AT_REST:
            labels, ranks = [self._escape, *labels], AT_REST_RANKS
        return list(zip(labels, itertools.chain(ranks, itertools.repeat(FREE_SPACE)), strict=False))

    @property
    def _is_covered(self) -> bool:
        """Whether there is a dialog or a view above: Esc and the keys of the panes do something else, or nothing."""
        return len(self.app.screen_stack) > 1

    @property
    def _escape(self) -> str:
        return self._label(keys_of(self.app).shown("stop"), self.escape)

    @staticmethod
    def _label(key: str, word: str) -> str:
        return f"{key.replace('Ctrl+', '^')} {word}"

    async def on_click(self, event: Click) -> None:
        """Do what the key under the pointer does, or open what the cell there belongs to."""
        offset = event.get_content_offset(self)
        name = part_at(self._line, offset.x, event.style.meta) if offset is not None else ""
        shown = keys_of(self.app).shown
        keys = (ALWAYS, self.quits)
        actions = {self._label(shown(name), word): ACTIONS[name] for name, word in keys}
        pressed = {self._label(hint.shown, hint.word): hint.key for hint in self.pane_keys}
        pressed[self._escape] = "escape"
        if name in pressed:
            event.stop()
            self.app.simulate_key(pressed[name])
        elif name in actions:
            event.stop()
            await self.run_action(actions[name])
        elif name and name != self.hint:
            event.stop()
            self.open(name)

    def open(self, name: str = "") -> None:
        """Request what the cell `name` belongs to; without a name, the complete status."""
        self.post_message(self.Opened(OPENS.get(name, "")))
