"""`ua-tui open`: a past session on the full screen, read-only."""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial

from ua_tui.core.errors import JournalError, SettingsError, UniversalAgentError
from ua_tui.tui.cli.arguments import add_session, add_sessions_folder, add_theme
from ua_tui.tui.cli.output import complain
from ua_tui.tui.terminal.exit_codes import EXIT_FAILED, EXIT_USAGE

_complain = partial(complain, prog="ua-tui open")
_EXAMPLES = """\
Nothing is written into the session's folder, no agent is started and no key is needed.

examples:
  ua-tui open latest
  ua-tui open session_20261121_074110 --workspace ~/research
  ua-tui open AGENT_RUN_WORKSPACES/session_20261121_074110
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command to the parser."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EXAMPLES
    add_session(parser)
    add_sessions_folder(parser)
    add_theme(parser)
    # For the list of sessions, which opens one this way and waits.
    parser.add_argument("--back", action="store_true", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Show the session; returns the exit code: 0, 1 if the screen failed, 2 if there is no such session."""
    import logging
    from pathlib import Path

    # No log is written; without any handler log messages would go to the terminal.
    logging.getLogger().addHandler(logging.NullHandler())
    from ua_tui.core.history.lookup import find_session
    from ua_tui.core.history.session import PastSession
    from ua_tui.core.settings.loading import load_settings

    try:
        base = Path(args.workspace) if args.workspace else None
        settings = load_settings({"workspace_base": base, "theme": args.theme})
        session = PastSession(find_session(settings.workspace_base, args.session))
    except (JournalError, SettingsError) as error:
        return _complain(str(error), EXIT_USAGE)
    except UniversalAgentError as error:
        return _complain(str(error), EXIT_FAILED)
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):
        return _complain(
            "the full screen needs a terminal; transcript.md in the session's folder reads without one",
            EXIT_FAILED,
        )
    if os.environ.get("TERM", "") in {"", "dumb"}:
        return _complain(
            "the full screen needs a terminal that can move its cursor, but TERM is dumb", EXIT_FAILED
        )
    from ua_tui.core.concurrency.garbage_collection import pause_collection

    # Hardly anything becomes garbage before the first frame.
    pause_collection()
    from dataclasses import replace

    from ua_tui.tui.app.app import UaTuiApp
    from ua_tui.tui.app.port import resumed_folder
    from ua_tui.tui.layout.store import LayoutStore
    from ua_tui.tui.replay.past_source import PastSource
    from ua_tui.tui.theme.store import store_theme

    try:
        app = UaTuiApp(settings, PastSource(session, from_list=args.back), layout=LayoutStore())
    except SettingsError as error:
        return _complain(str(error), EXIT_USAGE)
    app.theme_store = store_theme
    result = app.run()
    settings = replace(settings, theme=app.chosen_theme or settings.theme)
    if (folder := resumed_folder(result)) is not None:
        from ua_tui.core.session.resume import prepare_resume
        from ua_tui.tui.cli.full_screen import run_screen

        settings, resume = prepare_resume(settings, folder)
        return run_screen(settings, resume=resume)
    return app.return_code or 0
