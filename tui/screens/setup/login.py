"""Logs in with the Claude command line on this terminal."""

from __future__ import annotations

import os
from collections.abc import Sequence

from textual.app import App, SuspendNotSupported

from ua_tui.core.provider.claude_login import claude_program, login_command, login_environment
from ua_tui.core.settings.model import Settings
from ua_tui.tui.terminal.foreground import run_suspended
from ua_tui.tui.terminal.programs import NoProgram


def command_to_log_in(settings: Settings) -> Sequence[str]:
    """Return the command that logs in.

    Raises:
        NoProgram: there is no Claude command line.
    """
    program = claude_program(settings)
    if program is None:
        raise NoProgram("The Claude command line was not found: set cli_path to it.")
    return login_command(program)


def log_in(app: App[object], settings: Settings) -> int:
    """Run the command that logs in on the terminal; returns its exit code.

    Raises:
        NoProgram: it cannot be started, or there is no terminal.
    """
    command = command_to_log_in(settings)
    try:
        return run_suspended(app, command, environment=login_environment(settings, os.environ))
    except SuspendNotSupported as error:
        raise NoProgram("Logging in needs a terminal, and there is none here.") from error
    except OSError as error:
        raise NoProgram(f"The Claude command line cannot be started: {error.strerror or error}.") from error
