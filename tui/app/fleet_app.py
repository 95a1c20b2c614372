"""The full screen of `ua-tui fleet`: all sessions of this machine and of a team, with nothing around them."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import tzinfo
from typing import TYPE_CHECKING

from textual import events

from ua_tui.tui.app.base_app import BaseApp
from ua_tui.tui.app.controllers.attention import Attention
from ua_tui.tui.app.open_session import open_fleet_row

if TYPE_CHECKING:
    from ua_tui.core.settings.model import Settings
    from ua_tui.core.team.fleet.source import FleetSource
    from ua_tui.tui.keys.keymap import Keys
    from ua_tui.tui.screens.team.fleet import FleetScreen


class FleetApp(BaseApp):
    """The list of the fleet, which calls an absent user back when a session needs them.

    Args:
        source: has the sessions.
        settings: the theme, and how to notify.
        keys: the active keys.
        zone: the time zone of what is shown; by default that of this machine.
        now: the time, in seconds since the epoch.
    """

    TITLE = "ua-tui fleet"
    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self,
        source: FleetSource,
        settings: Settings,
        *,
        keys: Keys | None = None,
        zone: tzinfo | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(None, settings.theme, keys)
        self.attention = Attention(settings, self._write)
        self._source = source
        self._zone = zone
        self._now = now

    def on_mount(self) -> None:
        """Show the fleet."""
        from ua_tui.tui.screens.team.fleet import FleetScreen

        self.read_other_styles()
        screen = FleetScreen(
            self._source, lambda row: open_fleet_row(self, row, self._source), zone=self._zone, now=self._now
        )
        self.push_screen(screen, lambda _: self.exit())

    def on_fleet_screen_asked(self, event: FleetScreen.Asked) -> None:
        """Call the user back."""
        self.attention.announce("a session needs you")

    async def on_event(self, event: events.Event) -> None:
        """Note that the user is at the screen, then deliver an event."""
        if isinstance(event, events.InputEvent):
            self.attention.touched()
        await super().on_event(event)

    def on_app_focus(self) -> None:
        """Note that the terminal has the focus."""
        self.attention.focused = True

    def on_app_blur(self) -> None:
        """Note that the terminal has lost the focus."""
        self.attention.focused = False

    def _write(self, text: str) -> None:
        if self._driver is not None:
            self._driver.write(text)
