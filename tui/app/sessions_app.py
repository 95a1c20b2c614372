"""`ua-tui sessions`: the sessions of a folder, on a screen of their own or as a list."""

from __future__ import annotations

import argparse
import json
import os
import sys
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import App, SuspendNotSupported

from core.text import clean_line
from tui.app.base_app import StyledApp
from tui.cli.output import complain, print_line, print_table
from tui.keys.keymap import ChosenKeysApp, choose_keys
from tui.keys.ordering import OrderedKeysApp
from tui.terminal.foreground import run_in_foreground
from tui.terminal.programs import NoProgram
from tui.terminal.suspend import SuspendingApp

if TYPE_CHECKING:
    from core.history.headline import Summary
    from core.history.index import SessionIndex
    from core.settings.model import Settings

__all__ = ["SessionsApp", "open_to_read", "resumed_folder", "resuming", "run"]

_RESUME = "resume "
_HEADER = ("SESSION", "STATE", "STARTED", "OPEN", "COST", "CALLS", "FILES", "TITLE OR FIRST QUERY")


def resuming(folder: Path) -> str:
    """What an application returns when the session in `folder` is to go on after it."""
    return f"{_RESUME}{folder}"


def resumed_folder(result: object) -> Path | None:
    """The folder of the session that is to go on after an application returned `result`; None when none is."""
    return (
        Path(result.removeprefix(_RESUME)) if isinstance(result, str) and result.startswith(_RESUME) else None
    )


def open_to_read(app: App[Any], folder: Path) -> None:
    """Give the terminal to `ua-tui open` for a session until the person has read it.

    Raises:
        JournalError: there is no journal that can be read.
        NoProgram: it cannot be started or failed, or there is no terminal to give away.
    """
    from core.history.journal_reader import PastJournal
    from core.history.session import JOURNAL

    # What would be said in the terminal is gone with the next picture of the screen.
    PastJournal(folder / JOURNAL).close()
    start = "import sys; from tui.cli import main; sys.exit(main())"
    theme = ["--theme", app.theme] if app.theme in app.available_themes else []
    command = [sys.executable, "-I", "-c", start, "open", os.fspath(folder), "--back", *theme]
    failed: OSError | None = None
    code = 0
    try:
        with app.suspend():
            try:
                code = run_in_foreground(command)
            except OSError as error:
                # One that goes through `suspend` leaves the terminal away.
                failed = error
    except SuspendNotSupported as error:
        raise NoProgram("A past session needs a terminal of its own, and there is none here.") from error
    if failed is not None:
        raise NoProgram(f"The session cannot be opened: {failed.strerror or failed}.") from failed
    if code:
        raise NoProgram(f"`ua-tui open` ended with code {code}; run it in a shell to read why: {folder}.")


class SessionsApp(OrderedKeysApp, ChosenKeysApp, SuspendingApp, StyledApp):
    """The sessions of a folder, with nothing around them; returns which one is to go on.

    Args:
        index: knows them.
        theme: the colour theme.
        zone: in which times are shown; by default that of this machine.
    """

    TITLE = "ua-tui sessions"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, index: SessionIndex, theme: str | None = None, *, zone: tzinfo | None = None) -> None:
        super().__init__(None, theme)
        self._index = index
        self._zone = zone

    def on_mount(self) -> None:
        """Show the sessions."""
        from tui.screens.session.sessions import SessionsScreen

        self.read_other_styles()
        screen = SessionsScreen(self._index, lambda folder: open_to_read(self, folder), zone=self._zone)
        self.push_screen(screen, self._settle)

    def _settle(self, folder: Path | None) -> None:
        self.exit(None if folder is None else resuming(folder))


def run(args: argparse.Namespace) -> tuple[Settings, Path | None]:
    """Carry the command out; returns the settings and the session that is to go on, if one is.

    Without a terminal, or with `--json`, the sessions are printed.
    """
    from core.history.index import SessionIndex
    from core.settings.model import load_settings

    base = Path(args.workspace) if args.workspace else None
    settings = load_settings({"workspace_base": base, "theme": args.theme})
    index = SessionIndex(settings.workspace_base)
    dumb = os.environ.get("TERM", "") in {"", "dumb"}
    if args.json or dumb or not (sys.stdin.isatty() and sys.stdout.isatty()):
        found = [summary for batch in index.look() for summary in batch]
        if not found and not args.json:
            complain(f"there are none in {index.sessions}", prog="ua-tui sessions")
        else:
            _list(found, as_json=args.json)
        return settings, None
    app = SessionsApp(index, settings.theme)
    app.use_keys(choose_keys(settings.keys))
    return settings, resumed_folder(app.run())


def _list(summaries: list[Summary], *, as_json: bool) -> None:
    if as_json:
        print_line(json.dumps([_fields(each) for each in summaries], indent=2))
    else:
        print_table([_HEADER, *(_row(each) for each in summaries)])


def _fields(summary: Summary) -> dict[str, Any]:
    return {
        "session": summary.name,
        "state": summary.state,
        "title": summary.title,
        "query": summary.query,
        "started": None if summary.started is None else _at(summary.started).isoformat(),
        "seconds": summary.seconds,
        "cost_usd": summary.cost,
        "cost_is_estimated": summary.estimate > 0,
        "tool_calls": summary.calls,
        "artifacts": summary.artifacts,
        "demo": summary.demo,
        "error": summary.why or None,
    }


def _row(summary: Summary) -> tuple[str, ...]:
    from core.events.units import duration, money

    return (
        summary.name,
        summary.state,
        "-" if summary.started is None else f"{_at(summary.started).astimezone():%Y-%m-%d %H:%M}",
        "-" if summary.seconds is None else duration(summary.seconds),
        "-" if summary.cost is None else f"{'~' if summary.estimate else ''}{money(summary.cost)}",
        "-" if summary.calls is None else str(summary.calls),
        "-" if summary.artifacts is None else str(summary.artifacts),
        clean_line(summary.line, 200),
    )


def _at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
