"""The applications that list sessions: those of a folder, and those of a machine and its team."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ua_tui.tui.app.base_app import BaseApp
from ua_tui.tui.app.controllers.attention import Attention
from ua_tui.tui.app.controllers.shutdown import end_soon
from ua_tui.tui.screens.session.open_session import open_resumed
from ua_tui.tui.terminal.signals import SIGNALS

if TYPE_CHECKING:
    from ua_tui.core.history.index import SessionIndex
    from ua_tui.core.settings.model import Settings
    from ua_tui.core.team.fleet.source import FleetSource


class FleetApp(BaseApp):
    """The list of the fleet, which calls an absent user back when a session needs them.

    Args:
        source: has the sessions.
        settings: what the user configured.
        now: the time, in seconds since the epoch.
    """

    TITLE = "ua-tui fleet"
    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self,
        source: FleetSource,
        settings: Settings,
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(settings)
        self.attention = Attention(settings, self.write_to_terminal)
        self._source = source
        self._now = now

    def on_mount(self) -> None:
        """Show the fleet."""
        from ua_tui.tui.screens.team.fleet import FleetScreen

        self.read_other_styles()
        end_on_signals(self)
        self.push_screen(FleetScreen(self._source, now=self._now), lambda _: self.exit())


class SessionsApp(BaseApp):
    """The list of sessions; one that is read or resumed leads back to it.

    Args:
        index: lists them.
        settings: what the user configured.
    """

    TITLE = "ua-tui sessions"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, index: SessionIndex, settings: Settings) -> None:
        super().__init__(settings)
        self._index = index

    def on_mount(self) -> None:
        """Show the sessions."""
        from ua_tui.tui.screens.session.sessions import SessionsScreen

        self.read_other_styles()
        end_on_signals(self)
        resume = partial(open_resumed, self, base=self._index.base)
        screen = SessionsScreen(self._index, resume=resume, database=self.knowledge)
        self.push_screen(screen, lambda _: self.exit())


def end_on_signals(app: BaseApp) -> None:
    """End an application when a signal asks for it, and when its terminal is gone.

    Textual reads a terminal that is gone without end, if the program that started this one ignores the signal.
    """

    def end(number: signal.Signals) -> None:
        end_soon(app, 128 + number)
        app.exit(return_code=128 + number)

    if not app.is_headless:
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, end, number)
