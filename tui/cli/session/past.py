"""`ua-tui open` and `ua-tui replay`: a past session on the full screen, read-only, whole or as it happened."""

from __future__ import annotations

import argparse
import gc
from pathlib import Path
from tempfile import TemporaryDirectory

from ua_tui.core.history.lookup import find_session
from ua_tui.core.history.session import PastSession
from ua_tui.core.records.journal_reader import PastJournal
from ua_tui.core.settings.model import Settings
from ua_tui.tui.cli.arguments import settings_of
from ua_tui.tui.cli.output import complain, screen_problem
from ua_tui.tui.terminal.exit_codes import EXIT_USAGE

_NO_SCREEN = "without one, read transcript.md in the session's folder"
_NO_SCREEN_IN_DEMO = 'without one, ask the demo yourself: ua-tui run --demo "What is the capital of France?"'
DEMO_SPEED = 8.0


def read_speed(text: str) -> float:
    """Read the value of `--speed`; `max` is infinite."""
    try:
        value = float("inf") if text == "max" else float(text)
    except ValueError:
        value = 0.0
    if 0.5 <= value <= 100 or text == "max":
        return value
    raise argparse.ArgumentTypeError(f"must be a number from 0.5 to 100, or max, not {text!r}")


def open_session(args: argparse.Namespace) -> int:
    """Show a session; returns the exit code: 0, 1 if the screen failed, 2 without a session or a terminal."""
    settings = settings_of(args)
    session = PastSession(find_session(settings.workspace_base, args.session))

    if code := _code_without_screen(_NO_SCREEN):
        return code
    from ua_tui.tui.cli.full_screen import run_read_only
    from ua_tui.tui.replay.past_source import PastSource

    return run_read_only(settings, PastSource(session, from_list=args.back))


def replay_session(args: argparse.Namespace) -> int:
    """Replay a session; returns the exit code: 0, 1 if the screen failed, 2 without a session or a terminal."""
    settings = settings_of(args)
    folder = find_session(settings.workspace_base, args.session)
    return _replay(settings, folder, speed=args.speed, until=args.until, from_list=args.back)


def replay_demo(settings: Settings) -> int:
    """Replay the recorded research session of the demo; returns the exit code."""
    from ua_tui.core.demo.launch import unpack_recording

    try:
        with TemporaryDirectory(prefix="ua-tui-demo-", ignore_cleanup_errors=True) as base:
            folder = unpack_recording(Path(base))
            return _replay(settings, folder, speed=DEMO_SPEED, label="Recorded demo session")
    except OSError as error:
        return complain(f"the recorded session cannot be unpacked: {error.strerror or error}")


def _replay(
    settings: Settings,
    folder: Path,
    *,
    speed: float,
    until: int | None = None,
    label: str = "",
    from_list: bool = False,
) -> int:
    PastJournal(folder).close()

    if code := _code_without_screen(_NO_SCREEN_IN_DEMO if label else _NO_SCREEN):
        return code
    from ua_tui.tui.cli.full_screen import run_read_only
    from ua_tui.tui.replay.replay_source import ReplaySource

    wait = settings.replay_wait
    source = ReplaySource(
        folder, speed=speed, until=until, label=label, longest_wait=wait, from_list=from_list
    )
    return run_read_only(settings, source)


def _code_without_screen(instead: str) -> int:
    """Say what to do `instead` if the terminal cannot have a screen; 0 if it can."""
    if problem := screen_problem():
        return complain(f"{problem}; {instead}", EXIT_USAGE)
    # Hardly anything becomes garbage before the first frame.
    gc.disable()
    return 0
