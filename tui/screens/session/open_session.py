"""Opens another session in a child process that gets the terminal."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import App

from ua_tui.tui.terminal.foreground import NoProgram, run_suspended, start_in_front

if TYPE_CHECKING:
    from ua_tui.core.team.fleet.rows import FleetRow
    from ua_tui.core.team.fleet.source import FleetSource


def open_read_only(app: App[Any], folder: Path, command: str = "open") -> None:
    """Give the terminal to `ua-tui open`, or `replay`, for the session in `folder` until the user closes it.

    The application goes on in the background. That the command cannot be started, or failed, is shown later.

    Raises:
        JournalError: there is no journal that can be read.
    """
    from ua_tui.core.records.journal_reader import PastJournal

    # Fail here if the journal cannot be read: the next frame of this screen would overwrite the child's message.
    PastJournal(folder).close()
    _run(app, [command, os.fspath(folder), "--back"])


def open_resumed(app: App[Any], folder: Path, base: Path) -> None:
    """Give the terminal to `ua-tui resume` for the session in `folder`, of the sessions below `base`, until it ends.

    Raises:
        SettingsError: it cannot be resumed.
    """
    from ua_tui.core.session.resume import prepare_resume
    from ua_tui.core.settings.model import Settings

    prepare_resume(Settings(), folder)
    _run(app, ["resume", os.fspath(folder), f"--workspace={os.fspath(base)}", "--back"])


def open_fleet_row(app: App[Any], row: FleetRow, source: FleetSource) -> None:
    """Give the terminal to the screen that follows a session of the fleet until the user closes it.

    Raises:
        JournalError: there is no journal that can be read.
    """
    if row.folder and not row.takes_answers:
        open_read_only(app, Path(row.folder))
        return
    arguments = ["fleet", f"--follow={row.session}", f"--workspace={os.fspath(source.index.base)}"]
    if row.folder:
        arguments.append(f"--folder={row.folder}")
    if source.address is not None and not row.local:
        arguments.append(f"--from={source.address.url}")
    _run(app, arguments)


def _run(app: App[Any], arguments: Sequence[str]) -> None:
    start = "import sys; from ua_tui.tui.cli import main; sys.exit(main())"
    theme = ["--theme", app.theme] if app.theme in app.available_themes else []
    command = [sys.executable, "-I", "-c", start, *arguments, *theme]
    named = shlex.join((arguments[0], arguments[1].rpartition(os.sep)[2]))
    start_in_front(app, partial(_show, app, command, named))


async def _show(app: App[Any], command: Sequence[str], name: str) -> None:
    try:
        code = await run_suspended(app, command, "Another session", starting="Opening the session…")
    except NoProgram as error:
        why = str(error)
    else:
        why = f"Exit code {code}: run `ua-tui {name}` in a shell to see why." if code else ""
    if why:
        app.notify(why, severity="warning")
