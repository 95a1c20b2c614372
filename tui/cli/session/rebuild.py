"""`ua-tui rebuild`: the derived files of a past session, written again from its journal."""

from __future__ import annotations

import argparse

from ua_tui.core.history.lookup import find_session
from ua_tui.core.history.rebuild import DERIVED, rebuild
from ua_tui.core.text import clean_line
from ua_tui.tui.cli.arguments import redactor_of, settings_of
from ua_tui.tui.cli.output import print_line


def run(args: argparse.Namespace) -> int:
    """Rebuild the files; returns the exit code: 0, 1 if they cannot be written, 2 if there is no such session."""
    settings = settings_of(args)
    folder = find_session(settings.workspace_base, args.session)
    events, unread = rebuild(folder, redactor_of(settings))
    shown, files = clean_line(str(folder), 1000), f"{', '.join(DERIVED[:-1])} and {DERIVED[-1]}"
    print_line(f"Rebuilt {files} in {shown} from {events} events.")
    for sentence in unread.sentences("rebuild"):
        print_line(sentence)
    return 0
