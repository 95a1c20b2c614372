"""The page of the setup about Claude's own login: whether there is one, and how one is made."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

from textual.app import App

from core.provider.claude_login import find_login
from core.settings.model import Settings
from tui.screens.setup.pages import MessagePage
from tui.terminal.copy import copy_text
from tui.terminal.login import command_to_log_in
from tui.terminal.programs import NoProgram

__all__ = ["LoginPage"]

HOW = "The command line of Claude logs in by itself: it opens a browser, or shows a link and asks for a code."


class LoginPage(MessagePage):
    """Tells of the login there is; has one made on this terminal, or gives the command for another.

    Args:
        settings: say which command line is asked, and where it keeps its login.
        log_in: gives the terminal to that command line; returns its exit code.
    """

    def __init__(self, settings: Settings, log_in: Callable[[App[Any], Settings], int]) -> None:
        super().__init__("page-login")
        self._settings = settings
        self._log_in = log_in

    @property
    def _command(self) -> str:
        return shlex.join(command_to_log_in(self._settings))

    def look(self) -> bool:
        """Look again and tell; returns whether the login can be used."""
        login = find_login(self._settings)
        try:
            advice = f"{HOW} The same can be done in another terminal:\n{self._command}"
        except NoProgram as error:
            advice = str(error)
        self.say("Claude login", login.message, advice)
        return login.usable

    def log_in(self) -> bool:
        """Have a login made; returns whether that could be tried, however it went."""
        try:
            code = self._log_in(self.app, self._settings)
        except NoProgram as error:
            self.notify(f"{error} Use the command in another terminal, then look again.", markup=False)
            return False
        if code:
            self.notify(f"The command ended with code {code}.", markup=False)
        return True

    def copy_command(self) -> None:
        """Copy the command that logs in."""
        try:
            copy_text(self.app, self._command, "Command")
        except NoProgram as error:
            self.notify(str(error), markup=False)
