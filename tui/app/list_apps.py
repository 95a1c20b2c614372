"""The application around a list of sessions: those of a folder, or those of a machine and its team."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

from textual.screen import Screen

from ua_tui.core.settings.model import Settings
from ua_tui.tui.app.base_app import BaseApp
from ua_tui.tui.app.controllers.shutdown import end_soon
from ua_tui.tui.terminal.signals import SIGNALS


class ListApp(BaseApp):
    """A list of sessions: one that is opened leads back to it, and one that needs an absent user calls them back.

    Args:
        settings: what the user configured.
        screen: the list.
        title: what the application is called.
    """

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, settings: Settings, screen: Screen[Any], title: str) -> None:
        super().__init__(settings)
        self.title = title
        self._list = screen

    def on_mount(self) -> None:
        """Show the list."""
        self.read_other_styles()
        end_on_signals(self)
        self.push_screen(self._list, lambda _: self.exit())


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
