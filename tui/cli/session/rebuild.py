"""`ua-tui rebuild`: the derived files of a past session, written again from its journal."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ua_tui.tui.cli.arguments import redactor_of, settings_of
from ua_tui.tui.cli.output import print_line

if TYPE_CHECKING:
    from ua_tui.core.history.rebuild import Rebuilt


def run(args: argparse.Namespace) -> int:
    """Rebuild the files; returns the exit code: 0, 1 if they cannot be written, 2 if there is no such session."""
    from ua_tui.core.history.lookup import find_session
    from ua_tui.core.history.rebuild import rebuild

    settings = settings_of(args)
    folder = find_session(settings.workspace_base, args.session)
    rebuilt = rebuild(folder, redactor_of(settings))
    for line in _report(rebuilt):
        print_line(line)
    return 0


def _report(rebuilt: Rebuilt) -> list[str]:
    from ua_tui.core.history.rebuild import DERIVED
    from ua_tui.core.text import clean_line

    folder = clean_line(str(rebuilt.folder), 1000)
    lines = [f"Rebuilt {', '.join(DERIVED[:-1])} and {DERIVED[-1]} in {folder} from {rebuilt.events} events."]
    if rebuilt.skipped:
        lines.append(f"Not read: damaged lines of the journal ({rebuilt.skipped}).")
    if rebuilt.unknown:
        lines.append(f"Not read: events of a later version of ua-tui ({rebuilt.unknown}).")
    if rebuilt.left_out:
        lines.append(f"Not read: the first {rebuilt.left_out >> 20} MiB of the journal, which is too long.")
    if rebuilt.torn:
        lines.append("Not read: the last line of the journal, which is incomplete.")
    return lines
