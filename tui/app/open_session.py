"""Opens a past session in a child process that gets the terminal."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported

__all__ = ["open_read_only"]


def open_read_only(app: App[Any], folder: Path) -> None:
    """Give the terminal to `ua-tui open` for the session in `folder` until the user closes it.

    Raises:
        JournalError: there is no journal that can be read.
        NoProgram: the command cannot be started or failed, or the application has no terminal to give away.
    """
    from core.history.journal_reader import PastJournal
    from core.storage.workspace import JOURNAL
    from tui.terminal.foreground import run_suspended
    from tui.terminal.programs import NoProgram

    # Fail here if the journal cannot be read: the next frame of this screen would overwrite the child's message.
    PastJournal(folder / JOURNAL).close()
    start = "import sys; from tui.cli import main; sys.exit(main())"
    theme = ["--theme", app.theme] if app.theme in app.available_themes else []
    command = [sys.executable, "-I", "-c", start, "open", os.fspath(folder), "--back", *theme]
    try:
        code = run_suspended(app, command)
    except SuspendNotSupported as error:
        raise NoProgram("A past session needs a terminal of its own, and there is none here.") from error
    except OSError as error:
        raise NoProgram(f"The session cannot be opened: {error.strerror or error}.") from error
    if code:
        raise NoProgram(f"`ua-tui open` ended with code {code}: run it in a shell to see why.")
