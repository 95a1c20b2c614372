"""Where the session on the screen comes from: a live one here, a past or resumed one in `tui.replay`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from textual.widget import Widget

from tui.widgets.placeholder import ASK

if TYPE_CHECKING:
    from core.settings.model import Settings
    from tui.app.port import SessionHost
    from tui.panes.spec import PaneSpec
    from tui.panes.status.bar import StatusLine
    from tui.ports import Build

__all__ = ["LiveSource", "SessionSource", "live_status"]


class SessionSource(ABC):
    """Makes the panes for a session, and opens it behind the first frame."""

    placeholder: str = ASK
    """The text of the empty prompt."""
    is_read_only: bool = False
    """Whether the session is only shown: it accepts no query, and nothing is written into its folder."""
    closes_on_escape: bool = False
    """Whether Esc closes the application when there is nothing else to leave."""

    def make_pane(self, spec: PaneSpec) -> Widget:
        """Make a pane or the prompt."""
        make = self.pane_classes().get(spec.name) or spec.load()
        return make(id=spec.name)

    def pane_classes(self) -> Mapping[str, Callable[..., Widget]]:
        """Return what makes the panes that are others than their specs say, by their names."""
        return {}

    @abstractmethod
    def make_status(self, settings: Settings) -> StatusLine:
        """Make the status line."""

    @abstractmethod
    async def open(self, host: SessionHost) -> None:
        """Open the session and attach it to `host`; connect its agent again if it is attached already."""

    async def close(self) -> None:  # noqa: B027  # most sources have nothing to close
        """Close what the source itself has opened."""


class LiveSource(SessionSource):
    """A new session.

    Args:
        build: makes the session; called behind the first frame, may import what is slow to import.
    """

    def __init__(self, build: Build) -> None:
        self.build = build

    def make_status(self, settings: Settings) -> StatusLine:
        """Make the status line."""
        return live_status(settings)

    async def open(self, host: SessionHost) -> None:
        """Build the session and start its agent; start the agent again if there is a session."""
        if host.session is not None:
            await host.session.restart()
            return
        host.set_state("starting")
        host.status.follow(lambda: host.state)
        session = await self.build(host.spawn)
        session.bus.subscribe(host.pump.receive)
        host.attach(session)
        host.status.facts.trace = lambda: session.trace
        host.frame.folder = session.workspace.path
        host.frame.prompt.offer_files(session.workspace.path)
        host.frame.prompt.of_agent = lambda: session.commands
        await session.start()


def live_status(settings: Settings) -> StatusLine:
    """Make the status line of a session with an agent."""
    from tui.panes.status.bar import StatusLine, traces

    return StatusLine(
        demo=settings.demo,
        model=settings.model,
        mode=settings.effective_permission_mode,
        limit=settings.max_cost_usd,
        tracing=traces(settings),
    )
