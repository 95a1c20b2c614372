"""`ua-tui replay`: a past session on the full screen as it happened, read-only."""

from __future__ import annotations

import argparse
import gc
from pathlib import Path

from ua_tui.core.settings.model import Settings
from ua_tui.tui.cli.arguments import (
    add_session,
    add_sessions_folder,
    add_theme,
    whole_number,
    workspace_settings,
)
from ua_tui.tui.cli.output import complain, screen_problem

EXAMPLES = """\
Nothing is written into the session's folder, no agent is started and no key is needed. Files are shown as they were.

examples:
  ua-tui replay latest --speed 8
  ua-tui replay session_20261121_074110 --speed max --until 512
"""
DEMO_SPEED = 8.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command to the parser."""
    add_session(parser)
    parser.add_argument(
        "--speed", metavar="N", type=speed, default=1.0, help="0.5 to 100 times as fast, or max (default: 1)"
    )
    parser.add_argument(
        "--until",
        metavar="SEQ",
        type=whole_number(1, 999_999_999),
        help="pause after the event of this number",
    )
    add_sessions_folder(parser)
    add_theme(parser)
    # For the screens that open one this way and wait.
    parser.add_argument("--back", action="store_true", help=argparse.SUPPRESS)


def speed(text: str) -> float:
    """Read the value of `--speed`; `max` is infinite."""
    try:
        value = float("inf") if text == "max" else float(text)
    except ValueError:
        value = 0.0
    if 0.5 <= value <= 100 or text == "max":
        return value
    raise argparse.ArgumentTypeError(f"{text!r} is neither a number from 0.5 to 100 nor max")


def run(args: argparse.Namespace) -> int:
    """Replay the session; returns the exit code: 0, 1 if the screen failed, 2 if there is no such session."""
    from ua_tui.core.history.lookup import find_session

    settings = workspace_settings(args)
    folder = find_session(settings.workspace_base, args.session)
    return replay(settings, folder, speed=args.speed, until=args.until, from_list=args.back)


def replay(
    settings: Settings,
    folder: Path,
    *,
    speed: float,
    until: int | None = None,
    label: str = "",
    from_list: bool = False,
) -> int:
    """Replay the session in a folder on the full screen; returns the exit code.

    Raises:
        JournalError: there is no journal that can be read.
    """
    from ua_tui.core.records.journal_reader import PastJournal
    from ua_tui.core.storage.workspace import JOURNAL

    PastJournal(folder / JOURNAL).close()
    if problem := screen_problem():
        return complain(f"{problem}; without one, read transcript.md in the session's folder")
    # Hardly anything becomes garbage before the first frame.
    gc.disable()
    from ua_tui.tui.app.app import UaTuiApp
    from ua_tui.tui.cli.full_screen import run_read_only
    from ua_tui.tui.layout.store import LayoutStore
    from ua_tui.tui.replay.replay_source import ReplaySource
    from ua_tui.tui.theme.store import store_theme

    source = ReplaySource(
        folder,
        speed=speed,
        until=until,
        label=label,
        longest_wait=settings.replay_wait,
        from_list=from_list,
    )
    app = UaTuiApp(settings, source, layout=LayoutStore())
    app.theme_store = store_theme
    return run_read_only(app, settings)


def replay_demo(settings: Settings) -> int:
    """Replay the recorded research session of the demo; returns the exit code."""
    from tempfile import TemporaryDirectory

    from ua_tui.core.demo.recording import unpack_recording

    try:
        with TemporaryDirectory(prefix="ua-tui-demo-", ignore_cleanup_errors=True) as base:
            return replay(
                settings, unpack_recording(Path(base)), speed=DEMO_SPEED, label="Recorded demo session"
            )
    except OSError as error:
        return complain(f"the recorded session cannot be unpacked: {error.strerror or error}")
