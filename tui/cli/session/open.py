"""`ua-tui open`: a past session on the full screen, read-only."""

from __future__ import annotations

import argparse
import gc

from ua_tui.tui.cli.arguments import add_session, add_sessions_folder, add_theme, workspace_settings
from ua_tui.tui.cli.output import complain, screen_problem

EXAMPLES = """\
Nothing is written into the session's folder, no agent is started and no key is needed.

examples:
  ua-tui open latest
  ua-tui open session_20261121_074110 --workspace ~/research
  ua-tui open AGENT_RUN_WORKSPACES/session_20261121_074110
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command to the parser."""
    add_session(parser)
    add_sessions_folder(parser)
    add_theme(parser)
    # For the list of sessions, which opens one this way and waits.
    parser.add_argument("--back", action="store_true", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Show the session; returns the exit code: 0, 1 if the screen failed, 2 if there is no such session."""
    from ua_tui.core.history.lookup import find_session
    from ua_tui.core.history.session import PastSession

    settings = workspace_settings(args)
    session = PastSession(find_session(settings.workspace_base, args.session))
    if problem := screen_problem():
        return complain(f"{problem}; without one, read transcript.md in the session's folder")
    # Hardly anything becomes garbage before the first frame.
    gc.disable()
    from ua_tui.tui.app.app import UaTuiApp
    from ua_tui.tui.cli.full_screen import run_read_only
    from ua_tui.tui.layout.store import LayoutStore
    from ua_tui.tui.replay.past_source import PastSource
    from ua_tui.tui.theme.store import store_theme

    app = UaTuiApp(settings, PastSource(session, from_list=args.back), layout=LayoutStore())
    app.theme_store = store_theme
    return run_read_only(app, settings)
