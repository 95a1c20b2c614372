"""`ua-tui export`: a session in one file to share, or the references of its report."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ua_tui.core.events.units import size
from ua_tui.core.history.lookup import find_session
from ua_tui.core.knowledge.place import place_of
from ua_tui.core.storage.files import Root
from ua_tui.core.text import clean_line
from ua_tui.tui.cli.arguments import WrongUsage, redactor_of, settings_of
from ua_tui.tui.cli.output import print_line
from ua_tui.tui.export.formats import ExportFormat, read_export


def run(args: argparse.Namespace) -> int:
    """Export; returns the exit code: 0, 1 if the file cannot be written, 2 if there is no such session or report."""
    if args.output == "":
        raise WrongUsage("-o needs a file; - is standard output")

    form: ExportFormat = args.format
    settings = settings_of(args)
    folder = find_session(settings.workspace_base, args.session)
    found = read_export(folder, redactor_of(settings), args.report, knowledge=place_of(settings))
    if args.output is None:
        written = found.save(form)
    else:
        data = found.encoded(form)
        if args.output == "-":
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            return 0
        written = Path(args.output)
        # One that exists is never replaced.
        Root(written.absolute().parent).write(written.name, data, replace=False)

    print_line(
        f"Exported {folder.name} to {clean_line(str(written), 1000)} ({size(written.stat().st_size)})."
    )
    return 0
