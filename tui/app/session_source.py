"""Where the session on the screen comes from: a live one here, a past or resumed one in `ua_tui.tui.replay`."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from importlib.util import find_spec
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ua_tui.core.events.types import Event, QueryFinished
from ua_tui.tui.widgets.placeholder import ASK

if TYPE_CHECKING:
    from pathlib import Path

    from textual.widget import Widget

    from ua_tui.core.settings.model import Settings
    from ua_tui.core.view.session import SessionView
    from ua_tui.tui.app.app import UaTuiApp
    from ua_tui.tui.panes.status.bar import StatusLine
    from ua_tui.tui.panes.status.facts import StatusFacts
    from ua_tui.tui.ports import Build, SessionPort


SLOW_SECONDS = 3.0
"""The time after which one is told what a start waits for."""


class SessionSource(ABC):
    """Opens a session behind the first frame, and brings its events to the panes."""

    is_new: bool = False
    """Whether it is a new session, in which queries to try are offered."""
    placeholder: str = ASK
    """The text of the empty prompt."""
    is_read_only: bool = False
    """Whether the session is only shown, or runs elsewhere: nothing is written into its folder."""
    has_prompt: bool = True
    """Whether it accepts queries."""
    shows_prompt: bool = True
    """Whether the prompt has room on the screen."""
    refusal: str = "Read-only: past session."
    """Why the permission mode of a read-only session cannot be changed, nor its agent restarted."""
    idle_actions: tuple[str, ...] = ()
    """The beginnings of the names of actions that do nothing in it: `?` leaves out their keys."""
    resumes: bool = False
    """Whether it is a past session, which the key of a restart resumes."""
    fork_refusal: str = ""
    """Why the session cannot be forked; empty if it can."""
    owner: str = ""
    """Whose session it is, if it belongs to somebody of the team."""
    closes_on_escape: bool = False
    """Whether Esc closes the application when there is nothing else to leave."""
    quits: str = "quit"
    """What the key that quits does, in a word: `back` if the session was opened from a list."""

    def make_status(self, settings: Settings, view: SessionView) -> StatusLine:
        """Make the status line, which shows the session's `view`."""
        from ua_tui.tui.panes.status.bar import StatusLine
        from ua_tui.tui.panes.status.facts import StatusFacts

        facts = StatusFacts(view)
        show_settings(settings, facts)
        return StatusLine(facts)

    def make_controls(self) -> Widget | None:
        """Make what is above the status line and has the keys that no pane takes; None if there is nothing."""
        return None

    @abstractmethod
    async def open(self, host: UaTuiApp) -> None:
        """Open the session and attach it to `host`; connect its agent again if it is attached already."""

    async def interrupt(self) -> None:  # noqa: B027  # most sessions run here, or not at all
        """Stop what a session does that runs elsewhere."""

    async def close(self) -> None:  # noqa: B027  # most sources have nothing to close
        """Close what the source itself has opened."""


def _is_compiled() -> bool:
    """Whether what a session imports was compiled by an earlier start: it takes Python several seconds."""
    spec = find_spec("claude_agent_sdk")
    return spec is None or os.path.exists(spec.cached or "")


def show_settings(settings: Settings, facts: StatusFacts) -> None:
    """Have the status line show what is known before there is a session."""
    from ua_tui.tui.panes.status.bar import traces

    mode = settings.effective_permission_mode
    view = facts.view
    view.setup = replace(view.setup, demo=settings.demo, model=settings.model, mode=mode)
    view.costs = replace(view.costs, limit=settings.max_cost_usd)
    facts.tracing = traces(settings)
    facts.folder = "" if settings.demo else settings.folder.state


def _compare_later(host: UaTuiApp, session: SessionPort, other: Path) -> None:
    """Show the comparison of another session with this one once the next query has ended and nobody types."""

    def on_event(event: Event) -> None:
        if isinstance(event, QueryFinished):
            unsubscribe()
            show()

    def show() -> None:
        from ua_tui.tui.screens.session.comparison import ComparisonScreen
        from ua_tui.tui.widgets.dialog import TYPING_SECONDS

        if time.monotonic() - host.typed_at < TYPING_SECONDS:
            host.set_timer(TYPING_SECONDS, show)
        else:
            host.push_screen(ComparisonScreen(other, session.workspace.path))

    unsubscribe = session.bus.subscribe(on_event)


class LiveSource(SessionSource):
    """A new session.

    Args:
        build: makes the session; called behind the first frame, may import what is slow to import.
        compared_with: the folder of a session with which it is compared once its first query has ended.
    """

    is_new = True

    def __init__(self, build: Build, compared_with: Path | None = None) -> None:
        self.build = build
        self._compared_with = compared_with

    async def open(self, host: UaTuiApp) -> None:
        """Build the session and start its agent; start the agent again if there is a session."""
        begun, controls = time.monotonic(), host.controls

        def starts_with() -> str:
            what = "loading the program" if controls is None else controls.starts_with
            return f"{what}…" if time.monotonic() - begun >= SLOW_SECONDS else ""

        host.status.starts_with = starts_with
        if controls is not None:
            await controls.restart()
            return
        host.early_state = "starting"
        host.status.follow(lambda: host.state)
        host.status.hint = "" if _is_compiled() else "compiling (usually only at the first start)…"
        session = await self.build(host.spawn)
        host.status.hint = ""
        session.bus.subscribe(host.pump.receive)
        host.session = session
        host.status.facts.trace = lambda: session.trace
        host.frame.folder = session.workspace.path
        controls = running = session.controls
        assert running is not None, "this program runs the session"
        prompt = host.frame.prompt
        prompt.offer_files(running.places)
        prompt.use_commands_of_agent(lambda: running.commands)
        prompt.attach_file = running.attach
        prompt.prepare = running.prepare
        prompt.offer_references(running.references)
        await session.start()
        if self._compared_with is not None:
            _compare_later(host, session, self._compared_with)
